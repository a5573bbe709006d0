"""Which part of a block's operand a group of cores reads at a time: the *shared* slice that belongs in L2.

A core's operand is a chain of slices of its block's operand: some offsets follow the core's place in the grid, others
the K loops. The shared slice keeps the K part and widens the core part to the whole block, so it doesn't depend on the
core: it is moved into L2 once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import (
    Mixed,
    allocate,
    copy_into,
    difference,
    element_type_of,
    extract_slice,
    fill,
    insert_slice,
    minimum,
    mixed,
    offsets_of,
    shape_of,
    sizes_of,
    weighted_sum,
    zero,
)
from npuflow.core.passes import parents_of
from npuflow.ops.contraction import enclosing, producer
from npuflow.tiling.regions import Region, clip

L2, L1 = 1, 2


@dataclass(frozen=True)
class SharedSlice:
    """A slice of the block's operand `source`, and where in it this core's part lies: at sums of `core_offsets`."""

    source: ir.Value
    offsets: tuple[Mixed, ...]
    sizes: tuple[int, ...]
    core_offsets: tuple[tuple[Mixed, ...], ...]
    core_sizes: tuple[int, ...]
    follows_k: bool

    def core_part(self, moved: ir.Value) -> ir.Value:
        """What a core has of the slice, once that was moved."""
        if self.core_sizes == self.sizes:
            return moved
        places = [weighted_sum([(1, offset) for offset in offsets]) for offsets in self.core_offsets]
        return extract_slice(moved, places, self.core_sizes)


def shared_slice(
    operand: ir.Value,
    scope: ir.Operation | None,
    *,
    resident: bool = False,
    whole: bool = False,
    inner: Sequence[ir.Operation] = (),
) -> SharedSlice | None:
    """The shared slice behind `operand`; `scope` is the outermost op around the cores' work (None: `operand` itself).

    None if the shared slice is cut out of a core's part. A constant of one value, whose slices were folded into smaller
    constants inside of `scope`, is moved out of it: all cores read the same. K loops that are `inner` go through what
    L2 has. What is to be `resident`, and the innermost loop around `scope` does not change, is widened to all of K. L2
    has the `whole` of a block's operand, whatever part of it a core's first slice is.
    """
    chain: list[ir.Operation] = []
    value = operand
    while scope is not None and is_inside(value, scope):
        constant = producer(value, "arith.constant")
        if constant is not None:
            constant.move_before(scope)
            break
        slice_op = producer(value, "tensor.extract_slice")
        if slice_op is None:
            return None
        chain.append(slice_op)
        value = slice_op.operands[0]
    grid = enclosing_grid(chain)
    own = [*inner, *([] if grid is None else [grid])]
    loop = None if scope is None else next((op for op in parents_of(scope) if op.name == "scf.for"), None)
    resident = resident and (loop is None or not is_inside(value, loop))
    sizes = shape_of(value)
    offsets: list[Mixed] = [0] * len(sizes)
    core: list[tuple[Mixed, ...]] = [()] * len(sizes)
    for slice_op in reversed(chain):
        for d, (offset, size) in enumerate(zip(offsets_of(slice_op), shape_of(slice_op.results[0]))):
            if offset != 0 and (resident or depends_on(offset, own)):
                core[d] = (*core[d], offset)
            elif offset == 0:
                sizes[d] = sizes[d] if core[d] or whole else size
            elif core[d] or offsets[d] != 0:
                return None
            else:
                offsets[d], sizes[d] = offset, size
    follows_k = any(not isinstance(o, int) for o in offsets)
    return SharedSlice(value, tuple(offsets), tuple(sizes), tuple(core), tuple(shape_of(operand)), follows_k)


def enclosing_grid(chain: Sequence[ir.Operation]) -> ir.Operation | None:
    return enclosing(chain[0], "scf.forall") if chain else None


def is_inside(value: ir.Value, scope: ir.Operation) -> bool:
    """Whether a value is made inside of an op, or is an argument of its body."""
    owner = value.owner
    if not isinstance(owner, ir.Block):
        return scope in parents_of(owner.operation)
    around = owner.owner.operation
    return around == scope or scope in parents_of(around)


def depends_on(value: Mixed, loops: Sequence[ir.Operation]) -> bool:
    """Whether an index is computed from the coordinates of any of these loops."""
    if isinstance(value, int):
        return False
    if isinstance(value, ir.BlockArgument):
        return value.owner.owner.operation in loops
    return any(depends_on(operand, loops) for operand in value.owner.operation.operands)


@dataclass(frozen=True)
class Movement:
    """What is moved from L3, where in the shared slice it begins and how much it is; the rest is zero."""

    moved: ir.Value
    start: tuple[Mixed, ...]
    valid: tuple[Mixed, ...]

    def fills(self, sizes: Sequence[int]) -> bool:
        return list(self.valid) == list(sizes)


def movement_of(shared: SharedSlice) -> Movement:
    """The valid part of the shared slice, as a slice of the unpadded tensor in L3."""
    pad = producer(shared.source, "tensor.pad")
    if pad is None:
        return Movement(extract_slice(shared.source, shared.offsets, shared.sizes), *_all_of(shared))
    source, lows = pad.operands[0], low_of(pad)
    ends = zip(lows, _have(source), _are_whole(shared))
    if any(not whole and (low != 0 or not isinstance(have, int)) for low, have, whole in ends):
        return _piece_of(shared, source, lows)
    valid = _valid_part(shared, source, lows)
    return Movement(extract_slice(source, shared.offsets, valid), tuple(lows), tuple(valid))


def _all_of(shared: SharedSlice) -> tuple[tuple[Mixed, ...], tuple[Mixed, ...]]:
    return (0,) * len(shared.sizes), shared.sizes


def _are_whole(shared: SharedSlice) -> list[bool]:
    """For each dimension, whether the slice takes all of it."""
    full = shape_of(shared.source)
    return [offset == 0 and size == its for offset, size, its in zip(shared.offsets, shared.sizes, full)]


def _piece_of(shared: SharedSlice, source: ir.Value, lows: Sequence[Mixed]) -> Movement:
    """The movement where a piece may begin or end within the zeros: counted in the whole tensor, as blocks are."""
    slice_op = producer(source, "tensor.extract_slice")
    whole = source if slice_op is None else slice_op.operands[0]
    begins = [0] * len(lows) if slice_op is None else offsets_of(slice_op)
    parts = []
    for begin, low, offset, extent, size in zip(begins, lows, shared.offsets, shared.sizes, shape_of(whole)):
        start = weighted_sum([(1, begin), (-1, low), (1, offset)])
        first = 0 if low == 0 else -extent - 1
        parts.append(clip(Region(start, first, size, extent, ()), 0, size))
    moved = extract_slice(whole, [part.begin for part in parts], [part.size for part in parts])
    return Movement(moved, tuple(part.low for part in parts), tuple(part.size for part in parts))


def low_of(pad: ir.Operation) -> list[Mixed]:
    """How much a `tensor.pad` puts in front of each dimension."""
    view = pad.opview
    return mixed(list(ir.DenseI64ArrayAttr(view.static_low)), list(view.low))


def promote_to_l2(shared: SharedSlice) -> tuple[ir.Value, ir.Operation]:
    """Moves the shared slice into an L2 buffer of its full size; returns the tensor and the copy."""
    movement = movement_of(shared)
    element = element_type_of(shared.source)
    buffer = allocate(shared.sizes, element, L2)
    if movement.fills(shared.sizes):
        value = copy_into(movement.moved, buffer)
        return value, value.owner.operation
    filled = fill(zero(element), buffer)
    part = copy_into(movement.moved, extract_slice(filled, movement.start, movement.valid))
    return insert_slice(part, filled, movement.start, movement.valid), part.owner.operation


def _have(source: ir.Value) -> list[Mixed]:
    """The sizes of a slice, or of a whole tensor."""
    slice_op = producer(source, "tensor.extract_slice")
    return list(shape_of(source)) if slice_op is None else sizes_of(slice_op)


def _valid_part(shared: SharedSlice, source: ir.Value, start: Sequence[Mixed]) -> list[Mixed]:
    """How much of the slice exists in the unpadded tensor; what has zeros in front of it is taken whole."""
    have = _have(source)
    padded = shape_of(shared.source)
    valid: list[Mixed] = []
    for size, offset, limit, full, low in zip(shared.sizes, shared.offsets, have, padded, start):
        if limit == full:
            valid.append(size)
        elif low != 0 and offset == 0 and size == full:
            valid.append(limit)
        else:
            valid.append(minimum(size, difference(limit, offset)))
    return valid
