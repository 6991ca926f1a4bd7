"""Presets: accelerators, models and published runs, read from `data/*.toml` and checked once.

SI base units throughout (FLOP/s, bytes, bytes/s, tokens). A wrong entry raises an error that names the file, the entry
and the field. To add a preset, add a table to the file; no code changes.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType

from . import checks, quantities
from .architecture import Architecture

DATA = Path(__file__).parent.parent / "data"


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """One accelerator, as its vendor specifies it."""

    label: str
    """Name for people."""
    peak_flops: float
    """Dense BF16 matmul peak, accumulated in FP32. [FLOP/s]"""
    memory_bandwidth: float
    """Device memory bandwidth. [bytes/s]"""
    source: str
    """Address of the vendor's figures."""
    memory: float | None = None
    """Device memory; None where the buyer chooses it. [bytes]"""
    peak_flops_fp8: float | None = None
    """Dense FP8 matmul peak. [FLOP/s]"""
    sparse_peak_flops: float | None = None
    """BF16 headline figure that assumes 2:4 sparsity, which training does not have. [FLOP/s]"""
    link_bandwidth: float | None = None
    """Scale-up bandwidth of one device, one way. [bytes/s]"""
    scale_up_devices: int | None = None
    """Most devices that one scale-up network joins; a larger job exchanges gradients through a slower one. None if unstated."""
    matmul_efficiency: float | None = None
    """Fastest measured BF16 matmul divided by `peak_flops`: the ceiling of any MFU. [0-1]"""
    checked: str | None = None
    """Month of the last check against the vendor's page. [YYYY-MM]"""
    unverified: tuple[str, ...] = ()
    """Fields whose figure no vendor page seen here confirms."""
    note: str | None = None
    """A sentence that the user of this device needs."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """The size of a well-known model, its dimensions where published and, for a mixture of experts, its routing."""

    label: str
    """Name for people."""
    num_params: float
    """Parameters held in memory. [-]"""
    source: str
    """Address of the paper or model card."""
    active_params: float | None = None
    """Parameters used per token; None for a dense model, which uses all of them. [-]"""
    seq_len: int | None = None
    """Tokens per sequence for most of pretraining; None where undisclosed. [tokens]"""
    num_experts: int | None = None
    """Routed experts per layer; None for a dense model. [-]"""
    top_k: int | None = None
    """Routed experts per token; None for a dense model. [-]"""
    architecture: Architecture | None = None
    """Dimensions; None where they are not published."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A published run or an example, as a change to the default scenario."""

    label: str
    """Name for people."""
    source: str
    """Address of the paper, repository or configuration."""
    note: str
    """What is published and what was chosen here."""
    fields: Mapping[str, float | int | str]
    """Scenario fields that differ from the defaults; Scenario checks names and values when it is built."""


def _text(name: str, value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be text, got {value!r}")
    if not value.strip():
        raise ValueError(f"{name} must be filled in, got {value!r}")
    return value


def _matching(name: str, value, pattern: str, rule: str) -> str:
    if not re.fullmatch(pattern, _text(name, value)):
        raise ValueError(f"{name} must be {rule}, got {value!r}")
    return value


def _number_or_word(name: str, value) -> float | int | str:
    if isinstance(value, str):
        return _text(name, value)
    checks.number(name, value)
    return value


def _figures(name: str, value) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{name} must be a list of fields, got {value!r}")
    return tuple(checks.one_of(name, field, FIGURES) for field in value)


_source = partial(
    _matching, pattern=r"https://\S+|data/measured/\S+", rule="an https address or a file of data/measured"
)
# The ranges catch a wrong unit (TFLOP/s, GB, billions), not an implausible device.
_flops = partial(checks.between, low=1e13, high=1e17)
_params = partial(checks.between, low=1e5, high=1e13)

FIGURES = ("peak_flops", "peak_flops_fp8", "memory", "memory_bandwidth", "link_bandwidth", "scale_up_devices")
"""Fields of an accelerator that a vendor states."""
HARDWARE_RULES = {
    "label": _text,
    "peak_flops": _flops,
    "peak_flops_fp8": _flops,
    "sparse_peak_flops": _flops,
    "memory": partial(checks.between, low=1e9, high=1e13),
    "memory_bandwidth": partial(checks.between, low=1e10, high=1e14),
    "link_bandwidth": partial(checks.between, low=1e9, high=1e13),
    "scale_up_devices": partial(checks.whole, low=2, high=1e5),
    "matmul_efficiency": partial(checks.between, low=0.1, high=1),
    "source": _source,
    "checked": partial(_matching, pattern=r"20\d\d-(0[1-9]|1[0-2])", rule="a month like 2026-08"),
    "unverified": _figures,
    "note": _text,
}
MODEL_RULES = {
    "label": _text,
    "num_params": _params,
    "active_params": _params,
    "seq_len": partial(checks.whole, low=16, high=2**20),
    "num_experts": checks.whole,
    "top_k": checks.whole,
    "source": _source,
}
DIMENSION_RULES = {field.name: lambda name, value: value for field in fields(Architecture)}  # it checks itself
RUN_RULES = {"label": _text, "source": _source, "note": _text}


def _tables(path: Path) -> dict[str, tuple[str, dict]]:
    """Entry -> (where it stands, for messages; its table)."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    for entry, table in tables.items():
        if not isinstance(table, dict):
            raise TypeError(f"{path.name}: {entry} must be a table, got {table!r}")
    return {entry: (f"{path.name}: {entry}.", table) for entry, table in tables.items()}


def _record(kind: type, where: str, table: Mapping, rules: Mapping):
    """One checked record; every field of the table has a rule, every field without a default is there."""
    for name in table:
        checks.one_of(f"{where}{name}", name, rules)
    for field in fields(kind):
        if field.default is MISSING and field.name not in table:
            raise ValueError(f"{where}{field.name} must be given, got nothing")
    return kind(**{name: rules[name](f"{where}{name}", value) for name, value in table.items()})


def read_hardware(path: Path) -> Mapping[str, Hardware]:
    """Accelerators of a TOML file, by id."""
    return MappingProxyType({k: _record(Hardware, *entry, HARDWARE_RULES) for k, entry in _tables(path).items()})


def _model(where: str, table: Mapping) -> Model:
    for name in table:
        checks.one_of(f"{where}{name}", name, {**MODEL_RULES, **DIMENSION_RULES})
    architecture = _architecture(where, {n: value for n, value in table.items() if n in DIMENSION_RULES})
    own = {name: value for name, value in table.items() if name in MODEL_RULES}
    rules = {**MODEL_RULES, "architecture": lambda name, value: value}
    model = _record(Model, where, {**own, "architecture": architecture}, rules)
    if model.active_params is not None:
        checks.between(f"{where}active_params", model.active_params, 0, model.num_params)
    if (model.num_experts is None) != (model.top_k is None):
        raise ValueError(f"{where}top_k must come with num_experts, got {model.top_k!r} and {model.num_experts!r}")
    if model.top_k is not None:
        checks.whole(f"{where}top_k", model.top_k, high=model.num_experts)
    return model


def _architecture(where: str, dimensions: Mapping) -> Architecture | None:
    """The dimensions of an entry, which Architecture checks; None where an entry has none but its routing."""
    if dimensions.keys() <= MODEL_RULES.keys():
        return None
    try:
        return _record(Architecture, where, dimensions, DIMENSION_RULES)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{where}{str(error).removeprefix(where)}") from None


def read_models(path: Path) -> Mapping[str, Model]:
    """Models of a TOML file, by id."""
    return MappingProxyType({k: _model(*entry) for k, entry in _tables(path).items()})


def _run(where: str, table: Mapping) -> Run:
    own = {name: value for name, value in table.items() if name in RUN_RULES}
    overrides = {n: _number_or_word(f"{where}{n}", v) for n, v in table.items() if n not in RUN_RULES}
    if "accelerator" in overrides:
        accelerator(f"{where}accelerator", overrides["accelerator"])
    rules = {**RUN_RULES, "fields": lambda name, value: value}
    return _record(Run, where, {**own, "fields": MappingProxyType(overrides)}, rules)


def read_runs(path: Path) -> Mapping[str, Run]:
    """Runs of a TOML file, by id."""
    return MappingProxyType({k: _run(*entry) for k, entry in _tables(path).items()})


def accelerator(name: str, value) -> str:
    """The value if it is the id of an accelerator or a dense peak [FLOP/s] as text, which is then written in the shortest way."""
    known = hardware()
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a word or a peak as text, got {value!r}")
    if value in known:
        return value
    try:
        peak = quantities.parse_number(value)
    except ValueError:
        raise ValueError(
            f"{name} must be one of {', '.join(known)} or a dense peak in FLOP/s such as 989e12, got {value!r}"
        ) from None
    return f"{checks.between(f'{name} peak [FLOP/s]', peak, 1e6, 1e18):.12g}"


@cache
def hardware() -> Mapping[str, Hardware]:
    """The accelerators of `data/hardware.toml`, by id."""
    return read_hardware(DATA / "hardware.toml")


@cache
def models() -> Mapping[str, Model]:
    """The models of `data/models.toml`, by id."""
    return read_models(DATA / "models.toml")


@cache
def runs() -> Mapping[str, Run]:
    """The runs of `data/runs.toml`, by id."""
    return read_runs(DATA / "runs.toml")
