"""The tables that a JSON value may hold, in the shapes in which people and tools write one.

A list of objects; an object of equal-length lists; pandas' orients split, index and columns; rows under a header row;
numbers under batch sizes as keys; any of these further down, with the scalars beside and above them in every row, and
with the keys of several alike in a column of their own.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from bsmath.sweeps import columns
from bsmath.sweeps.json_records import (
    MOST_COLUMNS,
    MOST_LEVELS,
    NAMED_BATCH,
    batch_keys,
    beside,
    cell,
    flat,
    is_scalar,
    meaning,
    named_batches,
    scalars,
    score,
    tuple_keys,
)
from bsmath.sweeps.json_text import clean

MOST_LOOKED = 20_000
"""Objects and lists in which tables are looked for."""

GROUP = "group"
"""Header of the column that holds the keys above several tables."""

VALUE = "value"
"""Header of numbers under batch sizes, of which no key says what they count."""


@dataclass(kw_only=True)
class Table:
    """Records of one kind."""

    blocks: list[dict]
    """Flat records; the lists in one are columns, and its scalars stand in each of their rows."""
    headers: dict[str, None] = field(init=False)
    """Union of their keys, in the order of the file."""

    def __post_init__(self):
        self.headers = {header: None for block in self.blocks for header in block}

    @property
    def rows(self) -> int:
        """Rows of all blocks."""
        return sum(map(block_rows, self.blocks))

    @property
    def score(self) -> int:
        """Of a batch and a result, how many the headers name."""
        return score(self.headers)


def block_rows(block: dict) -> int:
    """Rows of one record: the length of its lists, else one."""
    return next((len(value) for value in block.values() if isinstance(value, list)), 1)


def tables(value) -> list[Table]:
    """Every table in a value, those of the outer levels first."""
    return _tables(value, {}, 0, iter(range(MOST_LOOKED)))


def _tables(value, context: dict, depth: int, budget: Iterator) -> list[Table]:
    if depth > MOST_LEVELS or next(budget, None) is None:
        return []
    if isinstance(value, list):
        return _of_list(value, context, depth, budget)
    return _of_object(value, context, depth, budget) if isinstance(value, dict) else []


def _of_list(value: list, context: dict, depth: int, budget: Iterator) -> list[Table]:
    if len(value) > 1 and isinstance(value[0], list) and all(isinstance(each, str) for each in value[0]):
        return _headed(value[0], value[1:], context)
    records = [each for each in value if isinstance(each, dict)]
    blocks = [context | found for each in records if (found := flat(each))]
    own = [Table(blocks=blocks)] if blocks else []
    if own and own[0].score > 1:
        return own
    inner = [(None, table) for each in records for table in _children(each, context, depth, budget)]
    return own + _together(inner)


def _headed(header: list, rows: list, context: dict) -> list[Table]:
    """Rows under a header, as pandas' orient split and many scripts have them."""
    rows = [row for row in rows if isinstance(row, list) and len(row) == len(header) and all(map(is_scalar, row))]
    if not rows or not header or len(header) > MOST_COLUMNS or not all(map(is_scalar, header)):
        return []
    cells = zip(*rows, strict=True)
    named = {clean(str(name)): list(map(cell, each)) for name, each in zip(header, cells, strict=True)}
    return [Table(blocks=[context | named])]


def _of_object(value: dict, context: dict, depth: int, budget: Iterator) -> list[Table]:
    if isinstance(value.get("columns"), list) and isinstance(value.get("data"), list):
        return _headed(value["columns"], value["data"], context)
    record = flat(value)
    found = [Table(blocks=[context | record])] if record else []
    found += _sizes(value, context) + _by_column(value, context) + _by_row(value, context)
    return found + _children(value, context, depth, budget)


def _sizes(value: dict, context: dict) -> list[Table]:
    """Numbers under batch sizes as keys; what they count the file does not say here."""
    if not value or not all(map(is_scalar, value.values())):
        return []
    sizes = batch_keys(list(value))
    keys = _parted(list(value)) if sizes is None else {"batch": sizes}
    if "batch" not in keys:
        return []
    return [Table(blocks=[context | keys | {VALUE: list(map(cell, value.values()))}])]


def _by_column(value: dict, context: dict) -> list[Table]:
    """An object of objects over the same keys, of which the outer ones are headers."""
    inner = {clean(key): each for key, each in value.items() if isinstance(each, dict) and each}
    if not inner or len(inner) > MOST_COLUMNS or not score(inner):
        return []
    if not all(is_scalar(item) for each in inner.values() for item in each.values()):
        return []
    keys = list(dict.fromkeys(key for each in inner.values() for key in each))
    found = {name: [cell(each.get(key)) for key in keys] for name, each in inner.items()}
    return [Table(blocks=[context | scalars(value) | _key_column(keys, found) | found])]


def _by_row(value: dict, context: dict) -> list[Table]:
    """An object of objects that are records; their keys may be the batch."""
    inner = {key: flat(each) for key, each in value.items() if isinstance(each, dict) and each}
    if not inner or not all(inner.values()):
        return []
    named = _key_column(list(inner), {header: None for each in inner.values() for header in each})
    context = context | scalars(value)
    blocks = [context | {name: named[name][i] for name in named} | each for i, each in enumerate(inner.values())]
    return [Table(blocks=blocks)]


def _key_column(keys: list[str], headers) -> dict[str, list]:
    """The keys over records as a column: the batch where no header is one and they are numbers, else a name."""
    if keys == list(map(str, range(len(keys)))):
        return {}
    has_batch = any(meaning(header) in columns.BATCHES for header in list(headers)[:MOST_COLUMNS])
    sizes = None if has_batch else batch_keys(keys)
    if sizes is None:
        return ({} if has_batch else _parted(keys)) or {GROUP: list(map(clean, keys))}
    return {"batch": sizes}


def _parted(keys: list[str]) -> dict[str, list]:
    """Columns of keys that are tuples, of which the only one of numbers is the batch, or that name a batch among other words."""
    parts, sizes = tuple_keys(keys), named_batches(keys)
    if parts is None or sizes is not None:
        return {} if sizes is None else {"batch": sizes, GROUP: [_without_batch(key) for key in keys]}
    columns_ = [list(each) for each in zip(*parts, strict=True)]
    sizes = [batch_keys(each) for each in columns_]
    counted = [position for position, each in enumerate(sizes) if each is not None]
    found: dict[str, list] = {
        f"{GROUP} {position}": list(map(clean, each)) for position, each in enumerate(columns_, start=1)
    }
    if len(counted) == 1 and len(columns_) > 1:
        found = {"batch": sizes[counted[0]]} | {
            name: each for name, each in found.items() if name != f"{GROUP} {counted[0] + 1}"
        }
    return found


def _without_batch(key: str) -> str:
    """What a key says beside its batch."""
    return clean(NAMED_BATCH.sub("", key[:300])).strip(" _-=:,") or "all"


def _children(value: dict, context: dict, depth: int, budget: Iterator) -> list[Table]:
    """The tables of the objects and lists in an object, each with the scalars beside it."""
    inner = {key: each for key, each in value.items() if not is_scalar(each)}
    if not inner:
        return []
    context = context | beside(value)
    found = [
        (clean(key), _named(table, clean(key)))
        for key, each in inner.items()
        for table in _tables(each, context, depth + 1, budget)
    ]
    return _together(found)


def _named(table: Table, key: str) -> Table:
    """Values over batch sizes take the name of the key above them where that says what they are."""
    if VALUE not in table.headers or meaning(key) in (None, "text", "result", "model", "hardware", "precision"):
        return table
    renamed = {VALUE: key}
    return Table(blocks=[{renamed.get(name, name): each for name, each in block.items()} for block in table.blocks])


def _together(found: list[tuple[str | None, Table]]) -> list[Table]:
    """Tables that are alike as one, told apart by the keys above them."""
    alike: dict = {}
    for key, table in found:
        alike.setdefault("sweep" if table.score > 1 else frozenset(table.headers), []).append((key, table))
    return [each[0][1] if len(each) == 1 else _merged(each) for each in alike.values()]


def _merged(found: list[tuple[str | None, Table]]) -> Table:
    headers = {header for _, table in found for header in table.headers}
    name = next(name for name in (GROUP, *(f"{GROUP} {n}" for n in range(2, 99))) if name not in headers)
    blocks = [({} if key is None else {name: key}) | block for key, table in found for block in table.blocks]
    return Table(blocks=blocks)
