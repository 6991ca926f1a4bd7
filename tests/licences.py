"""What the dashboard runs on and under which licences: `python -m tests.licences` (or `make licences`) writes docs/licences.md.

The packages of requirements.txt have fixed versions; what they bring along has not, so it is listed by name. Names, versions and licences
are those of the installed packages' own metadata.
"""

import re
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
REQUIREMENTS = ROOT / "requirements.txt"
FILE = ROOT / "docs" / "licences.md"
OWN = {"./chart_component": "bsmath-chart"}
"""Packages of this project by their line in requirements.txt."""
LICENCES = {
    "BSD License": "BSD",
    "3-Clause BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
    "Apache Software License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
"""Short names of licences that a package does not state by one."""
COPYLEFT = re.compile(r"\bA?GPL\b|(?<!Lesser )General Public", re.IGNORECASE)
"""What the licence of no run-time package may say; the Lesser GPL is not meant."""
HEAD = """\
# Licences of what the dashboard runs on

Written by `make licences` from the installed packages' metadata; a test compares it with `requirements.txt`. The dashboard itself is under
Apache-2.0.

| package | version | licence |
|---|---|---|
"""
BROUGHT = """
They bring along, in versions that are not fixed here:

| package | licence | for |
|---|---|---|
"""
FOOT = """
A wheel may hold more than its package: those of numpy and scipy for Linux carry the GCC run-time libraries libgfortran (GPL with the run-time
library exception, which leaves programs that use it free) and libquadmath (LGPL), as their licence files say. plotly carries plotly.js (MIT),
which the chart component copies when it is built. Packages for tests and for the harness (`requirements-dev.txt`, `requirements-bench.txt`)
are not listed: nobody who opens the dashboard receives or runs them.
"""


def lines(path: Path = REQUIREMENTS) -> list[str]:
    """Requirements of a file without comments."""
    found = (re.sub(r"(^|\s)#.*", "", line).strip() for line in path.read_text(encoding="utf-8").splitlines())
    return [line for line in found if line]


def pinned() -> dict[str, str]:
    """Version by package, as requirements.txt fixes them; a package of this project has no version there."""
    found = {}
    for line in lines():
        if line not in OWN:
            required = Requirement(line)
            (exact,) = required.specifier
            found[canonicalize_name(required.name)] = exact.version if exact.operator == "==" else str(exact)
    return found


def closure() -> dict[str, set[str]]:
    """Every package of the requirements and what they bring along on this machine, with the packages that ask for it."""
    found: dict[str, set[str]] = {name: set() for name in (*pinned(), *map(canonicalize_name, OWN.values()))}
    wanted: list[tuple[str, frozenset[str]]] = [(name, frozenset()) for name in found]
    done = set()
    while wanted:
        name, extras = wanted.pop()
        if (name, extras) in done:
            continue
        done.add((name, extras))
        for required in _needs(name, extras):
            other = canonicalize_name(required.name)
            found.setdefault(other, set()).add(name)
            wanted.append((other, frozenset(required.extras)))
    return found


def _needs(name: str, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in metadata.requires(name) or ():
        required = Requirement(text)
        environments = [{"extra": extra} for extra in ("", *extras)]
        if required.marker is None or any(required.marker.evaluate(each) for each in environments):
            yield required


def licence(name: str) -> str:
    """What a package's metadata say of its licence; empty where they say nothing."""
    said = metadata.metadata(name)
    if expression := said.get("License-Expression"):
        return expression
    classified = [line.split(" :: ")[-1] for line in said.get_all("Classifier") or () if line.startswith("License ::")]
    named = [each for each in classified if each != "OSI Approved"] or [(said.get("License") or "").strip()]
    return " or ".join(LICENCES.get(each, each.split("\n")[0][:60]) for each in named)


def text() -> str:
    """The list as Markdown."""
    versions, every = pinned(), closure()
    own = set(map(canonicalize_name, OWN.values()))
    first = [f"| {name} | {versions[name]} | {licence(name)} |" for name in sorted(versions)]
    others = sorted(set(every) - set(versions) - own)
    second = [f"| {name} | {licence(name)} | {', '.join(sorted(every[name]))} |" for name in others]
    return HEAD + "\n".join(first) + "\n" + BROUGHT + "\n".join(second) + "\n" + FOOT


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    print(f"{FILE.relative_to(ROOT)}: {len(closure())} packages")
