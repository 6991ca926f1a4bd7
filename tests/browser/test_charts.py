"""Charts are changed in place: the node and the zoom stay, the theme is followed, a missing script is said."""

import re
from pathlib import Path

import pytest

from tests.browser import served

FIRST = "document.querySelector('.bsmath-chart')"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def address():
    with served.server() as running:
        yield running


@pytest.fixture(scope="module")
def chromium():
    with served.browser() as running:
        yield running


def opened(chromium, address: str, **context):
    page = chromium.new_context(**context).new_page()
    page.goto(f"{address}/critical_batch")
    served.settle(page)
    return page


def ends(page) -> list[float]:
    return page.evaluate(f"{FIRST}._fullLayout.xaxis.range")


def zoom(page, chart) -> None:
    """Drag over the middle of a chart."""
    area = chart.locator(".nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.7 * box["width"], box["y"] + 0.7 * box["height"], steps=5)
    page.mouse.up()


def test_a_slider_step_changes_the_chart_in_place_and_keeps_its_zoom(chromium, address):
    page = opened(chromium, address)
    before = page.evaluate(f"(() => {{ {FIRST}.mine = 1; return JSON.stringify({FIRST}.data[0].y) }})()")
    whole = ends(page)
    zoom(page, page.locator(".bsmath-chart").first)
    page.wait_for_function(f"whole => {FIRST}._fullLayout.xaxis.range[0] > whole", arg=whole[0])
    zoomed = ends(page)
    page.get_by_role("slider", name="B_crit").press("ArrowRight")
    page.wait_for_function(f"before => JSON.stringify({FIRST}.data[0].y) !== before", arg=before, timeout=10_000)
    assert page.evaluate(f"{FIRST}.mine") == 1 and ends(page) == zoomed


def test_another_axis_forgets_the_zoom(chromium, address):
    page = opened(chromium, address)
    chart = "document.querySelectorAll('.bsmath-chart')[1]"
    zoom(page, page.locator(".bsmath-chart").nth(1))
    page.get_by_role("radio", name="linear").or_(page.get_by_role("button", name="linear")).first.click()
    page.wait_for_function(f"{chart}.layout.xaxis.type === 'linear'", timeout=10_000)
    assert page.evaluate(f"{chart}.layout.xaxis.range[1]") > 1000


def test_a_chart_has_its_words_and_follows_the_theme(chromium, address):
    page = opened(chromium, address, color_scheme="light")
    assert len(page.evaluate(f"{FIRST}.getAttribute('aria-label')")) > 20
    light = page.evaluate(f"{FIRST}._fullLayout.font.color")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"light => {FIRST}._fullLayout.font.color !== light", arg=light, timeout=10_000)


def test_a_chart_fits_a_window_that_is_made_smaller(chromium, address):
    page = opened(chromium, address)
    page.set_viewport_size({"width": 700, "height": 900})
    page.wait_for_function(
        f"{FIRST}.querySelector('.main-svg').clientWidth === {FIRST}.offsetWidth && {FIRST}.offsetWidth < 700"
    )


def test_without_its_script_the_chart_says_so(chromium, address):
    page = chromium.new_context().new_page()
    page.route("**/plotly.min.js", lambda route: route.abort())
    page.goto(f"{address}/critical_batch")
    page.get_by_text("This chart could not be drawn").first.wait_for(timeout=30_000)


def test_the_script_is_that_of_the_plotly_that_builds_the_figures():
    pins = [
        re.search(r"plotly==([\d.]+)", (ROOT / name).read_text())[1]
        for name in ("requirements.txt", "chart_component/pyproject.toml")
    ]
    assert pins[0] == pins[1]
