"""One core's part of a block: a bundle's ops on its tiles, one behind the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from npuflow.bindings import arith, ir, scf
from npuflow.core.build import Mixed, element_type_of, empty, extract_slice, fill, shape_of, weighted_sum
from npuflow.ops.bundle import Bundle
from npuflow.ops.contraction import producer
from npuflow.ops.linear import Linear, input_count
from npuflow.ops.streams import Output, Streaming, stream_of
from npuflow.tiling.cuts import Cuts

Operands = Mapping[tuple[int, int], ir.Value]
"""A block's operands that come from outside of the group, by op and number."""


@dataclass(frozen=True)
class StreamedPiece:
    """The sizes of loops in L1 and L2 for one piece of streamed loops, and where in the block these begin.

    A core's place and its pieces in L1 are `places` in what L2 has, which begins at `in_l2_places` of the block. These
    parts of blocks are `shared`, by op and number, once they are made; and so are a core's parts of them (`own`) that
    stay the same in all loops further in.
    """

    tiles: tuple[int, ...]
    in_l2: tuple[int, ...]
    places: Mapping[int, Mixed]
    in_l2_places: Mapping[int, Mixed]
    shared: Mapping[tuple[int, int], ir.Value]
    own: Mapping[tuple[int, int], ir.Value] = field(default_factory=dict)


@dataclass(frozen=True)
class _StreamedLoop:
    """A streamed loop that goes through what L2 has of it, or (`fills_l2`) fills L2 piece by piece."""

    loop: int
    fills_l2: bool

    def whole(self, piece: StreamedPiece, block: Sequence[int]) -> int:
        return block[self.loop] if self.fills_l2 else piece.in_l2[self.loop]

    def size(self, piece: StreamedPiece) -> int:
        return piece.in_l2[self.loop] if self.fills_l2 else piece.tiles[self.loop]

    def at(self, piece: StreamedPiece, place: Mixed) -> StreamedPiece:
        """The piece that begins at a place."""
        if self.fills_l2:
            return replace(piece, in_l2_places={**piece.in_l2_places, self.loop: place})
        return replace(piece, places={**piece.places, self.loop: place})

    def cut(self, piece: StreamedPiece, left: int) -> StreamedPiece:
        """The piece with what is left over at the end, where L2 has one tile at a time."""
        tiles, in_l2 = ((*sizes[: self.loop], left, *sizes[self.loop + 1 :]) for sizes in (piece.tiles, piece.in_l2))
        return replace(piece, tiles=tiles, in_l2=in_l2)


@dataclass(frozen=True)
class CorePart:
    """Makes a core's part of a block."""

    bundle: Bundle
    cuts: Cuts
    operands: Operands

    def results(self, places: dict[int, Mixed]) -> list[ir.Value]:
        """What the bundle's last op makes of this part, whose tile begins at `places` in the block."""
        values: dict[ir.Value, ir.Value] = {}
        core = [
            tile if loop < self.bundle.space else self.cuts.block[loop] for loop, tile in enumerate(self.cuts.tiles)
        ]
        piece = StreamedPiece(self.cuts.tiles, self.cuts.in_l2, places, {}, {})
        stream, ops = stream_of(self.bundle), self.bundle.ops
        last = max(stream.ops, default=len(ops))
        for index in range(len(ops)):
            if index == last:
                inits = [self._init(each.first, piece, values, core) for each in stream.handed_on]
                made = [ops[each.last[0]].results[each.last[1]] for each in stream.handed_on]
                found = self._pieces(stream, self._steps(stream), piece, values, inits)
                values.update(zip(made, found))
            elif index not in stream.ops:
                self._once(index, replace(piece, shared=self._shared([index], piece)), values, core)
        return [values[result] for result in self.bundle.root.results]

    def _once(self, index: int, piece: StreamedPiece, values: dict[ir.Value, ir.Value], sizes: Sequence[int]) -> None:
        """Runs an op on all that there is of it at a time."""
        op = self.bundle.ops[index]
        inits = [self._init((index, number), piece, values, sizes) for number in range(len(op.results))]
        values.update(zip(op.results, self._clone(index, piece, values, inits)))

    def _steps(self, stream: Streaming) -> list[_StreamedLoop]:
        """The loops that go piece by piece through what is streamed: those that fill L2 are around all others."""
        cuts = self.cuts
        filling = [_StreamedLoop(loop, True) for loop in stream.loops if cuts.in_l2[loop] < cuts.block[loop]]
        inner = [loop for loop in stream.loops if cuts.tiles[loop] < cuts.in_l2[loop] or cuts.even_one]
        return [*filling, *(_StreamedLoop(loop, False) for loop in inner)]

    def _init(
        self, output: Output, piece: StreamedPiece, values: dict[ir.Value, ir.Value], sizes: Sequence[int]
    ) -> ir.Value:
        """What an op starts from: a tile of some sizes, filled or empty, what an op before made, or a given slice."""
        index, number = output[0], input_count(self.bundle.ops[output[0]]) + output[1]
        value, dims = self.bundle.ops[index].operands[number], self.bundle.maps(index)[number]
        if value in values:
            return values[value]
        if (index, number) in self.operands:
            return self._slice((index, number), dims, piece)
        shape = [dim.extent(sizes) for dim in dims]
        if not self.cuts.grid and shape == shape_of(value):
            return value
        target = empty(shape, element_type_of(value))
        filled = producer(value, "linalg.fill")
        return target if filled is None else fill(filled.operands[0], target)

    def _pieces(
        self,
        stream: Streaming,
        steps: Sequence[_StreamedLoop],
        piece: StreamedPiece,
        values: dict[ir.Value, ir.Value],
        inits: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """The loops over pieces of streamed loops, from the outermost one left on, and what is left over behind."""
        if steps:
            piece = replace(piece, own={**piece.own, **self._unchanged(stream, steps, piece)})
        if not piece.shared and not any(step.fills_l2 for step in steps):
            piece = replace(piece, shared=self._shared(stream.ops[::-1], piece))
        if not steps:
            return self._one_piece(stream, piece, dict(values), inits)
        first, rest = steps[0], steps[1:]
        whole, size = first.whole(piece, self.cuts.block), first.size(piece)
        left = whole % size
        bounds = [arith.ConstantOp.create_index(n).result for n in (0, whole - left, size)]
        loop = scf.ForOp(*bounds, list(inits))
        with ir.InsertionPoint(loop.body):
            smaller = first.at(piece, loop.induction_variable)
            scf.YieldOp(self._pieces(stream, rest, smaller, values, list(loop.inner_iter_args)))
        results = list(loop.results)
        if not left:
            return results
        return self._pieces(stream, rest, first.cut(first.at(piece, whole - left), left), values, results)

    def _one_piece(
        self, stream: Streaming, piece: StreamedPiece, values: dict[ir.Value, ir.Value], given: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """What ops make of one piece, and of what the piece before it left."""
        firsts = {each.first: value for each, value in zip(stream.handed_on, given)}
        for index in stream.ops:
            op = self.bundle.ops[index]
            outputs = [(index, number) for number in range(len(op.results))]
            inits = [firsts[o] if o in firsts else self._init(o, piece, values, piece.tiles) for o in outputs]
            values.update(zip(op.results, self._clone(index, piece, values, inits)))
        return [values[self.bundle.ops[each.last[0]].results[each.last[1]]] for each in stream.handed_on]

    def _clone(
        self, index: int, piece: StreamedPiece, values: dict[ir.Value, ir.Value], inits: Sequence[ir.Value]
    ) -> list[ir.Value]:
        op, maps = self.bundle.ops[index], self.bundle.maps(index)
        new = []
        for number, value in enumerate(list(op.operands)[: input_count(op)]):
            if value in values:
                new.append(values[value])
            elif (index, number) in self.operands:
                new.append(self._slice((index, number), maps[number], piece))
            elif isinstance(value.type, ir.ShapedType):
                new.append(empty([dim.extent(piece.tiles) for dim in maps[number]], element_type_of(value)))
            else:
                new.append(value)
        clone = op.clone().operation
        for number, value in enumerate([*new, *inits]):
            clone.operands[number] = value
        for result, init in zip(clone.results, inits):
            result.set_type(init.type)
        return list(clone.results)

    def _shared(self, ops: Sequence[int], piece: StreamedPiece) -> dict[tuple[int, int], ir.Value]:
        """What L2 has of each operand of ops."""
        own = [key for key in self.operands if key[0] in ops and key not in piece.own]
        return {key: self._in_l2(key, self.bundle.maps(key[0])[key[1]], piece) for key in own}

    def _unchanged(
        self, stream: Streaming, steps: Sequence[_StreamedLoop], piece: StreamedPiece
    ) -> dict[tuple[int, int], ir.Value]:
        """A core's part of each operand, not there yet, that no loop further in goes along."""
        loops = {step.loop for step in steps}
        found = {}
        for key in self.operands:
            dims = self.bundle.maps(key[0])[key[1]]
            stays = not any(loop in loops for dim in dims for loop, _ in dim.terms)
            if key[0] in stream.ops and key not in piece.own and stays:
                found[key] = self._slice(key, dims, piece)
        return found

    def _in_l2(self, key: tuple[int, int], dims: Sequence[Linear], piece: StreamedPiece) -> ir.Value:
        sizes = [piece.in_l2[loop] if loop >= self.bundle.space else size for loop, size in enumerate(self.cuts.block)]
        return _part(self.operands[key], dims, piece.in_l2_places, sizes)

    def _slice(self, key: tuple[int, int], dims: Sequence[Linear], piece: StreamedPiece) -> ir.Value:
        """A core's part of what L2 has of a block's operand."""
        if key in piece.own:
            return piece.own[key]
        in_l2 = piece.shared[key] if key in piece.shared else self._in_l2(key, dims, piece)
        return _part(in_l2, dims, piece.places, piece.tiles)


def _part(whole: ir.Value, dims: Sequence[Linear], places: Mapping[int, Mixed], sizes: Sequence[int]) -> ir.Value:
    """A part of an operand; a constant in an index is where the block begins already."""
    start = [weighted_sum([(c, places[loop]) for loop, c in dim.terms if loop in places]) for dim in dims]
    extents = [dim.extent(sizes) for dim in dims]
    if extents == shape_of(whole) and all(place == 0 for place in start):
        return whole
    return extract_slice(whole, start, extents)
