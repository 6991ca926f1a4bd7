"""Two servers of this checkout behind a real nginx with the configuration of deploy/, for the tests of hosting."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.browser import served

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
HOST = "batch.example"
"""A name that is not localhost, which Streamlit lets in unasked; to be resolved by `CHROMIUM`."""
CHROMIUM = f"--host-resolver-rules=MAP {HOST} 127.0.0.1"
AROUND = """
daemon off; worker_processes 1; pid {folder}/pid; error_log stderr crit;
events {{ worker_connections 256; }}
http {{
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  include {folder}/bsmath.conf;
}}
"""
"""What the nginx of a machine or an image has around the part of deploy/."""


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Two servers and the nginx before them."""

    address: str
    """Where a browser goes."""
    ports: dict[str, int]
    """Port of each replica, by the name that nginx knows."""
    log: Path
    """What nginx writes."""
    stack: ExitStack
    """Stops what was started."""
    processes: dict[str, subprocess.Popen] = field(default_factory=dict)
    """Process of each replica."""

    def start(self, name: str) -> None:
        """Start this replica."""
        allowed = {"STREAMLIT_SERVER_ALLOWED_HOSTS": f"localhost {HOST}"}
        self.processes[name] = self.stack.enter_context(served.process(self.ports[name], **allowed))

    def kill(self, name: str) -> None:
        """End this replica at once, as a lost machine would."""
        self.processes[name].kill()
        self.processes[name].wait(10)


@contextmanager
def replicas(folder: Path, frame_ancestors: str = "'none'") -> Iterator[Replicas]:
    """Start nginx and both replicas; nginx first, since it must do without them."""
    port, *ports = (served.free_port() for _ in range(3))
    values = {
        "LISTEN": f"127.0.0.1:{port}",
        "FIRST": f"127.0.0.1:{ports[0]}",
        "SECOND": f"127.0.0.1:{ports[1]}",
        "FRAME_ANCESTORS": frame_ancestors,
        "COOKIE": "SameSite=Lax",
    }
    (folder / "nginx.conf").write_text(AROUND.format(folder=folder))
    (folder / "bsmath.conf").write_text(filled(values))
    log = folder / "log"
    with ExitStack() as stack:
        output = stack.enter_context(log.open("w"))
        nginx = subprocess.Popen([NGINX, "-c", folder / "nginx.conf", "-p", folder], stdout=output, stderr=output)
        stack.callback(nginx.wait, 10)
        stack.callback(nginx.terminate)
        started = Replicas(
            address=f"http://{HOST}:{port}", ports=dict(zip(("first", "second"), ports)), log=log, stack=stack
        )
        for name in started.ports:
            started.start(name)
        served.wait(f"http://localhost:{port}/_stcore/health", nginx)
        yield started


def filled(values: dict[str, str]) -> str:
    """The configuration as `envsubst` would fill it in: these names in braces and nothing else."""
    text = (served.ROOT / "deploy/nginx.conf").read_text()
    for name, value in values.items():
        text = text.replace("${" + name + "}", value)
    return text
