"""The loaded series that lie over the theory, and their fits, which are kept beside the sweeps."""

from dataclasses import replace

from bsmath import measured, sweeps
from bsmath.measured import Measurement
from pages.ui import loaded, state


def series_choice() -> dict:
    """A multiselect of the series to show."""
    several = len(loaded.entries()) > 1
    named = {_label(key, name, several): (key, name) for key in loaded.entries() for name in loaded.sweep(key).series}
    shown = [label for label, one in named.items() if one in loaded.shown_series()]
    return {"options": list(named)} | state.tie("series", shown, _read_series, named)


def _read_series(widget: str, named: dict[str, tuple[str, str]]) -> None:
    loaded.memory()["shown"] = tuple(named[label] for label in state.held(widget))


def _label(key: str, name: str, several: bool, rates: bool = False) -> str:
    """What to call a series, or its rates: by its sweep as well where several sweeps are loaded."""
    one = loaded.entries()[key]
    title = one.rates_name if rates and one.rates_name and not one.renamed else one.sweep.name
    if name == sweeps.ALL_ROWS:
        return title
    return f"{title} · {name}" if several else name


def measurements(quantity: str) -> list[Measurement]:
    """The shown series of one quantity with their fits, in real tokens, ready to draw; empty without a sweep."""
    return _measured(loaded.shown_series(), (quantity,))


def fixed_time_is_fitted() -> bool:
    """Whether the scenario's fixed time is that of a shown fit; until then it is an assumption."""
    fits = (one.fit for one in measurements("tokens_per_second") if one.fit is not None)
    return any(fit.fixed_time == state.scenario().fixed_time for fit in fits)


def every_measurement() -> list[Measurement]:
    """Every series of the chosen sweep with every quantity that it measured."""
    return _measured([(loaded.chosen(), name) for name in loaded.sweep().series], sweeps.QUANTITIES)


def _measured(series, quantities) -> list[Measurement]:
    """Fits cost milliseconds and a slider step does not change them: they are kept beside the sweep."""
    has, padding = loaded.memory(), state.scenario().padding_fraction
    if has["padding"] != padding:
        has.update(fits={}, padding=padding)
    kept, several = has["fits"], len(has["sweeps"]) > 1
    for key, name, quantity in ((*one, quantity) for quantity in quantities for one in series):
        if (key, name, quantity, several) not in kept:
            found = measured.measurement(loaded.sweep(key), name, quantity, padding)
            label = _label(key, name, several, quantity == "tokens_per_second")
            kept[key, name, quantity, several] = replace(found, source=key, label=label)
    found = (kept[*one, quantity, several] for quantity in quantities for one in series)
    return [one for one in found if len(one.points)]


def beside(one: Measurement, name: str, make):
    """What follows from a fit alone, under a name of its own: made once and kept as long as the fit."""
    kept, key = loaded.memory()["fits"], (one.source, name, one.series, one.quantity)
    if key not in kept:
        kept[key] = make()
    return kept[key]
