"""Two replicas behind the nginx of deploy/, in a real browser: a lost replica is taken over, and the headers fit what the pages do."""

import http.client
import time
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from pages.ui import shell
from tests.browser import served
from tests.browser.test_shared_data import FILES, drawn, shared, verdicts
from tests.deploy import replicas

LIMIT = 10.0
"""Within which the scenario must be there again after a replica was lost. [s]"""
FAIL_TIMEOUT = 10.0
"""After which nginx asks a lost replica again. [s]"""
SUMMARY = "7B dense"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not replicas.NGINX, reason="nginx is not installed; `make test` installs it where it may"),
]


@pytest.fixture(scope="module")
def hosting(tmp_path_factory):
    with replicas.replicas(tmp_path_factory.mktemp("nginx")) as started:
        yield started


@pytest.fixture
def hosted(hosting):
    """Both replicas alive, and nginx aware of it."""
    if lost := [name for name, process in hosting.processes.items() if process.poll() is not None]:
        for name in lost:
            hosting.start(name)
        time.sleep(FAIL_TIMEOUT + 1)
    return hosting


@pytest.fixture(scope="module")
def chromium():
    with served.browser(replicas.CHROMIUM) as launched:
        yield launched


@pytest.fixture(scope="module")
def link(chromium, hosting):
    """A link with data, and with a model of its own."""
    page = chromium.new_context().new_page()
    return shared(page, hosting.address) + "&num_params=7e9"


def serving(context: BrowserContext) -> str:
    """Which replica has the session, as nginx told the browser."""
    return next(cookie["value"] for cookie in context.cookies() if cookie["name"] == "replica")


def seen(page: Page) -> tuple:
    """What stands on the page."""
    expect(page.get_by_text(SUMMARY).first).to_be_visible()
    return [drawn(page, name) for name in ("throughput", "convergence")], verdicts(page)


def again(page: Page, heard: list) -> None:
    """Wait until the page has been run by a server that answers on a new socket."""
    idle = '[data-testid=stApp][data-test-connection-state=CONNECTED][data-test-script-state="notRunning"]'
    until = time.monotonic() + 2 * LIMIT
    while len(heard) < 3:
        assert time.monotonic() < until, "the client did not ask for the page again"
        page.wait_for_timeout(20)
    page.wait_for_function(f"() => document.querySelector('{idle}')")
    served.settle(page)


def test_a_lost_replica_is_taken_over_with_scenario_data_edits_and_uploads(chromium, hosted, link, record_property):
    context = chromium.new_context()
    page = context.new_page()
    page.goto(link)
    served.settle(page)
    before, lost = seen(page), serving(context)
    assert all(points for traces in before[0] for trace in traces for points in trace)

    heard = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: heard.append(frame)))
    killed = time.monotonic()
    hosted.kill(lost)
    again(page, heard)
    took = time.monotonic() - killed
    record_property("seconds", took)
    assert took < LIMIT, "without a click: Streamlit's client reconnects and runs the page"
    assert serving(context) == ({"first", "second"} - {lost}).pop()
    assert seen(page) == before

    page.get_by_role("slider", name="MFU at the plateau").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.search.includes('mfu=0.72')")

    hosted.start(lost)
    time.sleep(FAIL_TIMEOUT + 1)
    page.locator("input[type=file]").set_input_files(FILES[0])
    expect(page.get_by_text("usable rows")).to_be_visible(timeout=20_000)
    assert serving(context) != lost, "the session stays where it lives"


@pytest.mark.parametrize("lost", ["first", "second"])
def test_a_visitor_reaches_the_other_replica_while_one_is_lost(chromium, hosted, link, lost):
    hosted.kill(lost)
    context = chromium.new_context()
    page = context.new_page()
    page.goto(link)
    served.settle(page)
    assert seen(page)[1] and serving(context) != lost


def walk(page: Page, address: str, query: str) -> None:
    """Open every page with all that is folded, load a sweep, and download a picture and a table."""
    for one in shell.PAGES:
        place = "" if one.path == "app.py" else one.path.removeprefix("pages/").removesuffix(".py")
        page.goto(f"{address}/{place}?{query}")
        served.settle(page)
        page.evaluate("() => document.querySelectorAll('[data-testid=stMain] summary').forEach(one => one.click())")
        served.settle(page)
        assert page.get_by_test_id("stException").count() == 0
    page.goto(f"{address}/upload")
    served.settle(page)
    page.locator("input[type=file]").set_input_files(FILES)
    expect(page.get_by_text("usable rows")).to_be_visible(timeout=20_000)
    page.get_by_text("Files: scenario with data").click()
    served.settle(page)
    page.locator(".js-plotly-plot").first.hover()
    for button in ("[data-title^='Download']", "[data-testid=stDownloadButton] button"):
        with page.expect_download() as received:
            page.locator(button).first.click()
        assert received.value.path().stat().st_size > 100


def test_no_page_upload_or_download_violates_the_policy(chromium, hosted, link):
    page = chromium.new_context().new_page()
    told = []
    page.on("console", lambda message: told.append(message.text))
    page.on("pageerror", lambda error: told.append(str(error)))
    walk(page, hosted.address, urlsplit(link).query)
    assert [text for text in told if "Content Security Policy" in text or "EvalError" in text] == []


def request(hosted, method: str, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", urlsplit(hosted.address).port, timeout=10)
    connection.request(method, path, headers={"Host": replicas.HOST, **headers})
    return connection.getresponse()


@pytest.mark.parametrize("path", ["/", "/throughput", "/_stcore/health", "/static/nothing.js"])
def test_every_answer_carries_the_headers(hosted, path):
    headers = request(hosted, "GET", path).headers
    policy = headers["Content-Security-Policy"]
    assert headers.get_all("X-Content-Type-Options") == ["nosniff"]
    assert headers.get_all("Referrer-Policy") == ["no-referrer"]
    assert "camera=()" in headers["Permissions-Policy"] and headers["Server"] == "nginx"
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy and "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1].split(";")[0]


@pytest.mark.parametrize("host, status", [(replicas.HOST, 101), ("elsewhere.example", 403)])
def test_a_socket_is_opened_under_an_allowed_host_only(hosted, host, status):
    handshake = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    handshake["Sec-WebSocket-Key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    assert request(hosted, "GET", "/_stcore/stream", **handshake | {"Host": host}).status == status


def test_a_body_over_the_limit_is_refused_unread(hosted):
    too_large = {"Content-Length": str(211 * 2**20)}
    assert request(hosted, "PUT", "/_stcore/upload_file/a/b", **too_large).status == 413


def test_the_log_has_no_scenario(hosted, link):
    written = hosted.log.read_text()
    assert "/upload" in written and "num_params" not in written and "data=" not in written
