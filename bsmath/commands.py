"""Shell commands that measure a scenario with the harness (`bsmath.bench`), and the lines that wrap one's own loop instead.

A command is built as settings of the harness, which check it, and only then written as text. The harness trains a plain
dense GPT over bytes of Python source, whole on every device: a scenario that needs sharding has no command, and its note
says why. Loads no PyTorch.
"""

import shlex
from dataclasses import dataclass

from bsmath import asked, presets
from bsmath.bench import corpus, options
from bsmath.bench.proportions import CLOSE, Model, model
from bsmath.scenario import Scenario

MEASURES = tuple(options.MEASURES)
"""What can be measured, in the order of the harness's own help."""
PYTHON, TORCHRUN = ".venv/bin/python", ".venv/bin/torchrun"
"""Where `make bench-install` puts them."""
STATE_BYTES, MESSAGE_BYTES = 16, 4
"""Per parameter in float32: weight, gradient and AdamW's two moments; and the copy in which several processes average."""
NODE = 8
"""Processes of one machine at most: the usual number of its accelerators."""
HELD_OUT = corpus.SIZE // (corpus.BLOCK * corpus.HELD_OUT) * corpus.BLOCK
"""Text on which the harness evaluates; a sequence must be shorter. [tokens]"""
OTHER_DATA = "Its text is Python source, one token a byte: your data have another critical batch."
NOTES = {
    "throughput": "It times up to seven batches around the scenario's; what exceeds a micro-batch is accumulated.",
    "convergence": "It is trained from scratch to one loss at up to eight batches around the scenario's, each at five rates "
    "around its rate. " + OTHER_DATA,
    "noise": "One run at the scenario's batch and rate. " + OTHER_DATA,
    "branch": "From three points of a run at the scenario's batch it branches to 1 to 32 times the batch. "
    + OTHER_DATA,
    "router": "A small model with the scenario's experts in every layer, on one device; up to the scenario's tokens are "
    "routed together.",
}
"""Measurement -> what the scenario's command does."""
LAPTOP = {
    "throughput": (
        "",
        "Nine batches up to 256 sequences of 128 tokens, 4 layers, 64 wide, three repeats: a few minutes.",
    ),
    "convergence": (
        "--global-batch-sizes 4,8,16,32,64,128 --learning-rates 2e-3,4e-3,8e-3 --seeds 1",
        "Six batches at three rates, 2 layers, 64 wide, to 2.2 nats per byte: some ten minutes.",
    ),
    "noise": ("", "400 steps of 32 sequences of 64 tokens, each a micro-batch, 2 layers, 64 wide: a few minutes."),
    "branch": (
        "",
        "A run at 4 sequences, branched after 250, 500 and 1,000 steps to 1 to 32 times the batch: a few minutes.",
    ),
    "router": ("", "16 experts, 2 a token, 2 layers, 64 wide, with and without a balancing loss: a few minutes."),
}
"""Measurement -> options of a tiny model on a CPU, and what it then does; times are those of one or two slow cores."""
WRAP = {
    "throughput": """\
from bsmath.bench.timing import measure_throughput

def step(global_batch_size):
    train_step(data[:global_batch_size])  # one optimizer step of your loop, its data at hand

measure_throughput(step, [8, 16, 32, 64], seq_len=1024, out="throughput.csv")
""",
    "noise": """\
from bsmath.bench.noise_meter import NoiseScaleMeter

meter = NoiseScaleMeter(model, micro_batch_size=1, seq_len=1024, out="noise.csv")  # before the loop
for micro_batches in steps:
    for micro_batch in micro_batches:
        (loss(model, micro_batch) / len(micro_batches)).backward()
    meter.update()  # once a step: after the last backward, before clipping and optimizer.step()
    optimizer.step()
    optimizer.zero_grad()
""",
}
"""Measurement -> Python by which one's own loop writes the file."""


@dataclass(frozen=True, kw_only=True)
class Command:
    """A measurement to start by hand."""

    command: str
    """Ready for a shell in a checkout of this project; empty where the harness cannot measure the scenario."""
    note: str
    """What it measures and with which model, or why there is none."""


def command(scenario: Scenario, measure: str) -> Command:
    """The command that measures the scenario.

    Parameters
    ----------
    scenario : Scenario
        Its model, batch, rate, experts, accelerator and replicas are taken over as far as the harness has them.
    measure : str
        One of MEASURES.
    """
    dense = model(scenario.active_params, scenario.seq_len)
    wanted = asked.ASKED[measure](scenario) | {"seq_len": scenario.seq_len, "dtype": "bfloat16", "device": "cuda"}
    if measure != "router":
        wanted |= {"layers": dense.layers, "width": dense.width, "heads": dense.heads}
    reason = obstacle(scenario, measure, dense) or _refusal(measure, wanted)
    if reason:
        instead = "Have your own loop write the file" if measure in WRAP else "Only the small model can be measured"
        return Command(command="", note=f"{reason} {instead}.")
    if measure == "router":
        return Command(command=_line(PYTHON, measure, wanted), note=NOTES[measure])
    start, hint = _start(scenario)
    return Command(command=_line(start, measure, wanted), note=f"{_trained(scenario, dense)} {NOTES[measure]}{hint}")


def laptop(measure: str) -> Command:
    """The same question of a tiny model on a CPU, in minutes."""
    extra, note = LAPTOP[measure]
    words = [PYTHON, "-m", "bsmath.bench", measure, *extra.split(), "--out", f"{measure}_laptop.csv"]
    return Command(command=shlex.join(words), note=note)


def wrap_example(measure: str) -> str:
    """The lines that wrap one's own PyTorch loop; empty where the harness has to do the training itself."""
    return WRAP.get(measure, "")


def obstacle(scenario: Scenario, measure: str, dense: Model) -> str:
    """Why the harness cannot measure the scenario, as a sentence; nothing where it can."""
    known = presets.hardware().get(scenario.accelerator)
    state = (STATE_BYTES + MESSAGE_BYTES * (scenario.data_parallel_size > 1)) * dense.num_params
    if known and not known.label.startswith(("NVIDIA", "AMD")):
        return f"The harness runs on NVIDIA and AMD accelerators and on CPUs, not on {known.label}."
    if measure != "router" and known and state >= known.memory:
        return (
            f"The harness does not shard: every device holds the whole training state, {_billions(state)} GB for "
            f"{_billions(dense.num_params)}B parameters, and one {known.label} has {_billions(known.memory)} GB."
        )
    if measure != "throughput" and scenario.seq_len >= HELD_OUT:
        return f"The harness evaluates on {HELD_OUT:,} tokens, and one sequence here has {scenario.seq_len:,}."
    return ""


def _refusal(measure: str, wanted: dict) -> str:
    try:
        options.MEASURES[measure][0](**wanted)
    except ValueError as error:
        return f"The harness does not take this scenario: {error}."
    return ""


def _trained(scenario: Scenario, dense: Model) -> str:
    """The sentence on the model."""
    size = f"{_count(dense.num_params)} parameters"
    if abs(dense.num_params / scenario.active_params - 1) > CLOSE:
        size += f", the nearest that the harness has to {_count(scenario.active_params)}"
    elif scenario.active_params < scenario.num_params:
        size += ", as many as are active for a token: the harness's model is dense"
    return f"A GPT of {dense.layers} layers, {dense.width} wide, has {size}."


def _start(scenario: Scenario) -> tuple[str, str]:
    """How the processes are started, and what else there is to know."""
    replicas = scenario.data_parallel_size
    hint = " A replica is one device: the harness has no model parallelism." * (scenario.model_parallel_size > 1)
    if replicas == 1:
        return PYTHON, hint
    here = next(count for count in range(NODE, 0, -1) if replicas % count == 0)
    nodes = replicas // here
    if nodes == 1:
        return f"{TORCHRUN} --standalone --nproc-per-node {here}", hint
    hint += f" Start it on each of {nodes:,} machines of {here} devices, with the first one's name for HOST."
    address = "--rdzv-backend c10d --rdzv-endpoint HOST:29500"
    return f"{TORCHRUN} --nnodes {nodes} --nproc-per-node {here} {address}", hint


def _line(start: str, measure: str, wanted: dict) -> str:
    """The whole command, its options in the order of the help."""
    words = [word for name in sorted(wanted, key=list(options.OPTIONS).index) for word in _words(name, wanted[name])]
    return f"{start} -m bsmath.bench {measure} {shlex.join(words)} --out {measure}.csv"


def _words(name: str, value) -> tuple[str, str]:
    values = value if isinstance(value, tuple) else (value,)
    return options.option(name), ",".join(f"{one:.12g}" if isinstance(one, float) else str(one) for one in values)


def _billions(number: float) -> str:
    return f"{number / 1e9:,.0f}" if number >= 1e11 else f"{number / 1e9:.3g}"


def _count(number: float) -> str:
    """A number of parameters: 25.1k, 772M, 6.7B."""
    size, suffix = next((pair for pair in ((1e9, "B"), (1e6, "M")) if number >= pair[0]), (1e3, "k"))
    return f"{number / size:,.0f}{suffix}" if number >= 100 * size else f"{number / size:.3g}{suffix}"
