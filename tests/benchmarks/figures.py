"""How long the figures and the formulas of each page take: python -m tests.benchmarks.figures

The bar: a page's figures are built in under 30 ms together. Runs every page as it stands, with the chart functions wrapped.
"""

import importlib
import inspect
import statistics
import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

from pages.ui import shell

ROOT = Path(__file__).parent.parent.parent
RUNS = 15


def wrapped(function, spent: list[float]):
    """The function, noting how long each call takes. [s]"""

    def timed(*args, **kwargs):
        start = time.perf_counter()
        result = function(*args, **kwargs)
        spent.append(time.perf_counter() - start)
        return result

    return timed


def wrap_all(spent: list[float]) -> None:
    """Wrap every `*_figure` function of pages/charts."""
    for path in sorted((ROOT / "pages/charts").glob("*.py")):
        module = importlib.import_module(f"pages.charts.{path.stem}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.endswith("_figure"):
                setattr(module, name, wrapped(function, spent))


def main() -> None:
    """Print milliseconds of figure building for each page: median and largest of the runs."""
    spent: list[float] = []
    wrap_all(spent)
    print(f"{'page':<24}{'figures':>8}{'median ms':>11}{'max ms':>9}")
    for page in shell.PAGES:
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        if page.path != "app.py":
            app.switch_page(page.path)
        app.run()
        totals = []
        for _ in range(RUNS):
            spent.clear()
            app.run()
            totals.append(1e3 * sum(spent))
        print(f"{page.title:<24}{len(spent):>8}{statistics.median(totals):>11.1f}{max(totals):>9.1f}")


if __name__ == "__main__":
    main()
