"""A slider step and a first load of each page against a yardstick page: python -m tests.benchmarks.pages

The yardstick has the same numbers of widgets, charts, traces and points with constant data and plain `st.plotly_chart`, served
and driven in the same run. A step lasts from the key press to the last change of the page before it stays quiet, a first load
until every chart is drawn. The bars: a step within 1.15 times, a load within 1.2 times the yardstick's.
"""

import json
import statistics
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page

from pages.ui import shell
from tests.browser import served

STEPS, LOADS, QUIET = 12, 3, 700
SLIDERS = {"batch_ramp": "B_crit", "planner": "B_crit"}
"""Where another slider than that of the parameters changes every chart."""
WIDGETS = {
    "sliders": ["stSlider"],
    "texts": ["stTextInput", "stTextArea"],
    "numbers": ["stNumberInput"],
    "links": ["stPageLink"],
    "selects": ["stSelectbox", "stMultiSelect"],
    "groups": ["stButtonGroup"],
    "checks": ["stCheckbox"],
    "buttons": ["stButton", "stDownloadButton"],
}
"""What is counted on a page, and how Streamlit marks it."""
WITHOUT_CHARTS = ("change_batch", "upload", "reference")
"""Pages on which no slider redraws a chart."""
YARDSTICK = """
import json, streamlit as st
import plotly.graph_objects as go
shape = json.loads({shape!r})
st.set_page_config(layout="wide")
with st.sidebar:
    value = st.select_slider({slider!r}, [str(k) for k in range(50)], value="20")
    for k in range(shape["sliders"] - 1): st.select_slider(f"slider {{k}}", [str(j) for j in range(50)], key=f"s{{k}}")
    for k in range(shape["texts"]): st.text_input(f"text {{k}}", "1", key=f"t{{k}}")
    for k in range(shape["numbers"]): st.number_input(f"number {{k}}", key=f"n{{k}}")
with st.container(horizontal=True):
    for k in range(shape["links"]): st.page_link("pages/other.py", label=f"page {{k}}")
for k in range(shape["selects"]): st.selectbox(f"select {{k}}", ["one", "two"], key=f"o{{k}}")
for k in range(shape["groups"]): st.segmented_control(f"group {{k}}", ["one", "two"], key=f"g{{k}}")
for k in range(shape["checks"]): st.checkbox(f"check {{k}}", key=f"c{{k}}")
for k in range(shape["buttons"]): st.button(f"button {{k}}", key=f"b{{k}}")
st.header("Yardstick")
st.caption(f"value {{value}}")
for chart, traces in enumerate(shape["charts"]):
    data = [{{"type": "scatter", "x": list(range(points)), "y": [k + float(value) for k in range(points)]}} for points in traces]
    st.plotly_chart(go.Figure({{"data": data}}), key=f"chart{{chart}}")
"""
DRAWN = f"() => document.querySelector('[data-testid=stPlotlyChart]') && {served.DRAWN}"
WATCH = """() => {
  window.last = null
  new MutationObserver(() => { window.last = performance.now() }).observe(document.body, {subtree: true, childList: true, characterData: true})
}"""


def step(page: Page, slider: str) -> float:
    """Milliseconds from a key press on a slider to the last change."""
    page.get_by_role("slider", name=slider).focus()
    page.wait_for_timeout(300)
    start = page.evaluate("() => { window.last = null; return performance.now() }")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"window.last !== null && performance.now() - window.last > {QUIET}", timeout=30_000)
    return page.evaluate("window.last") - start


def load(browser: Browser, address: str) -> float:
    """Milliseconds from a new visitor's navigation until every chart is drawn."""
    page = browser.new_context().new_page()
    page.goto(address)
    page.wait_for_function(DRAWN, timeout=30_000)
    spent = page.evaluate("performance.now()")
    page.context.close()
    return spent


def measure(browser: Browser, address: str, slider: str) -> tuple[float, float]:
    """Median step and median load. [ms]"""
    loads = [load(browser, address) for _ in range(LOADS)]
    page = browser.new_context().new_page()
    page.goto(address)
    served.settle(page)
    page.evaluate(WATCH)
    step(page, slider)
    steps = [step(page, slider) for _ in range(STEPS)]
    page.context.close()
    return statistics.median(steps), statistics.median(loads)


def shape(browser: Browser, address: str) -> dict:
    """How many widgets, charts, traces and points a page has."""
    page = browser.new_context().new_page()
    page.goto(address)
    served.settle(page)
    charts = page.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')].map(plot => plot.calcdata.map(points => points.length))"
    )
    counts = {name: sum(page.get_by_test_id(each).count() for each in kinds) for name, kinds in WIDGETS.items()}
    counts["charts"] = charts
    page.context.close()
    return counts


def main(wanted: list[str]) -> None:
    """Print step and load of each page, its yardstick's, and their ratios."""
    print(f"{'page':<16}{'step ms':>9}{'yardstick':>11}{'ratio':>7}{'load ms':>10}{'yardstick':>11}{'ratio':>7}")
    with served.server() as address, served.browser() as browser:
        for one in shell.PAGES:
            name = one.path.removeprefix("pages/").removesuffix(".py")
            if name in WITHOUT_CHARTS or wanted and name not in wanted:
                continue
            at = f"{address}/{'' if name == 'app' else name}"
            with tempfile.TemporaryDirectory() as folder:
                slider = SLIDERS.get(name, "Parameters")
                script = YARDSTICK.format(shape=json.dumps(shape(browser, at)), slider=slider)
                (Path(folder) / "yardstick.py").write_text(script)
                (Path(folder) / "pages").mkdir()
                (Path(folder) / "pages" / "other.py").write_text("")
                with served.server("yardstick.py", Path(folder)) as plain:
                    yard_step, yard_load = measure(browser, plain, slider)
                    page_step, page_load = measure(browser, at, slider)
            row = (page_step, yard_step, page_step / yard_step, page_load, yard_load, page_load / yard_load)
            print("{:<16}{:>9.0f}{:>11.0f}{:>7.2f}{:>10.0f}{:>11.0f}{:>7.2f}".format(one.title, *row), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
