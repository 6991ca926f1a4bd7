"""Data in a link, in a real browser: a second, cold server shows the same points and the same fit; a broken link is a sentence."""

import json
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from tests.browser import served

MEASURED = served.ROOT / "data/measured"
FILES = [*sorted(MEASURED.glob("throughput_cpu_*.csv")), MEASURED / "convergence_0.1M.csv"]
LIMIT = 4000

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium():
    with served.browser() as launched:
        yield launched


def drawn(page: Page, name: str) -> list[list[float]]:
    """The points of every trace with this in its name."""
    found = page.evaluate(
        """(name) => JSON.stringify([...document.querySelectorAll('.js-plotly-plot')].flatMap(plot => plot._fullData)
        .filter(trace => (trace.name || '').includes(name)).map(trace => [Array.from(trace.x), Array.from(trace.y)]))""",
        name,
    )
    return json.loads(found)


def verdicts(page: Page) -> list[str]:
    """What is said of each fit."""
    return [text for text in page.get_by_test_id("stMarkdown").all_inner_texts() if "90 % intervals" in text]


def shared(page: Page, address: str) -> str:
    page.goto(f"{address}/upload")
    served.settle(page)
    page.locator("input[type=file]").set_input_files(FILES)
    expect(page.get_by_text("usable rows")).to_be_visible(timeout=30_000)
    served.settle(page)
    page.get_by_text("Put the shown measurements into the link").first.click()
    page.wait_for_function("() => location.search.includes('data=')")
    served.settle(page)
    return page.evaluate("location.href")


def test_a_second_cold_server_shows_the_same_points_and_fits(chromium):
    with served.server() as first:
        page = chromium.new_context().new_page()
        link = shared(page, first)
        parts = urlparse(link)
        assert len(parse_qs(parts.query)["data"][0]) < LIMIT
        seen = [drawn(page, name) for name in ("throughput", "convergence")]
        told = verdicts(page)
        assert all(seen) and len(told) == 2
    with served.server() as second:
        other = chromium.new_context().new_page()
        other.goto(f"{second}{parts.path}?{parts.query}")
        served.settle(other)
        expect(other.get_by_text("convergence_0.1M.csv").first).to_be_visible()
        assert verdicts(other) == told
        for before, after in zip(seen, (drawn(other, name) for name in ("throughput", "convergence")), strict=True):
            assert [len(trace[0]) for trace in before] == [len(trace[0]) for trace in after]
            for one, two in zip(before, after, strict=True):
                assert one[0] == pytest.approx(two[0], rel=1e-4) and one[1] == pytest.approx(two[1], rel=1e-4)
        other.goto(f"{second}/throughput?{parts.query}")
        served.settle(other)
        assert drawn(other, "throughput"), "the same data lie over the theory on another page"


@pytest.mark.parametrize("data", ["abc", "x" * 3000, "x" * 5000])
def test_a_link_with_broken_data_is_one_sentence_and_the_scenario_stays(chromium, data):
    with served.server() as address:
        page = chromium.new_context().new_page()
        page.goto(f"{address}/?num_params=7e9&data={data}")
        served.settle(page)
        assert page.get_by_test_id("stException").count() == 0
        expect(page.get_by_test_id("stAlert")).to_have_count(1)
        expect(page.get_by_text("7B dense").first).to_be_visible()
        page.wait_for_function("!location.search.includes('data=')")
