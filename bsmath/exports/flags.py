"""Flags of a command line or of a shell script: `--name value`, `--name=value`, `--name: value` and `--name` alone.

Nothing is expanded but `$NAME` and `${NAME}` of a plain `NAME=8` in the same text; any other value with a `$` stays as
it is. Text in quotes that holds flags (`ARGS="--lr 1e-4 ..."`) is looked into.
"""

import re
import shlex

_CONTINUED = re.compile(r"\\[ \t]*\r?\n")
_ASSIGNED = re.compile(
    r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w{0,60})=(['\"]?)(\w[\w.+-]{0,60})\2[ \t]*;?[ \t]*(?:#.*)?$", re.MULTILINE
)
_NAMED = re.compile(r"\$(?:\{(\w{1,60})\}|(\w{1,60}))")
_AROUND = "()[]{},;'\""


def parse(text: str) -> dict[str, str | None]:
    """Values by flag, named with hyphens and without the leading ones; None for a flag alone; of several the last."""
    words, found, name = _words(text), {}, None
    for word in words:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            name = name.rstrip(":").replace("_", "-")
            found[name] = _bare(value) if equals else None
            name = None if equals else name
        elif name is not None:
            found[name], name = _bare(word), None
    variables = assignments(text)
    return {flag: _put_in(value, variables) for flag, value in found.items()}


def assignments(text: str) -> dict[str, str]:
    """Shell variables that the text sets to one plain number or word; one that it sets twice differently is none."""
    found = {}
    for match in _ASSIGNED.finditer(text):
        found.setdefault(match[1], set()).add(match[3])
    return {name: next(iter(literals)) for name, literals in found.items() if len(literals) == 1}


def substituted(text: str) -> str:
    """The text with the values of those variables in their places."""
    variables = assignments(text)
    return _NAMED.sub(lambda match: variables.get(match[1] or match[2], match[0]), text)


def world_size(flags: dict[str, str | None]) -> int | None:
    """Processes that torchrun, accelerate or deepspeed starts, where its flags are in the text."""
    for counts in (("nproc-per-node", "nnodes"), ("num-processes",), ("num-gpus", "num-nodes")):
        if counts[0] in flags:
            sizes = [flags.get(counts[0]), *(flags.get(name, "1") for name in counts[1:])]
            whole = all(size and re.fullmatch(r"[1-9]\d{0,5}", size) for size in sizes)
            return int(sizes[0]) * int(sizes[-1] if len(sizes) > 1 else 1) if whole else None
    return None


def _put_in(value: str | None, variables: dict[str, str]) -> str | None:
    if value is None or "$" not in value:
        return value
    return _bare(_NAMED.sub(lambda match: variables.get(match[1] or match[2], match[0]), value))


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
