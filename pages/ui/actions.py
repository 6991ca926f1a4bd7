"""What buttons, presets and pasted texts do to the scenario: each callback assigns or changes it, or says why it did not."""

from bsmath import (
    architecture,
    curves,
    expert_load,
    hf_config,
    imported_run,
    measured,
    model_shape,
    presets,
    quantities,
    ramp_takeover,
)
from bsmath.measured import Measurement
from bsmath.outlook import Outlook
from bsmath.scenario import Scenario
from pages.ui import state, text

# --- presets


def load_run(name: str) -> None:
    """Take the scenario of a published run or example; the page then says what in it is published."""
    run = presets.runs()[name]
    state.assign(Scenario(**run.fields))
    state.note(f"{run.label}: {run.note} Source: {run.source}")


def load_model(name: str) -> None:
    """Take the size, dimensions and experts of a model, leaving the rest of the scenario."""
    model = presets.models()[name]
    if model.architecture is not None:
        fields = model_shape.fields_of(model.architecture) | {"architecture": name, "seq_len": model.seq_len}
    else:
        fields = {
            "architecture": "",
            "num_params": model.num_params,
            "active_params": model.active_params or model.num_params,
            "seq_len": model.seq_len,
            "num_experts": model.num_experts,
            "top_k": model.top_k,
        }
    state.change(**{field: value for field, value in fields.items() if value is not None})


# --- pasted and dropped texts


def read_pasted_config() -> None:
    """Take the dimensions of the config.json pasted on the Throughput page."""
    _use_config(state.held("config_text"), "the pasted config.json")


def read_dropped_config() -> None:
    """Take the dimensions of the config.json dropped there."""
    dropped = state.held("config_file")
    if dropped is not None:
        _use_config(dropped.getvalue(), dropped.name)


def _use_config(data: str | bytes, name: str) -> None:
    try:
        config = hf_config.read(data, name)
    except ValueError as error:
        return state.say(f"{error}; the dimensions before are kept.")
    if state.change(**model_shape.fields_of(config.architecture)):
        total = text.count(architecture.num_params(config.architecture), 4)
        state.note(text.plain(" ".join([f"{config.label}: {total} parameters by its dimensions.", *config.notes])))
    return None


def read_old_config() -> None:
    """Take the old run from the trainer's configuration pasted on the Change batch page."""
    try:
        new, said = imported_run.scenario_of(state.scenario(), state.held("old_config") or "")
    except (TypeError, ValueError) as error:
        return state.say(f"{error}; the run before is kept.")
    state.assign(new)
    state.note(text.plain(" ".join(said)))
    return None


def use_pasted_ramp() -> None:
    """Take the ramp pasted on the Batch ramp page."""
    _use_ramp(ramp_takeover.pasted, state.held("text_ramp"))


def use_published_ramp(name: str) -> None:
    """Take the ramp of a published run."""
    _use_ramp(ramp_takeover.published, name)


def _use_ramp(read, what: str) -> None:
    try:
        found = read(state.scenario(), what)
    except ValueError as error:
        return state.say(f"{error}; the ramp before is kept.")
    if state.change(**found.changes):
        state.note(text.plain(" ".join(["This ramp was taken over.", *found.said])))
    return None


# --- measured numbers


def use_fit(found: Measurement) -> None:
    """Put a fit into the scenario."""
    try:
        changes, sentence = measured.fitted_changes(state.scenario(), found)
    except ValueError as error:
        return state.say(f"The fit does not go into this scenario: {error}; the values before are kept.")
    if state.change(**changes) and sentence:
        state.note(sentence)


def fit_skew() -> None:
    """Set the router's skew from the typed share of dropped tokens, in percent."""
    written = state.held("drop_rate").strip().removesuffix("%")
    try:
        found = expert_load.skew_for_dropped(state.scenario(), quantities.parse_number(written) / 100)
    except ValueError as error:
        return state.say(f"Drop rate: {error}; the skew before is kept.")
    state.change(router_skew=float(f"{found:.4g}"))
    return None


def calibrate(run: Outlook) -> None:
    """Set the plateau from the calibration form: a rate, or an MFU up to 1, at a batch size (by default this run's)."""
    try:
        rate = quantities.parse_number(state.held("calibrate_rate"))
        batch = state.held("calibrate_batch").strip()
        size = quantities.parse_number(batch) if batch else run.tokens_per_step
        state.assign(curves.calibrated(state.scenario(), size, rate))
    except ValueError as error:
        state.say(f"Calibrate: {error}; the plateau before is kept. Is it the whole job's rate, and the dense peak?")
