"""One core's part of a block whose rows go in steps: ops make new rows, and what the next step reads of them is kept.

The first rows of each op are made in front of all steps. A line ends with the last of these, or of those of the step
before, which move to its front before there are new ones. What the last op makes leaves with each step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from npuflow.bindings import arith, ir, scf
from npuflow.core.build import (
    Mixed,
    element_type_of,
    empty,
    extract_slice,
    fill,
    insert_slice,
    shape_of,
    weighted_sum,
    zero,
)
from npuflow.ops.bundle import KeptRows
from npuflow.ops.contraction import producer
from npuflow.ops.kept_lines import Line, lines_of, place_in_line, row_dimension
from npuflow.ops.linear import input_count
from npuflow.tiling.core_part import CorePart, StreamedPiece

Values = dict[ir.Value, ir.Value]


@dataclass(frozen=True)
class KeptRowsPart(CorePart):
    """Makes a core's part of a block whose rows are kept from step to step."""

    def results(self, places: dict[int, Mixed]) -> list[ir.Value]:
        """What the bundle's last op makes of this part, whose tile begins at `places` in the block."""
        root, last = self.bundle.root, len(self.bundle.ops) - 1
        whole = StreamedPiece(self.cuts.tiles, self.cuts.in_l2, places, {}, self.operands)
        whole = self._of_rows(whole, 0, self.cuts.block[self._kept.loop])
        whole = StreamedPiece(whole.tiles, whole.in_l2, places, {}, self.operands, self._unchanged_slices(whole))
        lines = self._begun_lines(whole)
        dims = self.bundle.maps(last)[input_count(root)]
        result = empty([dim.extent(whole.tiles) for dim in dims], element_type_of(root.results[0]))
        bounds = [arith.ConstantOp.create_index(n).result for n in (0, self.cuts.block[self._kept.loop], self._rows)]
        loop = scf.ForOp(*bounds, [*lines.values(), result])
        with ir.InsertionPoint(loop.body):
            scf.YieldOp(self._step(whole, loop.induction_variable, list(loop.inner_iter_args)))
        return [list(loop.results)[-1]]

    @cached_property
    def _kept(self) -> KeptRows:
        assert self.bundle.kept is not None
        return self.bundle.kept

    @property
    def _rows(self) -> int:
        """How many rows a step makes."""
        return self.cuts.tiles[self._kept.loop]

    @cached_property
    def _lines(self) -> Mapping[int, Line]:
        return lines_of(self.bundle)

    def _unchanged_slices(self, whole: StreamedPiece) -> dict[tuple[int, int], ir.Value]:
        """A core's part of what no step needs anew."""
        dims = {key: self.bundle.maps(key[0])[key[1]] for key in self.operands}
        follows = {key: any(self._kept.loop == loop for dim in dims[key] for loop, _ in dim.terms) for key in dims}
        return {key: self._slice(key, dims[key], whole) for key in self.operands if not follows[key]}

    def _of_rows(self, piece: StreamedPiece, place: Mixed, rows: int) -> StreamedPiece:
        """The piece of so many rows, from a place on."""
        loop = self._kept.loop
        tiles = (*piece.tiles[:loop], rows, *piece.tiles[loop + 1 :])
        places = {**piece.places, loop: place}
        return StreamedPiece(tiles, piece.in_l2, places, {}, piece.shared, piece.own)

    def _begun_lines(self, whole: StreamedPiece) -> dict[int, ir.Value]:
        """Lines with the last of the first rows of every op, in front of which those are made."""
        values, lines = Values(), dict[int, ir.Value]()
        for index, first in enumerate(self._kept.first):
            if not first:
                continue
            piece = self._of_rows(whole, 0, first)
            init = self._init((index, 0), piece, values, piece.tiles)
            line = self._lines.get(index)
            if line is not None:
                lines[index] = self._new_line(init, line)
            if line is not None and line.kept == first:
                init = self._in_line(init, lines[index], line, self._rows, first)
            (made,) = self._clone(index, piece, values, [init])
            values[self.bundle.ops[index].results[0]] = made
            if line is not None:
                last = _rows(made, line.dimension, first - line.kept, line.kept)
                lines[index] = _put(last, lines[index], line.dimension, self._rows)
        return lines

    def _new_line(self, rows: ir.Value, line: Line) -> ir.Value:
        """A line without any rows yet. Who writes a part of a buffer counts as reading the rest: so there is one."""
        shape = shape_of(rows)
        shape[line.dimension] = self._rows + line.kept
        return fill(zero(element_type_of(rows)), empty(shape, element_type_of(rows)))

    def _step(self, whole: StreamedPiece, row: ir.Value, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """What a step makes of lines and of the result."""
        values, step = Values(), self._rows
        lines = {index: self._moved_on(value, self._lines[index]) for index, value in zip(self._lines, carried)}
        for index, op in enumerate(self.bundle.ops):
            piece = self._of_rows(whole, weighted_sum([(1, row)], self._kept.first[index]), step)
            init = self._init((index, 0), piece, values, piece.tiles)
            if index in lines:
                init = self._in_line(init, lines[index], self._lines[index], self._lines[index].kept, step)
            (made,) = self._clone(index, piece, values | self._in_lines(index, lines), [init])
            values[op.results[0]] = made
            if index in lines:
                lines[index] = _put(made, lines[index], self._lines[index].dimension, self._lines[index].kept)
        result = _put(values[self.bundle.root.results[0]], carried[-1], self._row_dimension, row)
        return [*lines.values(), result]

    def _moved_on(self, value: ir.Value, line: Line) -> ir.Value:
        """A line whose last rows are in front, where the next ones follow them."""
        return _put(_rows(value, line.dimension, self._rows, line.kept), value, line.dimension, 0)

    def _in_line(self, init: ir.Value, into: ir.Value, line: Line, place: int, rows: int) -> ir.Value:
        """A place of so many rows in a line, begun as an op would begin."""
        target = _rows(into, line.dimension, place, rows)
        filled = producer(init, "linalg.fill")
        return target if filled is None else fill(filled.operands[0], target)

    def _in_lines(self, reader: int, lines: Mapping[int, ir.Value]) -> Values:
        """What an op reads of the lines of others."""
        found = Values()
        for number, dims in enumerate(self.bundle.maps(reader)[: input_count(self.bundle.ops[reader])]):
            value = self.bundle.ops[reader].operands[number]
            for maker, line in lines.items():
                if value == self.bundle.ops[maker].results[0]:
                    place = self._lines[maker].dimension
                    begin = place_in_line(self.bundle, maker, reader)
                    found[value] = _rows(line, place, begin, dims[place].extent(self.cuts.tiles))
        return found

    @cached_property
    def _row_dimension(self) -> int:
        return row_dimension(self.bundle, len(self.bundle.ops) - 1)


def _rows(value: ir.Value, dimension: int, first: int, count: int) -> ir.Value:
    """Some rows of a value; all of them are the value."""
    sizes = shape_of(value)
    if sizes[dimension] == count:
        return value
    sizes[dimension] = count
    return extract_slice(value, [first if place == dimension else 0 for place in range(len(sizes))], sizes)


def _put(rows: ir.Value, into: ir.Value, dimension: int, place: Mixed) -> ir.Value:
    """A value with other rows from a place on."""
    shape = shape_of(rows)
    return insert_slice(rows, into, [place if each == dimension else 0 for each in range(len(shape))], shape)
