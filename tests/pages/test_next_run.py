"""The words on the next run worth measuring: its price, both intervals, and what a repeat would tell."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bsmath import measured, next_run, sweeps
from bsmath.scenario import Scenario
from pages.ui import next_run as section
from tests.pages.test_logs import pasted, said

BATCH = 2.0 ** np.arange(12, 20)
SCATTER = np.exp(0.04 * np.array([1, -1, 1, 0, -1, 1, 0, -1]))


def file(batch=BATCH, header="tokens_per_step", knee=1e5):
    rows = [f"{size:g},{2000 * (1 + knee / size) * off:.0f}" for size, off in zip(batch, SCATTER, strict=False)]
    return "\n".join([f"{header},steps_to_target", *rows])


def measurement(text: str):
    found = sweeps.read(text.encode(), "sweep.csv")
    return measured.measurement(found, found.series[0], "steps")


def advised(cost: float, size: float, repeat=None, now=(1e4, 4e4), expected=(1.5e4, 3e4), **other):
    given = {"cost": cost, "tokens_per_step": size, "now": now, "expected": expected, "scatter": 0.06, "assumed": False}
    return SimpleNamespace(**given, repeat=repeat, reason="", **other)


def test_the_section_names_the_batch_its_price_and_both_intervals():
    app = pasted(file())
    app.switch_page("pages/critical_batch.py").run()
    one = measurement(file())
    advice = next_run.hyperbola(one.fit)
    assert f"measure **{advice.tokens_per_step:,.0f} tokens per step** next: about" in said(app)
    assert "device-hours at this scenario's rate. B_crit is" in said(app) and "is expected after it" in said(app)


def test_the_price_is_the_tokens_the_steps_and_the_device_hours_of_the_scenario():
    scenario = Scenario(fixed_time=0, mfu=0.5, accelerator="4e15", num_params=1e9, data_parallel_size=4)
    # 2e15 FLOP/s over 6e9 FLOP/token on each of 4 devices: 1.2e9 tokens take one device an hour
    price = section.price(scenario, measurement(file()), advised(2.4e9, 2.4e6))
    assert price == "about 2.4B\u00a0tokens in 1,000 steps, 2 device-hours at this scenario's rate"


def test_one_step_is_not_plural_and_sequences_are_not_called_tokens():
    one = measurement(file())
    assert " in 1 step," in section.price(Scenario(), one, advised(1e6, 1e6))
    words = section.said(Scenario(), one, advised(6400, 64), "sequences")
    assert "measure **64 sequences per step**" in words and "6.4k\u00a0sequences in 100 steps." in words
    assert "10k to 40k\u00a0sequences now" in words and "token" not in words and "hours" not in words


@pytest.mark.parametrize(
    "now, after, shrinks",
    [
        ((1, 4), (1.5, 3), True),
        ((1, 4), (2, 9), False),
        ((1, 4), (2, math.inf), False),
        ((0, math.inf), (2, math.inf), True),
        ((0, math.inf), (0, math.inf), False),
        ((3, math.inf), (2, math.inf), False),
        ((3, math.inf), (2, 9), True),
        ((0, 3), (0, 5), False),
        ((0, 3), (0, 2), True),
    ],
)
def test_an_interval_shrinks_where_it_gets_an_end_or_those_it_has_move_together(now, after, shrinks):
    assert section._narrower(now, after) is shrinks
    cautions = section.cautions(measurement(file()), advised(1, 1e6, now=now, expected=after))
    assert ("too narrow by luck" in " ".join(cautions)) is not shrinks


@pytest.mark.parametrize(
    "information, low, words",
    [
        (0.3, 2e4, "tells at best 30\u00a0% as much for its cost, and would leave 20k to 30k\u00a0tokens."),
        (7.26, 1e3, "tells at best 7.26x as much for its cost."),
    ],
)
def test_a_repeat_says_what_it_would_tell_and_leave(information, low, words):
    row = pd.Series({"tokens_per_step": 4096.0, "low": low, "high": 3e4, "information": information})
    assert section.repeat(advised(1, 1, row)) == f"Repeating 4,096 instead {words}"
    assert "only a new one does" in section.repeat(advised(1, 1))


def test_two_batches_say_that_their_scatter_is_assumed():
    one = measurement(file(BATCH[:2]))
    words = section.cautions(one, section.advise(one))
    assert "is assumed (4 to 8 % on language models with a tuned rate)" in words[0]


def test_no_advice_says_why():
    scattered = "tokens_per_step,steps_to_target\n" + "\n".join(f"{2**k},{(5 - k % 4) ** 3 * 1000}" for k in range(9))
    one = measurement(scattered)
    assert section.advise(one) is None
    assert "a hyperbola does not describe this sweep" in section.refusal(one)
