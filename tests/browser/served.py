"""A cold server of this checkout and a headless Chromium, for the browser tests, the benchmark and the screenshots."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parent.parent.parent
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def server(script: str = "app.py", folder: Path = ROOT) -> Iterator[str]:
    """Start the dashboard on a free port and yield its address."""
    port = free_port()
    with process(port, script, folder):
        yield f"http://localhost:{port}"


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def process(port: int, script: str = "app.py", folder: Path = ROOT, **environment: str) -> Iterator[subprocess.Popen]:
    """Start the dashboard on this port, with these environment variables, and yield its process."""
    command = [sys.executable, "-m", "streamlit", "run", script, f"--server.port={port}", "--server.headless=true"]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = subprocess.Popen(command, cwd=folder, env=os.environ | environment, **quiet)
    try:
        wait(f"http://localhost:{port}/_stcore/health", started)
        yield started
    finally:
        started.terminate()
        started.wait(20)


def wait(health: str, process: subprocess.Popen) -> None:
    """Wait until the started server answers there."""
    for _ in range(200):
        if process.poll() is not None:
            raise RuntimeError(f"the server stopped with code {process.returncode}")
        try:
            urllib.request.urlopen(health, timeout=2)
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("the server did not answer within 20 s")


@contextmanager
def browser(*more: str) -> Iterator[Browser]:
    """A headless Chromium, with more flags."""
    with sync_playwright() as play:
        launched = play.chromium.launch(executable_path=CHROMIUM, args=[*FLAGS, *more])
        try:
            yield launched
        finally:
            launched.close()


DRAWN = """(() => {
  const charts = [...document.querySelectorAll('[data-testid=stPlotlyChart]')]
  const tables = [...document.querySelectorAll('summary')].filter(one => one.textContent.includes('Data of this chart'))
  return charts.length >= tables.length && charts.every(chart => chart.querySelector('.main-svg'))
})()"""
"""Whether every chart is drawn: below each stands its table."""


def settle(page: Page) -> None:
    """Wait until the script has run and every chart is drawn."""
    page.get_by_role("heading", level=2).first.wait_for(timeout=30_000)
    page.wait_for_function(
        f"() => !document.querySelector('[data-testid=stStatusWidget], [data-testid=stSkeleton]') && {DRAWN}",
        timeout=30_000,
    )
    page.wait_for_timeout(150)
