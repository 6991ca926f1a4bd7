"""Logs that trainers print or write, one module a format -> one table with a row a step (see `records.HEADERS`).

A log is recognized by its lines, never by its name. A new format is one module with `recognizes(sample)` and
`read(text, name)`, one entry in READERS and one synthetic sample in data/samples/; everything after that is shared.
"""

from bsmath.sweeps.model import RawTable
from bsmath.trainers import (
    build_nanogpt,
    composer,
    deepspeed,
    fairseq,
    fms_fsdp,
    generic,
    hf_stdout,
    hf_trainer_state,
    litgpt,
    llmc,
    maxtext,
    megatron,
    megatron_golden,
    mlflow_metric,
    mllog,
    modded_nanogpt,
    nanochat,
    nanogns,
    nanogpt,
    nanotron,
    nemo,
    olmo,
    prefixes,
    torchtitan,
    torchtitan_losses,
)
from bsmath.trainers.fields import Progress

PART = 2**14
"""Bytes at the beginning, the middle and the end of a log from which its format is recognized: a log may open with a dump of its
configuration or of its source."""

READERS: dict = {
    "MLPerf": mllog,
    "NeMo": nemo,
    "torchtitan": torchtitan,
    "nanotron": nanotron,
    "MaxText": maxtext,
    "Megatron-LM golden values": megatron_golden,
    "fairseq": fairseq,
    "Megatron-LM": megatron,
    "Hugging Face trainer_state.json": hf_trainer_state,
    "Composer": composer,
    "OLMo": olmo,
    "fms-fsdp": fms_fsdp,
    "MLflow metric file": mlflow_metric,
    "Hugging Face Trainer": hf_stdout,
    "DeepSpeed": deepspeed,
    "nanochat": nanochat,
    "llm.c": llmc,
    "modded-nanogpt": modded_nanogpt,
    "litgpt": litgpt,
    "nanoGNS": nanogns,
    "nanoGPT": nanogpt,
    "build-nanogpt": build_nanogpt,
    "torchtitan losses": torchtitan_losses,
    "a training loop": generic,
}
"""Formats by name, the most particular first; the first whose `recognizes` accepts the sample reads the log."""


def sample(data: bytes) -> str:
    """The beginning, the middle and the end of a log in UTF-8, cut at line ends."""
    if len(data) <= 3 * PART:
        return data.decode(errors="ignore")
    middle = len(data) // 2
    parts = (b"\n" + data[:PART], data[middle : middle + PART], data[-PART:])
    return "\n".join(
        part[part.find(b"\n") + 1 : part.rfind(b"\n") + 1 or None].decode(errors="ignore") for part in parts
    )


def find(data: bytes) -> tuple[str | None, bytes]:
    """The format of a log, a key of READERS, or None where it is none of them; and the log, without what a launcher wrote in front
    of its lines where it is read the better for it."""
    part = sample(data)
    found, known = _format(part), list(READERS)
    wanted = prefixes.form(part)
    if wanted is not None:
        bare = _format(prefixes.without(part.encode(), wanted).decode())
        if bare is not None and (found is None or known.index(bare) <= known.index(found)):
            return bare, prefixes.without(data, wanted)
    return found, data


def _format(part: str) -> str | None:
    return next((name for name, reader in READERS.items() if reader.recognizes(part)), None)


def read(data: bytes, name: str, kind: str, progress: Progress = None) -> RawTable:
    """The rows of a log of this format."""
    return READERS[kind].read(data.decode(), name, progress)
