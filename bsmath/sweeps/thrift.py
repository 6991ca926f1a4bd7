"""Structs in Thrift's compact protocol, in which the metadata of Parquet files are written.

Reference: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
"""

DEEPEST = 12
"""Structs and lists within each other that are read."""
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 1, 2, 3, 7, 8, 9, 10, 12
WHOLE = (4, 5, 6)
"""Types of whole numbers of 16, 32 and 64 bits."""


def struct(data: bytes, position: int, depth: int = DEEPEST) -> tuple[dict[int, object], int]:
    """The fields of a struct by their number, and where it ends.

    Whole numbers come as int, texts as bytes, lists and structs as such; what else there is as None.

    Raises
    ------
    ValueError
        Where there is no such struct.
    """
    found: dict[int, object] = {}
    field = 0
    while header := _byte(data, position):
        position += 1
        if header >> 4:
            field += header >> 4
        else:
            field, position = _number(data, position)
        if header & 15 not in (TRUE, FALSE):
            found[field], position = _value(data, position, header & 15, depth)
    return found, position + 1


def _value(data: bytes, position: int, kind: int, depth: int) -> tuple[object, int]:
    if kind in WHOLE:
        return _number(data, position)
    if kind in (TRUE, FALSE, BYTE, DOUBLE):  # in a list a truth takes a byte
        return None, position + (8 if kind == DOUBLE else 1)
    if kind == BINARY:
        length, position = _varint(data, position)
        if length > len(data) - position:
            raise ValueError(f"text must end before the file, got {length:,} bytes")
        return data[position : position + length], position + length
    if kind == STRUCT and depth:
        return struct(data, position, depth - 1)
    if kind in (LIST, SET) and depth:
        return _list(data, position, depth - 1)
    raise ValueError(f"field must be a number, text, list or struct, got type {kind}")


def _list(data: bytes, position: int, depth: int) -> tuple[list, int]:
    header, found = _byte(data, position), []
    count, position = header >> 4, position + 1
    if count == 15:
        count, position = _varint(data, position)
    if count > len(data) - position:
        raise ValueError(f"list must end before the file, got {count:,} entries")
    for _ in range(count):
        value, position = _value(data, position, header & 15, depth)
        found.append(value)
    return found, position


def _number(data: bytes, position: int) -> tuple[int, int]:
    value, position = _varint(data, position)
    return value >> 1 ^ -(value & 1), position


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = _byte(data, position)
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
    raise ValueError("number must have at most 10 bytes, got more")


def _byte(data: bytes, position: int) -> int:
    if not 0 <= position < len(data):
        raise ValueError("struct must end before the file, got its end")
    return data[position]
