"""`npuflow allocate`: addresses for buffers that live at different times, from a file and to a file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from npuflow.errors import ExitCode, InputError, InternalError, UsageError, with_hint
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of, write_output
from npuflow.tools.progress import Progress

if TYPE_CHECKING:
    from npuflow.allocate.problem import Packing
    from npuflow.allocate.table import BufferTable

_METHODS = ("exact", "colouring", "greedy")
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ms|s|m|h)?")
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
# How long is searched for a packing that fits, and for one that needs less than those found.
_TO_FIT, _TO_LESSEN = "30s", "5s"


@dataclass(frozen=True)
class AllocateFlags:
    """Every flag with its default."""

    o: str | None = flag(
        None,
        "write the file with a column 'offset' to another one, or with '-' to stdout",
        group="",
        metavar="file",
        file=FileUse.WRITTEN,
    )
    capacity: int | None = flag(
        None, "bytes of the memory (default: as few as can be found)", group="", metavar="bytes"
    )
    method: str = flag(
        "exact",
        "exact search, or to compare with it, colouring or greedy by size (default: exact)",
        group="",
        choices=_METHODS,
    )
    budget: str | None = flag(
        None,
        "how long to search: 500ms, 30s, 5m (default: 30s, without --capacity 5s)",
        group="",
        metavar="time",
    )
    html: str | None = flag(
        None, "draw addresses over time into a page", group="", metavar="file", file=FileUse.WRITTEN
    )
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow allocate",
    owner=AllocateFlags,
    summary="lays buffers into one memory, so that none overlap while they live",
    usage="npuflow allocate <file.csv> [-o <file.csv>] [flags]",
    notes=(
        "The file's first line names its columns, in any order: id, lower, upper, size and perhaps alignment; others",
        "are kept as they are. A buffer lives from lower to before upper.",
        "Exit codes: 0 done, 1 a wrong file or no packing found, 2 usage, 3 a bug of npuflow.",
    ),
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Runs the command; OK if all buffers have an address below the capacity."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, inputs = given
    path = the_only(inputs, "CSV file", COMMAND_LINE.usage)
    budget = flags.budget or (_TO_FIT if flags.capacity is not None else _TO_LESSEN)
    seconds = _seconds(budget)
    check_files(flags, inputs)
    return _allocate(path, replace(flags, budget=budget), seconds)


def _seconds(text: str) -> float:
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise UsageError(with_hint(f"flag '--budget' cannot be '{text}'", "give a time: 500ms, 30s or 5m"))
    return float(found[1]) * _SECONDS[found[2] or "s"]


def _allocate(path: str, flags: AllocateFlags, seconds: float) -> ExitCode:
    from npuflow.allocate.check import packing_problems
    from npuflow.allocate.solve import AllocationMethod, allocate
    from npuflow.allocate.table import check_capacity, read_table, table_text

    table = read_table(path)
    if flags.capacity is not None:
        check_capacity(table, flags.capacity)
    with Progress() as progress:
        progress.step(f"searching for {flags.budget} at most")
        packing = allocate(table.buffers, AllocationMethod(flags.method), flags.capacity, seconds)
    if flags.capacity is not None and packing.need_bytes > flags.capacity:
        raise InputError(_refusal(packing, flags))
    problems = packing_problems(table.buffers, packing.offsets, flags.capacity)
    if problems:
        raise InternalError(f"the packing is wrong: {problems[0]}")
    if flags.o is not None:
        write_output(flags.o, table_text(table, packing.offsets).encode())
    if flags.html is not None:
        from npuflow.allocate.picture import picture_page

        write_output(flags.html, picture_page(path, table.buffers, packing, flags.capacity).encode())
    print(_summary(table, packing, flags), file=screen_of(flags))
    return ExitCode.OK


def _summary(table: BufferTable, packing: Packing, flags: AllocateFlags) -> str:
    bound, need = packing.bound_bytes, packing.need_bytes
    least = "no packing needs less" if need <= bound else f"{need / bound - 1:.1%} more than the bound of {bound}"
    room = "" if flags.capacity is None else f" of {flags.capacity}"
    return f"{len(table.buffers)} buffers in {need}{room} bytes, by {flags.method}: {least}"


def _refusal(packing: Packing, flags: AllocateFlags) -> str:
    need, capacity = packing.need_bytes, flags.capacity
    if packing.bound_bytes > (capacity or 0):
        return with_hint(
            f"no packing fits into {capacity} bytes: at least {packing.bound_bytes} are needed",
            "allow more, align less, or shorten lifetimes; without --capacity the least that is found is taken",
        )
    if flags.method != "exact":
        more = f"{flags.method} needs {need} bytes, {need / max(capacity or 0, 1) - 1:.1%} more than {capacity}"
        return with_hint(more, "--method=exact")
    what = f"no packing into {capacity} bytes was found in {flags.budget}; there is one into {need}"
    return with_hint(what, "search longer with --budget, or allow more")
