"""What matmuls and bundles are to bounds: their sizes, and a convolution's window. Reads IR and changes nothing."""

from __future__ import annotations

from math import prod

from npuflow.bindings import ir
from npuflow.bounds.sizes import BundleSizes, ConvolutionSizes, MatmulSizes, OpSizes, WindowLine
from npuflow.core.build import element_bytes, element_type_of, shape_of
from npuflow.ops.bundle import Bundle
from npuflow.ops.bundle_ops import unpadded
from npuflow.ops.contraction import Contraction, is_elementwise, is_matmul, match_contraction, producer
from npuflow.ops.factors import factors_of
from npuflow.ops.linear import Linear, input_count, is_reduction, linear_maps, loop_extents
from npuflow.strategy.describe_bundle import macs_of, needed_bytes
from npuflow.strategy.describe_group import group_of_matmul
from npuflow.strategy.group import BATCH, Group, K, M, MatmulOperand, N

# Rows and columns; what windows go along in a third dimension has no bound here.
_IMAGE_DIMS = 2
_WHOLE = WindowLine(1, 1, 1, 0, 1)


def matmul_sizes(group: Group) -> MatmulSizes:
    """The sizes of a matmul's group."""
    sizes, bytes_of = group.sizes, {tensor.operand: tensor.element_bytes for tensor in group.tensors}
    lhs, rhs, acc = (bytes_of[operand] for operand in (MatmulOperand.LHS, MatmulOperand.RHS, MatmulOperand.SUM))
    return MatmulSizes(sizes[M], sizes[N], sizes[K], sizes[BATCH], lhs, rhs, acc, group.outputs[0].element_bytes)


def bundle_sizes(bundle: Bundle) -> OpSizes:
    """The sizes of a bundle: as a matmul's if it is one, with its convolution's if it sums products of windows."""
    matmul = matmul_in(bundle)
    if matmul is not None:
        return matmul_sizes(group_of_matmul(matmul))
    sums = [op for op in bundle.ops if factors_of(op) is not None]
    found = _convolution(sums[0], bundle) if len(sums) == 1 else None
    return BundleSizes(macs_of(bundle), needed_bytes(bundle), found)


def matmul_in(bundle: Bundle) -> Contraction | None:
    """The matmul that a bundle is, alone or with its tail."""
    first, *rest = bundle.ops
    found = match_contraction(first)
    reads = not rest or (len(rest) == 1 and is_elementwise(rest[0]) and first.results[0] in list(rest[0].operands))
    return found if found is not None and is_matmul(found) and reads else None


def _convolution(op: ir.Operation, bundle: Bundle) -> ConvolutionSizes | None:
    """An image's windows times weights, neither of which the bundle makes; None for anything else."""
    maps, inputs = linear_maps(op), _bare_inputs(op, bundle)
    if maps is None or len(inputs) != 2:
        return None
    weights, image = sorted(inputs, key=lambda number: not _follows_loops(maps[number]))
    lines = _lines(op, image, maps[image])
    if lines is None or not _follows_loops(maps[weights]):
        return None
    of_image, of_weights = (frozenset(loop for dim in maps[n] for loop, _ in dim.terms) for n in (image, weights))
    plain = [dim.terms[0][0] for dim in maps[image] if _is_loop(dim)]
    channels = [loop for loop in plain if is_reduction(op, loop)]
    shared = [loop for loop in of_image & of_weights if not is_reduction(op, loop)]
    if shared or not of_weights.issuperset(channels):
        return None
    extents = loop_extents(op)
    batch = prod(extents[loop] for loop in plain if loop not in channels)
    made = prod(extents[loop] for loop in of_weights - of_image)
    results = batch * lines[0].results * lines[1].results * made
    return ConvolutionSizes(
        batch,
        rows=lines[0],
        columns=lines[1],
        in_channels=prod(extents[loop] for loop in channels),
        out_channels=made,
        image_bytes=element_bytes(element_type_of(op.operands[image])),
        weight_bytes=element_bytes(element_type_of(op.operands[weights])),
        acc_bytes=element_bytes(element_type_of(op.operands[input_count(op)])),
        result_bytes=_result_bytes(bundle, results),
    )


def _bare_inputs(op: ir.Operation, bundle: Bundle) -> list[int]:
    """Of the two factors, those that are read from outside of the bundle as they are."""
    bare = [factor.inputs[0] for factor in factors_of(op) or () if factor.is_bare]
    return [number for number in bare if not bundle.is_internal(op.operands[number])]


def _is_loop(dim: Linear) -> bool:
    return len(dim.terms) == 1 and dim.terms[0][1] == 1


def _follows_loops(dims: tuple[Linear, ...]) -> bool:
    """Whether each dimension is walked along by one loop, step by step."""
    return all(map(_is_loop, dims))


def _result_bytes(bundle: Bundle, results: int) -> int:
    """The width of what leaves the bundle for each of the convolution's results; 0 where that is something else."""
    value = bundle.root.results[0]
    return element_bytes(element_type_of(value)) if prod(shape_of(value)) == results else 0


def _lines(op: ir.Operation, image: int, dims: tuple[Linear, ...]) -> tuple[WindowLine, WindowLine] | None:
    """The image's dimensions that windows go along, rows first; None where they are no windows without gaps."""
    pad = producer(op.operands[image], "tensor.pad")
    exists = shape_of(unpadded(op.operands[image]))
    before = [0] * len(dims) if pad is None else list(ir.DenseI64ArrayAttr(pad.attributes["static_low"]))
    found = [_line(op, dim, low, size) for dim, low, size in zip(dims, before, exists) if not _is_loop(dim)]
    lines = [line for line in found if line is not None]
    if len(lines) != len(found) or not 1 <= len(lines) <= _IMAGE_DIMS:
        return None
    return (lines[0], lines[1]) if len(lines) == _IMAGE_DIMS else (_WHOLE, lines[0])


def _line(op: ir.Operation, dim: Linear, before: int, size: int) -> WindowLine | None:
    """A dimension along which results step, by steps of one within a window."""
    extents = loop_extents(op)
    taps = [(loop, step) for loop, step in dim.terms if is_reduction(op, loop)]
    results = [(loop, step) for loop, step in dim.terms if not is_reduction(op, loop)]
    if len(results) != 1 or len(taps) > 1 or any(step != 1 for _, step in taps):
        return None
    ((loop, step),) = results
    return WindowLine(extents[loop], prod(extents[tap] for tap, _ in taps), step, before, size)
