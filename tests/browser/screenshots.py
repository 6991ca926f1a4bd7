"""Screenshots of every page at two widths, light and dark, into screenshots/: python -m tests.browser.screenshots [page ...]"""

import sys

from pages.ui import shell
from tests.browser import served

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}


def main(wanted: list[str]) -> None:
    """Take them; names of pages restrict the set."""
    folder = served.ROOT / "screenshots"
    folder.mkdir(exist_ok=True)
    with served.server() as address, served.browser() as chromium:
        for theme in ("light", "dark"):
            for size, (width, height) in SIZES.items():
                context = chromium.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                page = context.new_page()
                for one in shell.PAGES:
                    name = one.path.removeprefix("pages/").removesuffix(".py")
                    if wanted and name not in wanted:
                        continue
                    page.goto(f"{address}/{'' if name == 'app' else name}")
                    served.settle(page)
                    tall = page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
                    page.screenshot(path=folder / f"{name}-{size}-{theme}.png")
                    page.set_viewport_size({"width": width, "height": max(height, tall)})
                    served.settle(page)
                    page.wait_for_timeout(500)
                    page.screenshot(path=folder / f"{name}-{size}-{theme}-full.png")
                    page.set_viewport_size({"width": width, "height": height})


if __name__ == "__main__":
    main(sys.argv[1:])
