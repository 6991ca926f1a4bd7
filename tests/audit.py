"""Known vulnerabilities of what the dashboard runs on: `python -m tests.audit` (or `make audit`).

pip-audit looks the installed run-time packages up (those of requirements.txt and what they bring along), first in PyPI's advisories, then,
for what was not answered there, in OSV. Alone it says "No known vulnerabilities found" also of packages that no service knew; here these are
named. The exit code is 1 where something was found, and 0 else, also where nothing could be checked: then the last line says so.
"""

import json
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from tests import licences

SERVICES = {"pypi": "PyPI", "osv": "OSV"}
"""Services of pip-audit in the order in which they are asked."""
PATIENCE = 15
"""Seconds until a service counts as not reached."""


def installed() -> dict[str, str]:
    """Version by name of every run-time package but this project's own."""
    own = set(licences.OWN.values())
    return {name: metadata.version(name) for name in sorted(licences.closure()) if name not in own}


def asked(packages: dict[str, str], service: str) -> dict | str:
    """What pip-audit reports of packages; where it reports nothing, the last that it said."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text("".join(f"{name}=={version}\n" for name, version in packages.items()))
        options = f"--no-deps --disable-pip --progress-spinner off --format json --timeout {PATIENCE} --vulnerability-service {service}"
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(path), *options.split()]
        done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return (done.stderr.strip().split("\n")[-1] or "no answer")[:200]


def answered(report: dict | str) -> dict[str, list[dict]]:
    """The vulnerabilities of each package that a service knows; a package without an answer is not in it."""
    found = () if isinstance(report, str) else report["dependencies"]
    return {one["name"]: one.get("vulns", []) for one in found if "skip_reason" not in one}


def told(
    packages: dict[str, str], known: dict[str, dict[str, list[dict]]], missed: dict[str, str]
) -> tuple[list[str], bool]:
    """What to print, and whether anything was found.

    Parameters
    ----------
    packages : dict
        Version by name.
    known : dict
        By service, what it answered.
    missed : dict
        By service that did not answer at all, what was said instead.
    """
    said, found, checked = [], False, set()
    for service, answers in known.items():
        for name, vulnerabilities in answers.items():
            checked.add(name)
            for one in vulnerabilities:
                found = True
                fixed = ", ".join(one.get("fix_versions", ())) or "no version"
                said.append(f"{name} {packages.get(name, '')}: {one['id']} ({SERVICES[service]}), fixed in {fixed}")
    said += [f"{SERVICES[service]} did not answer: {why}" for service, why in missed.items()]
    if left := [f"{name} {version}" for name, version in packages.items() if name not in checked]:
        said.append(f"NOT CHECKED, as no service answered for them: {', '.join(left)}.")
    verdict = "Vulnerabilities were found" if found else "No known vulnerability" if checked else "Nothing was checked"
    said.append(f"{verdict}: {len(checked)} of {len(packages)} run-time packages were looked up.")
    return said, found


def main() -> int:
    """Ask, print, and tell whether anything was found."""
    packages = installed()
    known, missed, left = {}, {}, packages
    for service in SERVICES:
        if left:
            report = asked(left, service)
            known[service] = answered(report)
            missed |= {service: report} if isinstance(report, str) else {}
            left = {name: version for name, version in left.items() if name not in known[service]}
    said, found = told(packages, known, missed)
    print("\n".join(said))
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
