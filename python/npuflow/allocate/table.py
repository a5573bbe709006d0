"""Buffers as a CSV file has them, one in each row; what is wrong with a file is said all at once, by its lines."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from npuflow.allocate.problem import LiveBuffer, live_bytes
from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, with_hint
from npuflow.files import read_bytes

OFFSET = "offset"

_REQUIRED = ("id", "lower", "upper", "size")
_ALIGNMENT = "alignment"
_MOST_FILE_BYTES = 1 << 28
_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")
_MOST = 2**63 - 1
_LEAST = -(2**63)
# What the search can add up.
_MOST_TOGETHER = 1 << 60
_FORMAT = "the first line names the columns id, lower, upper and size; alignment may be one more"


@dataclass(frozen=True)
class BufferTable:
    """A file's columns and rows as they are written, and what they mean; `lines` says where each row ends."""

    file: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    buffers: tuple[LiveBuffer, ...]


def read_table(path: str) -> BufferTable:
    """The buffers of a file; raises InputError with everything that is wrong with it."""
    try:
        text = read_bytes(path, _MOST_FILE_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(with_hint(f"cannot read '{path}': it is no text in UTF-8", "give a CSV file")) from error
    return parse_table(text, path)


def parse_table(text: str, name: str) -> BufferTable:
    """The buffers of CSV text that is called `name` in messages; raises InputError."""
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        header = tuple(column.strip() for column in next(reader, ()))
        _check_header(header, name)
        numbered = [(reader.line_num, tuple(row)) for row in reader if row]
    except csv.Error as error:
        raise _refused(f"this is no CSV: {error}", None, name, reader.line_num) from error
    if not numbered:
        raise _refused("there are no buffers below the first line", "give each a row", name, 1)
    problems: list[Diagnostic] = []
    buffers, seen = [], dict[str, int]()
    for line, row in numbered:
        wrong = list(_problems(dict(zip(header, row)), len(row) - len(header), seen))
        problems += [Diagnostic(Severity.ERROR, problem, SourceLocation(name, line)) for problem in wrong]
        if not wrong:
            buffers.append(_buffer(dict(zip(header, row))))
            seen[buffers[-1].name] = line
    if problems:
        raise InputError(problems)
    lines, rows = zip(*numbered)
    _check_total(buffers, lines, name)
    return BufferTable(name, header, rows, lines, tuple(buffers))


def table_text(table: BufferTable, offsets: Sequence[int]) -> str:
    """The file with a column of offsets, the last one; one that it had is replaced."""
    kept = [i for i, column in enumerate(table.columns) if column != OFFSET]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(table.columns[i] for i in kept), OFFSET])
    for row, offset in zip(table.rows, offsets, strict=True):
        writer.writerow([*(row[i] for i in kept), offset])
    return text.getvalue()


def check_capacity(table: BufferTable, capacity: int) -> None:
    """Raises InputError for buffers that cannot fit: alone, or at a time together."""
    problems = [
        _diagnostic(
            f"buffer {buffer.name} has {buffer.size} bytes, the capacity is {capacity}",
            f"allow {buffer.size} bytes at least, or split the buffer",
            table.file,
            line,
        )
        for buffer, line in zip(table.buffers, table.lines)
        if buffer.size > capacity
    ]
    if problems:
        raise InputError(problems)
    now, need = max(live_bytes(table.buffers), key=lambda change: change[1])
    if need <= capacity:
        return
    live = [(buffer, line) for buffer, line in zip(table.buffers, table.lines) if buffer.lower <= now < buffer.upper]
    largest = sorted(live, key=lambda one: -one[0].size)[:3]
    users = ", ".join(f"{buffer.name} with {buffer.size}" for buffer, _ in largest)
    what = f"at time {now} {len(live)} buffers live that need {need} bytes, the capacity is {capacity} ({users})"
    raise InputError(_diagnostic(what, f"allow {need} bytes at least, or shorten lifetimes", table.file, largest[0][1]))


def _check_header(header: Sequence[str], name: str) -> None:
    if not any(header):
        raise _refused("the file has no first line" if not header else "the first line is empty", _FORMAT, name, 1)
    missing = [column for column in _REQUIRED if column not in header]
    if missing:
        raise _refused(f"the first line lacks {', '.join(missing)}", _FORMAT, name, 1)
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        raise _refused(f"the first line names {', '.join(twice)} more than once", _FORMAT, name, 1)


def _problems(row: Mapping[str, str], more: int, seen: Mapping[str, int]) -> Iterator[str]:
    if more:
        yield with_hint(
            f"the row has {abs(more)} {'more' if more > 0 else 'fewer'} values than the first line", _FORMAT
        )
        return
    if not row["id"].strip():
        yield with_hint("id is empty", "name each buffer")
    elif row["id"] in seen:
        yield with_hint(f"id '{row['id']}' is that of line {seen[row['id']]} as well", "name each buffer differently")
    columns = [*_REQUIRED[1:], *([_ALIGNMENT] if row.get(_ALIGNMENT, "").strip() else [])]
    wrong = {column: problem for column in columns if (problem := _number_problem(column, row[column]))}
    yield from wrong.values()
    if "lower" not in wrong and "upper" not in wrong and int(row["lower"]) >= int(row["upper"]):
        what = f"the buffer lives from {row['lower']} to before {row['upper']}: never"
        yield with_hint(what, "upper must be larger than lower")


def _number_problem(column: str, text: str) -> str | None:
    text = text.strip()
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        return with_hint(f"{column} is '{text}'", "give a whole number")
    if not _NUMBER.fullmatch(text) or not _LEAST <= int(text) <= _MOST:
        return with_hint(f"{column} is {text[:24]}, beyond 64 bits", "count in larger units")
    least = {"size": 0, _ALIGNMENT: 1}.get(column)
    if least is not None and int(text) < least:
        return with_hint(f"{column} is {text}", f"give {least} or more")
    return None


def _buffer(row: Mapping[str, str]) -> LiveBuffer:
    alignment = row.get(_ALIGNMENT, "").strip() or "1"
    return LiveBuffer(row["id"], int(row["lower"]), int(row["upper"]), int(row["size"]), int(alignment))


def _check_total(buffers: Sequence[LiveBuffer], lines: Sequence[int], name: str) -> None:
    total = 0
    for buffer, line in zip(buffers, lines):
        total += buffer.size + buffer.alignment
        if total > _MOST_TOGETHER:
            what = f"sizes and alignments up to here add up to {total} bytes, more than {_MOST_TOGETHER}"
            raise _refused(what, "count in larger units", name, line)


def _diagnostic(what: str, hint: str | None, name: str, line: int) -> Diagnostic:
    return Diagnostic(Severity.ERROR, with_hint(what, hint), SourceLocation(name, line))


def _refused(what: str, hint: str | None, name: str, line: int) -> InputError:
    return InputError(_diagnostic(what, hint, name, line))
