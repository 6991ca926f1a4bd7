"""Flags of a command line or of a shell script: `--name value`, `--name=value`, `--name: value` and `--name` alone.

Nothing is expanded: a value with a `$` stays as it is. Text in quotes that holds flags (`ARGS="--lr 1e-4 ..."`) is
looked into.
"""

import re
import shlex

_CONTINUED = re.compile(r"\\[ \t]*\r?\n")
_AROUND = "()[]{},;'\""


def parse(text: str) -> dict[str, str | None]:
    """Values by flag, named with hyphens and without the leading ones; None for a flag alone; the last of "
    "several counts."""
    words, found, name = _words(text), {}, None
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = name.rstrip(":").replace("_", "-")
            found[name] = _bare(value) if equals else None
            name = None if equals else name
        elif name is not None:
            found[name], name = _bare(word), None
    return found


def world_size(flags: dict[str, str | None]) -> int | None:
    """Processes that torchrun starts, where its flags are in the text."""
    counts = [flags.get("nproc-per-node"), flags.get("nnodes", "1")]
    return int(counts[0]) * int(counts[1]) if all(c and re.fullmatch(r"[1-9]\d{0,5}", c) for c in counts) else None


def _words(text: str) -> list[str]:
    words = []
    for line in _CONTINUED.sub(" ", text).splitlines():
        try:
            parts = shlex.split(line, comments=True)
        except ValueError:  # quotes that do not close on their line
            parts = line.split()
        for part in parts:
            words += part.replace("=", " ", 1).split() if "--" in part and not part.startswith("--") else [part]
    return [word.lstrip("([{'\"") if "--" in word else word for word in words]


def _bare(value: str) -> str:
    return value if "$" in value else value.strip(_AROUND)
