"""Settings in Python source, read from its syntax tree; nothing is run.

Literals, arithmetic of numbers (`5 * 8`), int() and float(), dict() and names that the text assigned before are
understood; whatever else stands there is UNREAD, and a call of anything else is that Call.
"""

import ast
import operator
from dataclasses import dataclass

from bsmath.exports.values import LARGEST, UNREAD

DEEPEST = 50
"""Nested expressions beyond this are not read."""
_OPERATORS = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """One call in the text."""

    name: str
    """Last part of what is called: `tokens` of Duration.tokens(...)."""
    arguments: list
    """Positional values."""
    keywords: dict
    """Named values."""
    line: int = 0
    """Line of the text."""


@dataclass(frozen=True)
class Source:
    """What a text assigns and calls."""

    assigned: dict
    """Values by name; the last counts."""
    calls: list[Call]
    """Calls as they stand in the tree."""


def parse(text: str) -> Source:
    """Assignments and calls of the text; a ValueError where it is no Python."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError("the text must be Python source, got something that does not parse") from None
    source = Source({}, [])
    nodes = list(ast.walk(tree))
    for node in nodes:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    source.assigned[target.id] = value_of(node.value, source.assigned)
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(call := _call(node, source.assigned, 0), Call):
            source.calls.append(call)
    return source


def value_of(node, names: dict, depth: int = 0):
    """Value of an expression, or UNREAD."""
    below = depth + 1
    if depth > DEEPEST:
        return UNREAD
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id, UNREAD)
    if isinstance(node, (ast.Tuple, ast.List)):
        return [value_of(item, names, below) for item in node.elts]
    if isinstance(node, ast.Dict):
        return {
            k.value: value_of(v, names, below) for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant)
        }
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _combined(operator.sub, 0, value_of(node.operand, names, below))
    if isinstance(node, ast.BinOp):
        left, right = value_of(node.left, names, below), value_of(node.right, names, below)
        return (
            _power(left, right)
            if isinstance(node.op, ast.Pow)
            else _combined(_OPERATORS.get(type(node.op)), left, right)
        )
    if isinstance(node, ast.Call):
        return _call(node, names, below)
    return UNREAD


def _call(node: ast.Call, names: dict, depth: int):
    name = _called(node)
    if name == "dict":
        return {word.arg: value_of(word.value, names, depth) for word in node.keywords if word.arg}
    if name in ("int", "float") and len(node.args) == 1:
        value = value_of(node.args[0], names, depth)
        return (int if name == "int" else float)(value) if _number(value) else UNREAD
    keywords = {word.arg: value_of(word.value, names, depth) for word in node.keywords if word.arg}
    return Call(name or "", [value_of(argument, names, depth) for argument in node.args], keywords, node.lineno)


def _combined(operation, left, right):
    try:
        value = operation(left, right) if operation and _number(left) and _number(right) else UNREAD
    except (ArithmeticError, ValueError):
        return UNREAD
    return value if _number(value) else UNREAD


def _power(base, exponent):
    small = _number(base) and _number(exponent) and abs(base) <= 1e6 and 0 <= exponent <= 60
    return _combined(operator.pow, base, exponent) if small else UNREAD


def _number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST


def _called(node: ast.Call) -> str | None:
    return getattr(node.func, "id", None) or getattr(node.func, "attr", None)
