"""Whether a bundle fits a core, and how much it computes and needs. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of, shape_of, tensor_bytes
from npuflow.kernels.code_bytes import kernel_bytes, move_bytes, outlined_bytes
from npuflow.kernels.program_bytes import program_bytes
from npuflow.ops.bundle import Bundle
from npuflow.ops.bundle_ops import unpadded
from npuflow.ops.contraction import producer
from npuflow.ops.factors import factors_of
from npuflow.ops.kept_lines import lines_of
from npuflow.ops.linear import Linear, input_count, loop_extents
from npuflow.ops.products import pads_streamed
from npuflow.ops.streams import stream_of
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.group import Group, Role
from npuflow.strategy.mapping import Depths, Mapping, Spread
from npuflow.strategy.room import fits_l1
from npuflow.target import Device, KernelClass

# Beside an op's kernel: the fill in front of it, and the steps that hand its operands over, with some to spare; what a
# schedule really needs is counted when there is one.
_BESIDE_KERNEL_BYTES = 1024


def bundle_fits(bundle: Bundle, device: Device) -> bool:
    """Whether a bundle fits a core: a tile of it in L1, its kernels where programs are, two slots of what is moved."""
    group = group_of_bundle(bundle)
    return can_be_moved(_moved(group), device) and kernels_fit(bundle.ops, device) and smallest_fits(group, device)


def smallest_fits(group: Group, device: Device) -> bool:
    """Whether L1 has room for the smallest tile of a bundle, in one slot each."""
    tiles = [1 if loop < group.space or loop in group.streamed else size for loop, size in enumerate(group.sizes)]
    smallest = Mapping(tuple(tiles), Spread((1, 1), 0, 0), Depths(1, 1, 1), tuple(range(group.space)))
    return fits_l1(group, smallest, device)


def _moved(group: Group) -> int:
    """How many tensors come into a core or leave it."""
    return sum(tensor.role is not Role.LOCAL for tensor in group.tensors)


def kernels_fit(ops: Sequence[ir.Operation], device: Device) -> bool:
    """Whether a core's program has room for the kernels of ops, however they are mapped."""
    have = device.engine(KernelClass.VECTOR).program_bytes
    return not have or sum(kernel_bytes(op, device) + _BESIDE_KERNEL_BYTES for op in ops) <= have


def can_be_moved(tensors: int, device: Device, slots: int = 2) -> bool:
    """Whether so many tensors, each in so many slots, can be moved into or out of a core."""
    return slots * tensors <= device.dma(device.kernel_level).descriptors


def program_fits(bundle: Bundle, group: Group, mapping: Mapping, device: Device) -> bool:
    """Whether a core's program has room for a mapped bundle: its kernels, their fills, and the steps between.

    What is left over of streamed loops takes kernels of its own, and so do first rows, where rows are kept.
    """
    have = device.engine(KernelClass.VECTOR).program_bytes
    stream = stream_of(bundle)
    left = [loop for loop in stream.loops if bundle.sizes[loop] % mapping.tiles[loop] and not pads_streamed(bundle)]
    kernels, steps = _first_rows(bundle, mapping, device)
    for index, op in enumerate(bundle.ops):
        times = 1 + (bool(left) and index in stream.ops)
        fills = _fills_of(op)
        sizes = [mapping.tiles[loop] for loop in bundle.loops[index]]
        kernels += times * [outlined_bytes(op, device, sizes), *(outlined_bytes(fill, device) for fill in fills)]
        steps += times * (1 + len(fills))
    return not have or program_bytes(kernels, steps + 2 * _moved(group) * (1 + bool(left))) <= have


def _first_rows(bundle: Bundle, mapping: Mapping, device: Device) -> tuple[list[int], int]:
    """The kernels, and steps, for the first rows of a bundle that keeps rows, and for the moves of rows.

    As many rows as a step makes take its kernel, if they lie alike: a line may have its first rows elsewhere.
    """
    kernels: list[int] = []
    kept, lines, steps = bundle.kept, lines_of(bundle), 0
    for index, first in enumerate(kept.first if kept is not None else ()):
        op, line = bundle.ops[index], lines.get(index)
        if line is not None:
            moves = 1 if line.kept == first else 2
            kernels += (1 + moves) * [move_bytes(device)]
            steps += 1 + moves
        if first and kept is not None:
            tiles = [first if loop == kept.loop else mapping.tiles[loop] for loop in bundle.loops[index]]
            own = [outlined_bytes(op, device, tiles), *(outlined_bytes(fill, device) for fill in _fills_of(op))]
            lies_alike = line is None or line.kept == first
            kernels += [] if first == mapping.tiles[kept.loop] and lies_alike else own
            steps += len(own)
    return kernels, steps


def _fills_of(op: ir.Operation) -> list[ir.Operation]:
    return [source for value in op.operands if (source := producer(value, "linalg.fill")) is not None]


def macs_of(bundle: Bundle) -> int:
    """The multiply-accumulates of a bundle's sums of products."""
    return sum(prod(loop_extents(op)) for op in bundle.ops if factors_of(op) is not None)


def needed_bytes(bundle: Bundle) -> int:
    """The bytes of what a bundle reads of its operands at all, and of what it gives away."""
    read: dict[ir.Value, int] = {}
    for index, op in enumerate(bundle.ops):
        for value, dims in list(zip(op.operands, bundle.maps(index)))[: input_count(op)]:
            if isinstance(value.type, ir.ShapedType) and not bundle.is_internal(value):
                read[value] = max(read.get(value, 0), _touched_bytes(value, dims, bundle.sizes))
    made = sum(map(tensor_bytes, bundle.root.results))
    return sum(read.values()) + made


def _touched_bytes(value: ir.Value, dims: tuple[Linear, ...], sizes: tuple[int, ...]) -> int:
    """What of a tensor some index reaches; of its padding, nothing."""
    exists = shape_of(unpadded(value))
    touched = 1
    for dim, padded, size in zip(dims, shape_of(value), exists):
        touched *= max(1, min(size, dim.distinct(sizes) - (padded - size)))
    return touched * element_bytes(element_type_of(value))
