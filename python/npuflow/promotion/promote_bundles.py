"""npuflow-promote-bundles: what a bundle reads into L2 and L1, what it makes into L1, its results back through L2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from npuflow.bindings import ir
from npuflow.core.build import Mixed, allocate, at, copy_into, element_type_of, fill, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of, parents_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import BUNDLE, ROW_LOOP, producer, users
from npuflow.ops.linear import input_count
from npuflow.promotion.gather import gather, gathers
from npuflow.promotion.promote_result import promote_result
from npuflow.promotion.shared_slices import L1, SharedSlice, is_inside, promote_to_l2, shared_slice
from npuflow.strategy.strategy import Strategy, strategy_of

# What makes a value inside of the grid: loops, and buffers that ops write parts of.
_MADE = ("scf.for", "bufferization.alloc_tensor")


@register_pass
@dataclass(frozen=True)
class PromoteBundles(Pass):
    """Gives every operand of a bundle's ops a buffer in L1, filled from one in L2 where it comes from L3.

    What the cores of a block share goes into L2 once, in the outermost loop that it depends on, in the order in which
    it is needed; zeros at its edges are filled in first. What one op of the bundle makes for another stays in L1.

        scf.forall (%y, %x) in (4, 4) shared_outs(%out = %empty) {
          %tile = tensor.extract_slice %block[%place, 0] [16, 64]
          %u = linalg.generic ins(%tile) outs(%tile_empty)

    becomes

        %l2 = linalg.copy ins(%block) outs(%buffer : 256x64, memory space 1)
        scf.forall (%y, %x) in (4, 4) shared_outs(%out = %l2_out) {
          %part = tensor.extract_slice %l2[%place, 0] [16, 64]
          %tile = linalg.copy ins(%part) outs(%buffer : 16x64, memory space 2)
          %u = linalg.generic ins(%tile) outs(%buffer : 16x64, memory space 2)
          %r = linalg.copy ins(%u) outs(%out[%place, 0] [16, 64])
    """

    name = "npuflow-promote-bundles"
    group = "promotion"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for grid in ops_of(op, "scf.forall"):
            members = [inner for inner in ops_of(grid, "linalg.generic") if BUNDLE in inner.attributes]
            if members:
                _Promoter(grid, members, context).run()


@dataclass
class _Promoter:
    """Promotes what happens inside one grid."""

    grid: ir.Operation
    members: list[ir.Operation]
    context: PassContext
    in_l2: dict[tuple[object, ...], ir.Value] = field(default_factory=dict)
    in_l1: dict[ir.Value, ir.Value] = field(default_factory=dict)

    def run(self) -> None:
        self._place_lines()
        for op in self.members:
            arguments = op.regions[0].blocks[0].arguments
            for number, value in enumerate(list(op.operands)[: input_count(op)]):
                if not isinstance(value.type, ir.ShapedType) or self._is_made_here(value):
                    continue
                used = any(True for _ in arguments[number].uses)
                if used and gathers(op, number):
                    self._gather(op, number)
                else:
                    op.operands[number] = self._moved_in(value, op) if used else self._fresh(value, op)
            for number in range(input_count(op), len(op.operands)):
                self._start(op, number)
        for insert in ops_of(self.grid, "tensor.parallel_insert_slice"):
            promote_result(insert.operands[0], reads=False)

    def _place_lines(self) -> None:
        """Puts what the bundle's ops write parts of into L1, where it stays from the first part on."""
        for line in ops_of(self.grid, "linalg.fill"):
            if any(user.name == "tensor.insert_slice" for user in users(line.results[0])):
                line.operands[1] = self._fresh(line.results[0], line)

    def _is_made_here(self, value: ir.Value) -> bool:
        """Whether an op of the bundle makes the value, or a value that it is a part of, perhaps piece by piece."""
        value = _whole_of(value)
        if isinstance(value.owner, ir.Block):
            return False
        owner = value.owner.operation
        return owner in self.members or (owner.name in _MADE and self.grid in parents_of(owner))

    def _fresh(self, value: ir.Value, before: ir.Operation) -> ir.Value:
        with at(before):
            return allocate(shape_of(value), element_type_of(value), L1)

    def _start(self, op: ir.Operation, number: int) -> None:
        """What an op writes over: filled in L1, nothing at all, moved in, or there already; before its loops."""
        value = op.operands[number]
        while isinstance(value, ir.BlockArgument) and value.owner.owner.operation.name == "scf.for":
            op = value.owner.owner.operation
            number = 2 + value.arg_number
            value = op.operands[number]
        if self._is_made_here(value):
            return
        filled = producer(value, "linalg.fill")
        if filled is not None and self._is_made_here(filled.operands[1]):
            return
        if filled is not None:
            buffer = self._fresh(value, op)
            with at(op):
                op.operands[number] = fill(filled.operands[0], buffer)
        elif producer(value, "tensor.empty") is not None:
            op.operands[number] = self._fresh(value, op)
        else:
            op.operands[number] = self._moved_in(value, op)

    def _moved_in(self, value: ir.Value, op: ir.Operation) -> ir.Value:
        """The value in L1, by way of L2."""
        if value in self.in_l1:
            return self.in_l1[value]
        part = self._core_part(value, op)
        if part is None:
            return value
        with at(self._needed_by(value, op)):
            self.in_l1[value] = copy_into(part, allocate(shape_of(value), element_type_of(value), L1))
        self.context.count("operands promoted")
        return self.in_l1[value]

    def _gather(self, op: ir.Operation, number: int) -> None:
        """Moves a windowed operand into L1 with a dimension for each loop; the op then reads it like a matmul's."""
        value = op.operands[number]
        part = self._core_part(value, op)
        if part is None:
            return
        with at(self._needed_by(value, op)):
            op.operands[number] = gather(part, op, number)
        self.context.count("windows gathered")

    def _core_part(self, value: ir.Value, op: ir.Operation) -> ir.Value | None:
        """The value as a part of its block in L2; None after reporting that it isn't."""
        strategy = strategy_of(op)
        inner = _inner_loops(value, op, self.grid, strategy)
        resident = strategy is not None and bool(strategy.hold)
        whole = ROW_LOOP in op.attributes
        shared = shared_slice(value, self.grid, resident=resident, whole=whole, inner=inner)
        if shared is None:
            owner = self.grid if isinstance(value.owner, ir.Block) else value.owner.operation
            self.context.error(owner, "an operand is no slice of its block that all cores could share in L2")
            return None
        block = self._in_l2(value, op, shared, inner, whole=whole)
        with at(self._needed_by(value, op)):
            return shared.core_part(block)

    def _in_l2(
        self, value: ir.Value, op: ir.Operation, shared: SharedSlice, inner: Sequence[ir.Operation], *, whole: bool
    ) -> ir.Value:
        """The block in L2: one buffer for all who go through it along the same coordinates, by which it is divided.

        What is whole comes in the order in which ops need it; of all else, what is in a sequence comes late.
        """
        along = tuple(_coordinates(place, self.grid) for place in shared.core_offsets)
        key = (shared.source, shared.offsets, shared.sizes, along)
        if key not in self.in_l2 or not self._is_behind(value, self.in_l2[key]):
            place = _outermost(self.grid, shared.source)
            is_late = shared.follows_k or (place == self.grid and not whole and self._is_in_sequence(value))
            with at(inner[-1] if inner else self._needed_by(value, op)) if is_late else at(place):
                self.in_l2[key] = promote_to_l2(shared)[0]
        return self.in_l2[key]

    def _is_behind(self, value: ir.Value, block: ir.Value) -> bool:
        """Whether a block in L2 is there where a value is: what comes late may be late for who stands before."""
        made = block.owner.operation
        own = self.grid if isinstance(value.owner, ir.Block) else value.owner.operation
        around = (op for op in (own, *parents_of(own)) if op.parent is not None)
        beside = next((op for op in around if op.block == made.block), None)
        return beside is not None and made.is_before_in_block(beside)

    def _is_in_sequence(self, value: ir.Value) -> bool:
        """Whether no loop of the grid has the value: what ops in a row need is moved after what those before need."""
        return self._block_of(value).owner.operation == self.grid

    def _needed_by(self, value: ir.Value, op: ir.Operation) -> ir.Operation:
        """In front of what a value is moved in: the op, or the loop around it that is beside the value."""
        block = self._block_of(value)
        return next(each for each in (op, *parents_of(op)) if each.block == block)

    def _block_of(self, value: ir.Value) -> ir.Block:
        """Where the value is, if that is inside of the grid; else the grid's body."""
        block = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
        inside = self.grid in (block.owner.operation, *parents_of(block.owner.operation))
        return block if inside else self.grid.regions[0].blocks[0]


def _whole_of(value: ir.Value) -> ir.Value:
    """What a value is a part of, or was put into, before loops."""
    if isinstance(value, ir.BlockArgument) and (loop := value.owner.owner.operation).name == "scf.for":
        return _whole_of(loop.operands[2 + value.arg_number]) if value.arg_number else value
    if (part := producer(value, "tensor.extract_slice")) is not None:
        return _whole_of(part.operands[0])
    if (put := producer(value, "tensor.insert_slice")) is not None:
        return _whole_of(put.operands[1])
    if (filled := producer(value, "linalg.fill")) is not None:
        return _whole_of(filled.operands[1])
    return value


def _inner_loops(
    value: ir.Value, op: ir.Operation, grid: ir.Operation, strategy: Strategy | None
) -> list[ir.Operation]:
    """The loops around a value that go through what L2 has of an op's streamed loops, the innermost first."""
    keeps_rows = ROW_LOOP in op.attributes  # of which L2 has all
    if isinstance(value.owner, ir.Block) or not (keeps_rows or strategy):
        return []
    pieces = zip(strategy.stream, strategy.stream_l2) if strategy is not None else ()
    number = None if keeps_rows else sum(piece < in_l2 for piece, in_l2 in pieces)
    inside = list(takewhile(lambda parent: parent != grid, parents_of(op)))[:number]
    return [loop for loop in parents_of(value.owner.operation) if loop in inside]


def _coordinates(terms: Sequence[Mixed], grid: ir.Operation) -> frozenset[int]:
    """The coordinates of the grid that a sum of indices is computed from."""
    found: list[frozenset[int]] = []
    for index in terms:
        if isinstance(index, ir.BlockArgument):
            found.append(frozenset([index.arg_number]) if index.owner.owner.operation == grid else frozenset())
        elif not isinstance(index, int):
            found.append(_coordinates(list(index.owner.operation.operands), grid))
    return frozenset[int]().union(*found)


def _outermost(grid: ir.Operation, source: ir.Value) -> ir.Operation:
    """The outermost loop around the grid that doesn't change the source; the grid itself if all do."""
    place = grid
    for loop in parents_of(grid):
        if loop.name != "scf.for" or is_inside(source, loop):
            break
        place = loop
    return place
