"""From the Overview to a configuration to paste: 8 devices become 64, in a real browser."""

import pytest
from playwright.sync_api import expect

from tests.browser import served

pytestmark = pytest.mark.browser


def test_eight_devices_become_sixty_four_in_three_actions():
    with served.browser() as chromium, served.server() as address:
        page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
        page.goto(f"{address}/?data_parallel_size=8")
        served.settle(page)
        page.get_by_test_id("stMain").get_by_role("link", name="Change batch", exact=True).first.click()
        replicas = page.get_by_role("spinbutton", name="New replicas")
        expect(replicas).to_be_visible(timeout=20_000)
        replicas.fill("64")
        replicas.press("Enter")
        served.settle(page)
        expect(page.get_by_text("From 8 devices to 64 devices")).to_be_visible()
        expect(page.get_by_text("Changing nothing else would cost")).to_be_visible()
        expect(page.get_by_text("--global-batch-size 3072")).to_be_visible()
        page.get_by_role("button", name="DeepSpeed").or_(page.get_by_role("radio", name="DeepSpeed")).first.click()
        served.settle(page)
        expect(page.get_by_text('"train_batch_size": 3072')).to_be_visible()
        assert "new_data_parallel_size=64" in page.evaluate("location.search")
        assert page.get_by_test_id("stException").count() == 0
