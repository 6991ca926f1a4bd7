"""The main job in a real browser: a shared link on a cold server, sliders, reload, pages, an upload, its fit, a second browser."""

import re
from urllib.parse import parse_qs, urlparse

import pytest
from playwright.sync_api import Page, expect

from pages.ui import shell
from tests.browser import served

TEN = {
    "num_params": "1.2e9", "seq_len": "4096", "mfu": "0.5", "critical_batch_size": "2e6", "min_steps": "30000",
    "micro_batch_size": "8", "grad_accum_steps": "2", "data_parallel_size": "4", "fixed_time": "0.1", "learning_rate": "0.0006",
}  # fmt: skip
SUMMARY = "1.2B dense, 4 x NVIDIA H200 SXM, 262k\u00a0tokens per step (64 x 4,096)"
EXAMPLE = sorted((served.ROOT / "data/measured").glob("throughput_cpu_*.csv"))[0]
ADDRESSES = ["", *(page.path.removeprefix("pages/").removesuffix(".py") for page in shell.PAGES[1:])]

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def chromium():
    with served.browser() as launched:
        yield launched


@pytest.fixture(scope="module")
def address():
    with served.server() as at:
        yield at


def query(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlparse(page.evaluate("location.href")).query).items()}


def go(page: Page, title: str) -> None:
    page.get_by_test_id("stMain").get_by_role("link", name=title, exact=True).first.click()
    expect(page.get_by_role("heading", level=2, name=title)).to_be_visible(timeout=20_000)
    served.settle(page)


def no_crash(page: Page) -> None:
    assert page.get_by_test_id("stException").count() == 0
    assert page.get_by_text("Page not found").count() == 0


def metrics(page: Page) -> list[str]:
    return page.get_by_test_id("stMetric").all_inner_texts()


def test_main_job_end_to_end(chromium):
    with served.server() as cold:
        page = chromium.new_context().new_page()
        page.goto(f"{cold}/critical_batch?" + "&".join(f"{name}={value}" for name, value in TEN.items()))
        served.settle(page)
        no_crash(page)
        for one in shell.PAGES:
            go(page, one.title)
            no_crash(page)
            expect(page.get_by_text(SUMMARY).first).to_be_visible()
            assert query(page).keys() == {"v", *TEN}

        go(page, "Throughput")
        page.get_by_role("slider", name="MFU at the plateau").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("location.search.includes('mfu=0.51')")
        page.reload()
        served.settle(page)
        assert query(page)["mfu"] == "0.51"
        before = page.evaluate("history.length")
        go(page, "Critical batch")
        page.get_by_role("slider", name="B_crit").focus()
        page.keyboard.press("ArrowRight")
        page.wait_for_function("location.search.includes('critical_batch_size=3e6')")
        assert page.evaluate("history.length") == before + 1, "a slider step must not add to the history"
        page.go_back()
        expect(page.get_by_role("heading", level=2, name="Throughput")).to_be_visible()
        page.wait_for_function("location.search.includes('critical_batch_size=3e6')")
        served.settle(page)

        go(page, "Upload")
        page.locator("input[type=file]").set_input_files(EXAMPLE)
        expect(page.get_by_text("usable rows")).to_be_visible(timeout=20_000)
        go(page, "Throughput")
        page.get_by_role("button", name="Use fitted values").click()
        page.wait_for_function("!location.search.includes('fixed_time=0.1&')")
        served.settle(page)
        no_crash(page)
        copied = page.get_by_test_id("stSidebar").get_by_test_id("stCode").inner_text().strip()
        seen = metrics(page)

        second = chromium.new_context().new_page()
        second.goto(copied)
        served.settle(second)
        assert query(second) == query(page)
        assert metrics(second) == seen


@pytest.mark.parametrize("place", ADDRESSES, ids=lambda place: place or "overview")
def test_broken_link_is_a_sentence_on_every_page(chromium, address, place):
    page = chromium.new_context().new_page()
    page.goto(f"{address}/{place}?num_params=abc&mfu=7&colour=red&seq_len=4096")
    served.settle(page)
    no_crash(page)
    expect(page.get_by_text("mfu must be from 0.01 to 1, got 7")).to_be_visible()
    expect(page.get_by_text("num_params must be a number", exact=False)).to_be_visible()
    assert query(page) == {"v": "1", "seq_len": "4096"}


def test_ten_kilobytes_of_junk_keep_the_app_alive(chromium, address):
    page = chromium.new_context().new_page()
    page.goto(f"{address}/throughput?junk={'x' * 10_000}&num_params=7e9")
    served.settle(page)
    no_crash(page)
    expect(page.get_by_text("7B dense").first).to_be_visible()


BAD_FILES = {
    "empty.csv": b"",
    "picture.csv": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20,
    "object.pkl": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00}\x94.",
    "header.csv": b"batch_tokens,step_time_s\n",
    "missing.csv": b"batch_tokens,step_time_s\n1024,\n2048,nan\n",
    "negative.csv": b"batch_tokens,step_time_s\n-1024,1\n0,2\n",
    "infinite.csv": b"batch_tokens,steps_to_target\n1024,inf\n2048,inf\n",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_unreadable_file_is_one_sentence_and_the_app_goes_on(chromium, address, name):
    page = chromium.new_context().new_page()
    page.goto(f"{address}/upload")
    served.settle(page)
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": BAD_FILES[name]})
    alert = page.get_by_test_id("stAlert")
    expect(alert).to_have_count(1, timeout=20_000)
    assert len(re.findall(r"\S+", alert.inner_text())) > 4
    no_crash(page)
    go(page, "Throughput")
    no_crash(page)


def test_file_over_the_limit_is_refused_and_a_large_one_is_read(chromium, address, tmp_path):
    header, row = b"batch_tokens,step_time_s\n", b"%d,%d.5\n"
    rows = b"".join(row % (1024 * (1 + k % 8), 1 + k % 8) for k in range(1000))
    limit, large = 200 * 10**6, 60 * 10**6
    (tmp_path / "large.csv").write_bytes(header + rows * (large // len(rows)))
    (tmp_path / "over.csv").write_bytes(header + rows * (limit // len(rows) + 8))
    page = chromium.new_context().new_page()
    page.goto(f"{address}/upload")
    served.settle(page)
    page.locator("input[type=file]").set_input_files(tmp_path / "over.csv")
    expect(page.get_by_text("200.0MB or smaller", exact=False)).to_be_visible(timeout=20_000)
    page.reload()
    served.settle(page)
    page.locator("input[type=file]").set_input_files(tmp_path / "large.csv")
    expect(page.get_by_text("usable rows")).to_be_visible(timeout=120_000)
    no_crash(page)


def test_phone_shows_the_answer_without_a_sidebar(chromium, address):
    page = chromium.new_context(viewport={"width": 390, "height": 844}).new_page()
    page.goto(address)
    served.settle(page)
    expect(page.get_by_text("796M dense, 1 x NVIDIA H200 SXM").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    answer = page.get_by_text("Keep 98.3k\u00a0tokens per step").bounding_box()
    assert answer["y"] + answer["height"] < 844
