"""Keeps what a method of a record has computed, as long as the record lives: a page asks again at every step of a slider."""

from collections.abc import Callable
from functools import wraps


def kept(method: Callable) -> Callable:
    """The method, computed once for each choice of its arguments; what it returns is shared and must not be changed."""

    @wraps(method)
    def once(record, *arguments, **named):
        memory = record.__dict__.setdefault("_kept", {})
        asked = (method.__name__, arguments, *sorted(named.items()))
        if asked not in memory:
            memory[asked] = method(record, *arguments, **named)
        return memory[asked]

    return once
