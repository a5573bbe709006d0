"""What a core keeps of the rows that ops make in steps. Reads IR and changes nothing.

A *line* of a value has the rows that a step makes of it, and in front of them those that its readers' windows reach
further back, which the step before has made.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.ops.bundle import Bundle, row_loop_of
from npuflow.ops.bundle_ops import Problem
from npuflow.ops.contraction import ROW_LOOP
from npuflow.ops.linear import input_count

_HINT = f"leave out {ROW_LOOP}, which npuflow-fuse-windows writes"


@dataclass(frozen=True)
class Line:
    """So many rows are kept, along a `dimension` of an op's result."""

    dimension: int
    kept: int


def lines_of(bundle: Bundle) -> dict[int, Line]:
    """The lines of a bundle, by the ops that make them; none of what is read as soon as it is made."""
    if bundle.kept is None:
        return {}
    first = bundle.kept.first
    found = {}
    for index, op in enumerate(bundle.ops):
        needed = [first[reader] for reader in _readers(bundle, op.results[0])]
        if needed and (kept := first[index] - min(needed)) > 0:
            found[index] = Line(row_dimension(bundle, index), kept)
    return found


def row_dimension(bundle: Bundle, index: int) -> int:
    """Which dimension of an op's result the rows are."""
    assert bundle.kept is not None
    written = bundle.maps(index)[input_count(bundle.ops[index])]
    return next(place for place, dim in enumerate(written) if dim.loop == bundle.kept.loop)


def place_in_line(bundle: Bundle, maker: int, reader: int) -> int:
    """Which row of a line is the first that an op reads in a step."""
    assert bundle.kept is not None
    first, line = bundle.kept.first, lines_of(bundle)[maker]
    return first[reader] - (first[maker] - line.kept)


def rows_problem(bundle: Bundle) -> Problem | None:
    """What is wrong with the rows that the ops of a bundle say they keep, as (what, hint)."""
    said = [op for op in bundle.ops if ROW_LOOP in op.attributes]
    if not said:
        return None
    if bundle.kept is None:
        named = [op for op in bundle.ops if row_loop_of(op) is None]
        return f"{ROW_LOOP} names no loop of {len(named)} of {len(bundle.ops)} ops that keep rows", _HINT
    for index, op in enumerate(bundle.ops):
        written = bundle.maps(index)[input_count(op)]
        if len(op.results) != 1 or all(dim.loop != bundle.kept.loop for dim in written):
            return f"{op.name} keeps rows along a loop that its result doesn't follow", _HINT
        for reader in _readers(bundle, op.results[0]):
            if not _reads_rows(bundle, index, reader):
                return f"{op.name} keeps rows that are read by something else than a window of stride 1", _HINT
    return None


def _reads_rows(bundle: Bundle, maker: int, reader: int) -> bool:
    """Whether an op reads another's rows one by one, and as many as there are."""
    assert bundle.kept is not None
    rows, place, op = bundle.kept.loop, row_dimension(bundle, maker), bundle.ops[reader]
    made = bundle.kept.first[maker] + bundle.sizes[rows]
    reads = [dims for value, dims in zip(op.operands, bundle.maps(reader)) if value == bundle.ops[maker].results[0]]
    sizes = bundle.own_sizes(reader, bundle.sizes)
    return reader > maker and all(
        dict(dims[place].terms).get(rows) == 1 and dims[place].extent(sizes) == made for dims in reads
    )


def _readers(bundle: Bundle, value: ir.Value) -> list[int]:
    return [index for index, op in enumerate(bundle.ops) if any(value == operand for operand in op.operands)]
