"""Reader of tables drawn with pipes (Markdown, or boxes of a terminal), several to a document.

Tables of one header are one table, told apart by the heading above each; of several headers the one that names a batch
and a result counts, and of several such the one with the most rows.
"""

import re
from collections import defaultdict

import numpy as np
import pandas as pd

from bsmath.sweeps import cells, columns, layout, marks
from bsmath.sweeps.model import Problem, RawTable, SweepError

SECTION = "section"
"""Header of the column that holds the headings, where there are several."""

MOST_ABOVE = 12
"""Lines above a table in which its batch is looked for."""
MOST_READ = 1000
"""Characters of each."""

_BOX = str.maketrans("│┃║", "|||")
_RULE = re.compile(r"\s*[|+├┌└╞╘╒┏┗┡]?[\s|+:=\-─━═┼╪┬┴┤┐┘╡╕╛┓┛┩╇┳┻╤╧]*\s*")
_MARKUP = ((re.compile(r"<br\s*/?>"), " "), (re.compile(r"\[([^\]]*)\]\([^)]*\)"), r"\1"), (re.compile(r"\*\*|`"), ""))
_STATED = {
    "local batch size": re.compile(
        r"(?i)\b(?:local|micro|per[- ](?:gpu|device))[- ]batch(?:[- ]size)?\W{0,3}(?:of |is |was )?(\d{1,9})\b"
    ),
    "global batch size": re.compile(r"(?i)\bglobal[- ]batch(?:[- ]size)?\W{0,3}(?:of |is |was )?(\d[\d,]{0,12})\b"),
    "batch size": re.compile(r"(?i)(?<![a-z] )(?<![a-z]-)\bbatch[- ]size\W{0,3}(?:of |is |was )?(\d[\d,]{0,12})\b"),
    "sequence length": re.compile(
        r"(?i)\b(?:sequence|context|seq)[- ]len(?:gth)?\W{0,3}(?:of |is |was )?(\d[\d,]{0,12})\b"
    ),
    "num_gpus": re.compile(r"(?i)\b(\d{1,6}) ?(?:x )?(?:[a-z]+[- ])?(?:gpus|[ahbv]\d{2,3}s?)\b"),
}
"""What a text above a table states of all its rows, as the headers of the columns that hold it."""

SAMPLE = 60
"""Rows that tell the decimal mark."""

_TABLE_LINE = re.compile(r"^[ \t]*[|│┃║].*[|│┃║][ \t]*$", re.MULTILINE)


def recognizes(head: str) -> bool:
    """Whether two lines at the beginning start and end with a pipe."""
    return len(_TABLE_LINE.findall(head)) > 1


def read(data: bytes, name: str, decimal: str | None = None) -> RawTable:
    """The rows under the header of a sweep that has the most of them."""
    tables = _tables(data.decode().translate(_BOX))
    if not tables:
        raise SweepError(f"{name} must have rows below the header line, got the header alone")
    header = max(tables, key=lambda each: (_score(each), len(tables[each])))
    kept, problems = [], []
    for number, section, fields in tables[header]:
        if len(fields) == len(header):
            kept.append((number, section, fields))
        else:
            what = f"the row has {len(fields)} fields where the header has {len(header)}"
            problems.append(Problem(row=number, column=None, what=what, action="row left out"))
    others = sum(len(rows) for each, rows in tables.items() if each != header)
    if others:
        what = f"the document has {len(tables) - 1} more tables with other columns"
        problems.append(Problem(row=None, column=None, what=what, action=f"their {others} rows were left out"))
    rows = np.array([each[0] for each in kept], int)
    frame, said = _with_stated(_frame(header, kept), data.decode().split("\n"), rows)
    mark, questions = (
        (decimal, ()) if decimal else marks.decimal("|", list(header), [each[2] for each in kept[:SAMPLE]])
    )
    return RawTable(frame=frame, rows=rows, decimal=mark, questions=questions, problems=(*problems, *said))


def _with_stated(frame: pd.DataFrame, lines: list[str], rows: np.ndarray) -> tuple[pd.DataFrame, list[Problem]]:
    """A table without a batch with what the text above it states of its batch, in columns of their own; said as a problem each, as
    it is a reading of prose."""
    known = {columns.recognize(str(header), is_number=True).meaning for header in frame}
    one_table = len(rows) > 0 and rows[-1] - rows[0] == len(rows) - 1
    if known & columns.BATCHES or not known & columns.RESULTS or not one_table:
        return frame, []
    known |= {"num_devices"} if "num_nodes" in known else set()
    first = rows[0] - 1
    while first > 0 and _TABLE_LINE.match(lines[first - 1]):
        first -= 1
    above = [
        (number, line[:MOST_READ])
        for number, line in enumerate(lines[max(first - MOST_ABOVE, 0) : first], start=max(first - MOST_ABOVE, 0) + 1)
    ]
    tabled = [place for place, (_, line) in enumerate(above) if _TABLE_LINE.match(line)]
    above = above[tabled[-1] + 1 :] if tabled else above
    stated = {}
    for header, pattern in _STATED.items():
        meaning = columns.recognize(header, is_number=True).meaning
        for number, line in reversed(above):
            if meaning not in known and header not in stated and (match := pattern.search(line)):
                stated[header] = (number, match[1].replace(",", ""))
    if not any(columns.recognize(header, is_number=True).meaning in columns.BATCHES for header in stated):
        return frame, []
    said = [
        Problem(
            row=number,
            column=header,
            what=f"the text above the table says {header} {value}",
            action="taken for every row; correct it if it is another",
        )
        for header, (number, value) in stated.items()
        if cells.is_number(value)
    ]
    return frame.assign(**{header: value for header, (_, value) in stated.items() if header not in frame}), said


def _score(header: tuple[str, ...]) -> int:
    return columns.score(columns.recognize(each, is_number=True).meaning for each in header)


def _frame(header: tuple[str, ...], kept: list) -> pd.DataFrame:
    names = layout.unique(list(header))
    frame = pd.DataFrame([fields for _, _, fields in kept], columns=list(names), dtype=object)
    if len({section for _, section, _ in kept}) > 1 and SECTION not in names:
        frame[SECTION] = [section for _, section, _ in kept]
    return frame


def _tables(text: str) -> dict[tuple[str, ...], list[tuple[int, str, list[str]]]]:
    """Rows (line, heading, fields) by header."""
    tables = defaultdict(list)
    section, header, lines = "", None, text.split("\n")
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            section = line.lstrip("# ").strip()
        if not _TABLE_LINE.match(line):
            header = header if _RULE.fullmatch(line) and line.strip() else None
        elif not _RULE.fullmatch(line):
            fields = _fields(line)
            if (
                header is None
                or number < len(lines)
                and "-" in lines[number]
                and _RULE.fullmatch(lines[number])
                and _starts(lines, number)
            ):
                header = tuple(fields)
            else:
                tables[header].append((number, section, fields))
    return tables


def _starts(lines: list[str], number: int) -> bool:
    """Whether the rule below this line is a Markdown one, which only a header has; boxes may rule every row."""
    return lines[number].lstrip().startswith("|") and "+" not in lines[number]


def _fields(line: str) -> list[str]:
    for pattern, text in _MARKUP:
        line = pattern.sub(text, line)
    return [field.strip() for field in re.split(r"(?<!\\)\|", line.strip()[1:-1])]
