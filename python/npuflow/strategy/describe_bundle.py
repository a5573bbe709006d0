"""A bundle as the strategy sees it: its sizes, tensors and work. Reads IR and changes nothing."""

from __future__ import annotations

from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of, shape_of
from npuflow.ops.bundle import Bundle
from npuflow.ops.contraction import producer, users
from npuflow.ops.factors import factors_of
from npuflow.ops.linear import Linear, input_count, loop_extents
from npuflow.ops.products import match_products, pads_streamed
from npuflow.strategy.bundle_choose import smallest_tile_fits
from npuflow.strategy.bundle_shape import BundleShape, BundleTensor, Role, Work
from npuflow.strategy.code_bytes import kernel_bytes
from npuflow.strategy.describe_vector import describe_vector_work
from npuflow.target import Device

# Beside an op's kernel: the fill in front of it, and the steps that hand its operands over, with some to spare; what a
# schedule really needs is counted when there is one.
_BESIDE_KERNEL_BYTES = 1024


def bundle_fits(bundle: Bundle, device: Device) -> bool:
    """Whether a bundle fits a core: a tile of it in L1, its kernels where programs are, two slots of what is moved."""
    have = device.engines[0].program_bytes
    need = sum(kernel_bytes(op, device) + _BESIDE_KERNEL_BYTES for op in bundle.ops) if have else 0
    shape = shape_of_bundle(bundle)
    moved = sum(tensor.role is not Role.LOCAL for tensor in shape.tensors)
    return need <= have and 2 * moved <= device.dma(1).descriptors and smallest_tile_fits(shape, device)


def shape_of_bundle(bundle: Bundle) -> BundleShape:
    """The bundle's sizes, tensors and work, as the strategy sees them."""
    tensors: dict[tuple[object, ...], BundleTensor] = {}
    work = []
    for index, op in enumerate(bundle.ops):
        maps = bundle.maps(index)
        arguments = op.regions[0].blocks[0].arguments
        for number, (value, dims) in enumerate(zip(op.operands, maps)):
            if not isinstance(value.type, ir.ShapedType) or bundle.is_internal(value):
                continue
            is_init = number >= input_count(op)
            if is_init and producer(value, "linalg.fill", "tensor.empty") is not None:
                continue
            is_read = is_init or any(True for _ in arguments[number].uses)
            key = (value, tuple((_in_space(bundle, dim), dim.extent(bundle.sizes)) for dim in dims))
            role = Role.INPUT if is_read else Role.LOCAL
            tensors.setdefault(key, _tensor(f"in{len(tensors)}", role, _unpadded(value), dims))
        for number, result in enumerate(op.results):
            outside = any(user not in bundle.ops for user in users(result))
            role = Role.OUTPUT if outside or op == bundle.root else Role.LOCAL
            dims = maps[input_count(op) + number]
            tensors[index, number] = _tensor(f"out{len(tensors)}", role, result, dims)
        work.append(_work(bundle, index))
    streamed = tuple(bundle.streamed())
    pads = pads_streamed(bundle)
    return BundleShape(bundle.sizes, bundle.space, streamed, tuple(tensors.values()), tuple(work), pads)


def _in_space(bundle: Bundle, dim: Linear) -> tuple[tuple[int, int], ...]:
    return tuple((loop, c) for loop, c in dim.terms if loop < bundle.space)


def _unpadded(value: ir.Value) -> ir.Value:
    pad = producer(value, "tensor.pad")
    return value if pad is None else pad.operands[0]


def _tensor(name: str, role: Role, value: ir.Value, dims: tuple[Linear, ...]) -> BundleTensor:
    return BundleTensor(name, role, dims, tuple(shape_of(value)), element_bytes(element_type_of(value)))


def _work(bundle: Bundle, index: int) -> Work:
    op = bundle.ops[index]
    return Work(bundle.loops[index], describe_vector_work(op), match_products(op))


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
    made = sum(prod(shape_of(v)) * element_bytes(element_type_of(v)) for v in bundle.root.results)
    return sum(read.values()) + made


def _touched_bytes(value: ir.Value, dims: tuple[Linear, ...], sizes: tuple[int, ...]) -> int:
    """What of a tensor some index reaches; of its padding, nothing."""
    exists = shape_of(_unpadded(value))
    touched = 1
    for dim, padded, size in zip(dims, shape_of(value), exists):
        touched *= max(1, min(size, dim.distinct(sizes) - (padded - size)))
    return touched * element_bytes(element_type_of(value))
