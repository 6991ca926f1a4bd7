"""Commands that measure a scenario: every one is a command of the harness, and asks what the scenario says."""

import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from bsmath import asked, commands, presets, sweeps
from bsmath.bench import options
from bsmath.bench.proportions import model
from bsmath.scenario import RANGES, WHOLE, Scenario

ROOT = Path(__file__).parents[2]
SMALL = Scenario(num_params=1.24e8, seq_len=1024, micro_batch_size=8, accelerator="l40s")


def parsed(text: str):
    """(processes, settings, file) of a command, as the harness reads it."""
    start, found, arguments = text.partition(" -m bsmath.bench ")
    assert found and "\n" not in text
    words = shlex.split(start)
    count = {name: int(words[words.index(name) + 1]) for name in ("--nnodes", "--nproc-per-node") if name in words}
    assert words[0] == (commands.TORCHRUN if count else commands.PYTHON)
    read = options.parser().parse_args(shlex.split(arguments))
    return count.get("--nnodes", 1) * count.get("--nproc-per-node", 1), options.read(read), read.out


def asks(scenario: Scenario, measure: str):
    """The settings of the scenario's command."""
    return parsed(commands.command(scenario, measure).command)[1]


def scenarios():
    """Every scenario that can be typed, each number spread over the decades of its range."""

    def number(name: str):
        low, high = RANGES[name]
        if name in WHOLE:
            return some.integers(low, int(high)) | some.integers(low, min(int(high), low + 100))
        return some.floats(low, high) | some.sampled_from([low, high])

    names = ("seq_len", "micro_batch_size", "grad_accum_steps", "data_parallel_size", "model_parallel_size", "top_k",
             "expert_parallel_size", "learning_rate")  # fmt: skip
    values = {name: number(name) for name in names}
    values["num_params"] = some.floats(5, 13).map(lambda power: 10**power)
    values["accelerator"] = some.sampled_from([*presets.hardware(), "1e15", "1e6"])
    changes = some.fixed_dictionaries(
        values, optional={"share": some.floats(0.01, 1), "experts": some.integers(0, 9_999)}
    )
    return changes.map(_scenario)


def _scenario(values: dict) -> Scenario:
    share, experts = values.pop("share", 1), values.pop("experts", 0)
    values["active_params"] = max(values["num_params"] * share, 1e3)
    values["num_experts"] = min(values["top_k"] + experts, 100_000)
    return Scenario(**values)


@settings(max_examples=300, deadline=None)
@given(scenarios())
def test_every_scenario_has_a_command_that_the_harness_takes_or_a_reason(scenario):
    for measure in commands.MEASURES:
        found = commands.command(scenario, measure)
        assert found.note.endswith(".") and "  " not in found.note
        if not found.command:
            continue
        processes, wanted, out = parsed(found.command)
        assert processes == (1 if measure == "router" else scenario.data_parallel_size)
        assert (wanted.seq_len, wanted.dtype, str(out)) == (scenario.seq_len, "bfloat16", f"{measure}.csv")
        for batch in wanted.batches:
            assert batch % processes == 0
            if measure not in ("throughput", "router"):
                wanted.check_micro_batch(batch, processes)
        if measure in ("throughput", "convergence", "branch"):
            assert asked.sequences(scenario) in wanted.batches
        if measure == "throughput":
            shares = [batch // processes for batch in wanted.batches]
            assert all(one <= scenario.micro_batch_size or one % scenario.micro_batch_size == 0 for one in shares)


@settings(max_examples=300, deadline=None)
@given(scenarios())
def test_the_noise_scale_is_measured_with_two_micro_batches_or_more(scenario):
    wanted = asked.noise(scenario)
    assert wanted["global_batch_size"] % wanted["micro_batch_size"] == 0
    assert wanted["global_batch_size"] >= 2 * wanted["micro_batch_size"]
    assert wanted["global_batch_size"] == max(asked.sequences(scenario), 2)


def test_the_founding_question_as_commands():
    """0.8B parameters, 48 sequences of 2,048 tokens on one H200."""
    throughput, convergence, noise, branch, router = (asks(Scenario(), measure) for measure in commands.MEASURES)
    assert throughput.global_batch_sizes == (3, 6, 12, 24, 48, 96, 192)
    assert (throughput.micro_batch_sizes, throughput.peak_flops) == ((48,), 989e12)
    assert convergence.global_batch_sizes == (3, 6, 12, 24, 48, 96, 192, 384)
    assert convergence.learning_rates == (7.5e-5, 1.5e-4, 3e-4, 6e-4, 1.2e-3)
    assert (noise.global_batch_size, noise.micro_batch_size, noise.learning_rate) == (48, 24, 3e-4)
    assert (branch.global_batch_size, branch.learning_rate) == (48, 3e-4)
    assert branch.branch_tokens == 256 * 48 * 2048
    assert (router.num_experts, router.top_k) == (64, 8)
    assert router.routed_tokens_list == (2048, 4096, 8192, 16384, 32768, 65536, 48 * 2048)
    for wanted in (throughput, convergence, noise, branch):
        assert model(7.96e8, 2048).num_params == pytest.approx(7.96e8, rel=0.05)
        assert (wanted.layers, wanted.width, wanted.heads, wanted.seq_len) == (26, 1600, 25, 2048)


@pytest.mark.parametrize(
    "changes, found",
    [
        ({"micro_batch_size": 8}, (1, 2, 4, 8, 16, 32, 64)),
        ({"micro_batch_size": 1}, (1, 2, 4, 8, 16, 32, 64)),
        ({"micro_batch_size": 48, "grad_accum_steps": 3}, (9, 18, 36, 48, 144, 288, 576)),  # 72 is no multiple of 48
        ({"micro_batch_size": 5, "data_parallel_size": 4}, (4, 8, 20, 40, 80, 160, 320)),
    ],
)
def test_batches_are_powers_of_two_around_the_scenarios_in_whole_micro_batches(changes, found):
    assert asked.batches(Scenario(**changes), below=4, count=7) == found


def test_a_branch_is_a_whole_number_of_steps_at_every_factor():
    wanted = asks(SMALL.change(grad_accum_steps=3), "branch")
    for factor in wanted.batch_factors:
        assert wanted.branch_tokens % (factor * wanted.global_batch_size * wanted.seq_len) == 0
    assert wanted.branch_tokens // (wanted.global_batch_size * wanted.seq_len) == 256


@pytest.mark.parametrize("num_params", [1e6, 1.24e8, 1.5e9, 6.7e9, 6.6e10, 1.75e11, 1e12])
def test_the_model_has_the_asked_size_and_usual_proportions(num_params):
    found = model(num_params, 1024)
    assert found.num_params == pytest.approx(num_params, rel=0.05)
    assert num_params < 1e7 or 32 <= found.width / found.layers <= 128
    assert found.width % found.heads == 0


def test_gpt_2_small_comes_out_as_published():
    """12 layers, 768 wide, 12 heads: 85M parameters besides its embeddings of 50,257 words (Radford et al. 2019)."""
    found = model(85e6 + (256 + 1024) * 768, 1024)
    assert (found.layers, found.width, found.heads) == (12, 768, 12)


@pytest.mark.torch
def test_the_size_is_that_of_the_harness():
    pytest.importorskip("torch")
    from bsmath.bench.gpt import Shape, num_params

    for found in (model(1e6, 64), model(1.24e8, 1024), model(7e9, 4096)):
        shape = Shape(seq_len=found.seq_len, layers=found.layers, width=found.width, heads=found.heads)
        assert num_params(shape) == found.num_params


@pytest.mark.parametrize(
    "replicas, start, hint",
    [
        (1, ".venv/bin/python -m", ""),
        (8, ".venv/bin/torchrun --standalone --nproc-per-node 8 -m", ""),
        (6, ".venv/bin/torchrun --standalone --nproc-per-node 6 -m", ""),
        (
            12,
            ".venv/bin/torchrun --nnodes 2 --nproc-per-node 6 --rdzv-backend c10d --rdzv-endpoint HOST:29500 -m",
            "on each of 2 machines of 6 devices",
        ),
        (
            64,
            ".venv/bin/torchrun --nnodes 8 --nproc-per-node 8 --rdzv-backend c10d --rdzv-endpoint HOST:29500 -m",
            "on each of 8 machines of 8 devices, with the first one's name for HOST.",
        ),
    ],
)
def test_replicas_are_processes_and_more_than_eight_are_several_machines(replicas, start, hint):
    found = commands.command(SMALL.change(data_parallel_size=replicas), "throughput")
    assert found.command.startswith(f"{start} bsmath.bench throughput ") and hint in found.note


@pytest.mark.parametrize(
    "changes, reason",
    [
        ({"num_params": 7e10}, "the whole training state, 1,1"),  # 16 bytes for each of 70e9 parameters: 1,120 GB
        ({"num_params": 7e10}, "and one NVIDIA H200 SXM has 141 GB. "),
        ({"accelerator": "tpu_v5p"}, "not on Google TPU v5p. "),
        ({"accelerator": "gaudi_3"}, "not on Intel Gaudi 3. "),
        ({"micro_batch_size": 10**6, "grad_accum_steps": 10**6}, "global_batch_size must be a whole number from 1 to"),
    ],
)
def test_what_the_harness_cannot_measure_has_a_reason_and_no_command(changes, reason):
    for measure in ("throughput", "noise"):
        found = commands.command(Scenario(**changes), measure)
        assert found.command == "" and reason in found.note
        assert found.note.endswith("Have your own loop write the file.")


def test_the_state_of_several_processes_has_their_message_besides():
    """8.3e9 parameters: 133 GB with 16 bytes each fit one H200 of 141 GB, 166 GB with 20 do not."""
    one, several = Scenario(num_params=8.3e9), Scenario(num_params=8.3e9, data_parallel_size=2)
    assert commands.command(one, "throughput").command and not commands.command(several, "throughput").command


def test_a_mixture_of_experts_is_timed_by_its_active_parameters_and_routed_by_its_experts():
    moe = Scenario(num_params=4.67e10, active_params=1.29e9, num_experts=8, top_k=2, micro_batch_size=1)
    found = commands.command(moe, "throughput")
    wanted = parsed(found.command)[1]
    assert 12 * wanted.layers * wanted.width**2 == pytest.approx(1.29e9, rel=0.06)
    assert "as many as are active for a token" in found.note
    router = asks(moe.change(expert_parallel_size=4), "router")
    assert (router.num_experts, router.top_k, router.routed_tokens_list) == (8, 2, (2048, 4096, 8192))


def test_a_sequence_longer_than_the_held_out_text_can_be_timed_alone():
    long = Scenario(num_params=1e9, seq_len=2**18, micro_batch_size=1)
    made = [measure for measure in commands.MEASURES if commands.command(long, measure).command]
    assert made == ["throughput"]


def test_the_held_out_text_is_as_long_as_the_harness_makes_it():
    from bsmath.bench import corpus

    held_out = corpus.split(corpus.standard_library())[1]
    assert len(held_out) == commands.HELD_OUT


@pytest.mark.parametrize("measure", commands.MEASURES)
def test_a_laptop_trains_the_default_model(measure):
    processes, wanted, out = parsed(commands.laptop(measure).command)
    default = options.MEASURES[measure][0]()
    assert (processes, str(out)) == (1, f"{measure}_laptop.csv")
    for name in ("layers", "width", "heads", "seq_len", "device", "dtype"):
        assert getattr(wanted, name) == getattr(default, name)


def test_no_command_loads_pytorch():
    code = "import sys; from bsmath import commands; from bsmath.scenario import Scenario; "
    code += "[commands.command(Scenario(), measure) for measure in commands.MEASURES]; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_a_measurement_that_trains_by_itself_has_no_lines_for_ones_own_loop():
    shown = {measure: commands.wrap_example(measure) for measure in commands.MEASURES}
    assert [measure for measure, text in shown.items() if text] == ["throughput", "noise"]
    for text in shown.values():
        compile(text, "example", "exec")


@pytest.mark.torch
def test_the_lines_for_throughput_run_on_a_loop_of_ones_own(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    network = torch.nn.Linear(1024, 1)
    optimizer = torch.optim.AdamW(network.parameters())
    sizes = Counter()

    def train_step(batch):
        optimizer.zero_grad()
        network(batch).square().mean().backward()
        optimizer.step()
        sizes[len(batch)] += 1

    monkeypatch.chdir(tmp_path)
    exec(commands.wrap_example("throughput"), {"train_step": train_step, "data": torch.randn(64, 1024)})
    assert set(sizes) == {8, 16, 32, 64}
    sweep = sweeps.read((tmp_path / "throughput.csv").read_bytes(), "throughput.csv")
    assert set(sweep.table["tokens_per_step"]) == {8 * 1024, 16 * 1024, 32 * 1024, 64 * 1024}


@pytest.mark.torch
def test_the_lines_for_the_noise_scale_run_on_a_loop_of_ones_own(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    network = torch.nn.Linear(16, 1)
    names = {
        "model": network,
        "loss": lambda network, batch: network(batch).square().mean(),
        "optimizer": torch.optim.SGD(network.parameters(), lr=1e-3),
        "steps": [torch.randn(4, 1, 16).unbind() for _ in range(20)],
    }
    monkeypatch.chdir(tmp_path)
    exec(commands.wrap_example("noise"), names)
    lines = [line for line in (tmp_path / "noise.csv").read_text().splitlines() if not line.startswith("#")]
    assert len(lines) >= 3  # a header, and a row after every ten steps
