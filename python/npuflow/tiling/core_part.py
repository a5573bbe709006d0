"""One core's part of a block: a bundle's ops on its tiles, one behind the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuflow.bindings import arith, ir, scf
from npuflow.core.build import Mixed, element_type_of, empty, extract_slice, fill, shape_of, weighted_sum
from npuflow.ops.bundle import Bundle
from npuflow.ops.contraction import producer
from npuflow.ops.linear import Linear, input_count


@dataclass(frozen=True)
class CorePart:
    """Makes a core's part. `tiles` and `block` have each loop's sizes, `operands` the block's by op and number."""

    bundle: Bundle
    tiles: Sequence[int]
    block: Sequence[int]
    operands: Mapping[tuple[int, int], ir.Value]

    def results(self, places: dict[int, Mixed]) -> list[ir.Value]:
        """What the bundle's last op makes of this part, whose tile begins at `places` in the block."""
        values: dict[ir.Value, ir.Value] = {}
        core = [tile if loop < self.bundle.space else self.block[loop] for loop, tile in enumerate(self.tiles)]
        pieced = {head for index in range(len(self.bundle.ops)) for head in self.bundle.heads(index)}
        for index, op in enumerate(self.bundle.ops):
            if index in pieced:
                continue
            streamed = [loop for loop in self.bundle.streamed() if loop in self.bundle.inner(index)]
            stepping = [loop for loop in streamed if self.tiles[loop] < self.block[loop]]
            inits = self._inits(index, places, values, core)
            found = self._pieces(index, stepping, self.tiles, places, values, inits)
            values.update(zip(op.results, found))
        return [values[result] for result in self.bundle.root.results]

    def _inits(
        self,
        index: int,
        places: dict[int, Mixed],
        values: dict[ir.Value, ir.Value],
        core: Sequence[int],
    ) -> list[ir.Value]:
        """What an op starts from: a tile of `core` sizes, filled or empty, what an op before made, or a given slice."""
        op, maps = self.bundle.ops[index], self.bundle.maps(index)
        found = []
        for number in range(input_count(op), len(op.operands)):
            value, dims = op.operands[number], maps[number]
            if value in values:
                found.append(values[value])
                continue
            if (index, number) in self.operands:
                found.append(_slice(self.operands[index, number], dims, places, self.tiles))
                continue
            target = empty([dim.extent(core) for dim in dims], element_type_of(value))
            filled = producer(value, "linalg.fill")
            found.append(target if filled is None else fill(filled.operands[0], target))
        return found

    def _pieces(
        self,
        index: int,
        loops: Sequence[int],
        tiles: Sequence[int],
        places: dict[int, Mixed],
        values: dict[ir.Value, ir.Value],
        inits: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """The loops over pieces of streamed loops, from the outermost one left on, and what is left over behind."""
        if not loops:
            inner = dict(values)
            for head in self.bundle.heads(index):
                starts = self._inits(head, places, inner, tiles)
                made = self._clone(head, tiles, places, inner, starts)
                inner.update(zip(self.bundle.ops[head].results, made))
            return self._clone(index, tiles, places, inner, inits)
        first, rest = loops[0], loops[1:]
        whole, tile = self.block[first], tiles[first]
        left = whole % tile
        bounds = [arith.ConstantOp.create_index(n).result for n in (0, whole - left, tile)]
        loop = scf.ForOp(*bounds, list(inits))
        with ir.InsertionPoint(loop.body):
            inner = {**places, first: loop.induction_variable}
            carried = list(loop.inner_iter_args)
            scf.YieldOp(self._pieces(index, rest, tiles, inner, values, carried))
        results = list(loop.results)
        if not left:
            return results
        smaller = [left if number == first else size for number, size in enumerate(tiles)]
        return self._pieces(index, rest, smaller, {**places, first: whole - left}, values, results)

    def _clone(
        self,
        index: int,
        tiles: Sequence[int],
        places: dict[int, Mixed],
        values: dict[ir.Value, ir.Value],
        inits: Sequence[ir.Value],
    ) -> list[ir.Value]:
        op, maps = self.bundle.ops[index], self.bundle.maps(index)
        new = []
        for number, value in enumerate(list(op.operands)[: input_count(op)]):
            if value in values:
                new.append(values[value])
            elif (index, number) in self.operands:
                new.append(_slice(self.operands[index, number], maps[number], places, tiles))
            elif isinstance(value.type, ir.ShapedType):
                new.append(empty([dim.extent(tiles) for dim in maps[number]], element_type_of(value)))
            else:
                new.append(value)
        clone = op.clone().operation
        for number, value in enumerate([*new, *inits]):
            clone.operands[number] = value
        for result, init in zip(clone.results, inits):
            result.set_type(init.type)
        return list(clone.results)


def _slice(block: ir.Value, dims: Sequence[Linear], places: dict[int, Mixed], tiles: Sequence[int]) -> ir.Value:
    """A core's part of a block's operand; a constant in an index is where the block begins already."""
    start = [weighted_sum([(c, places[loop]) for loop, c in dim.terms if loop in places]) for dim in dims]
    sizes = [dim.extent(tiles) for dim in dims]
    if sizes == shape_of(block) and all(place == 0 for place in start):
        return block
    return extract_slice(block, start, sizes)
