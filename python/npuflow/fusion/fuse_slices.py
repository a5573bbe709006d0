"""npuflow-fuse-slices: what reads slices of a matmul's result is done on the tiles of a matmul for each slice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import (
    at,
    element_type_of,
    empty,
    extract_slice,
    fill,
    generic_op,
    has_unit_strides,
    offsets_of,
    shape_of,
    sizes_of,
)
from npuflow.core.copies import cloned, erase_unused
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.frontend.fewer_dims import groups_without, rewrite_without
from npuflow.frontend.reshape import expanded
from npuflow.network.groups import FusionGroup
from npuflow.ops.bundle import free_numbers, make_bundle, mark_bundle
from npuflow.ops.contraction import (
    BUNDLE,
    STRATEGY,
    Contraction,
    is_elementwise,
    only_user,
    open_matmuls,
    operand_loops,
    producer,
    root_of,
    tail_of,
)
from npuflow.ops.linear import input_count, iterators, maps_of
from npuflow.ops.products import keep_reshaped
from npuflow.ops.reshapes import readers, unreshaped
from npuflow.strategy.bundle_times import bundle_seconds, group_seconds
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

_SLICE = "tensor.extract_slice"


@register_pass
@dataclass(frozen=True)
class FuseSlices(Pass):
    """Makes a matmul one for each slice of its result, where an elementwise op reads them together and that is faster.

    A gate multiplies one half of a layer's result by a function of the other. With a matmul for each half, one of them
    and the gate are a bundle, which reads what the other one made.

        %r = linalg.matmul ins(%x, %w : tensor<64x32xbf16>, tensor<32x80xbf16>) outs(...)
        %a = tensor.extract_slice %r[0, 0] [64, 40] [1, 1]
        %b = tensor.extract_slice %r[0, 40] [64, 40] [1, 1]
        %g = linalg.generic ... ins(%a, %b : ...) { arith.mulf }

    becomes

        %v = tensor.extract_slice %w[0, 40] [32, 40] [1, 1]
        %b = linalg.generic ... ins(%x, %v : ...) { arith.mulf ... arith.addf }
        %u = tensor.extract_slice %w[0, 0] [32, 40] [1, 1]
        %a = linalg.generic ... ins(%x, %u : ...) attrs = {npu.bundle = 0} { arith.mulf ... arith.addf }
        %g = linalg.generic ... ins(%a, %b : ...) attrs = {npu.bundle = 0} { arith.mulf }
    """

    name = "npuflow-fuse-slices"
    group = "fusion"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device, said = planned_device(op, self.device), Strategy(depth_between=self.depth_between)
        for function in ops_of(op, "func.func"):
            for matmul in open_matmuls(function):
                if (sliced := _sliced(matmul)) is not None:
                    _decide(function, sliced, device, said, context)


@dataclass(frozen=True)
class _SlicedMatmul:
    """A matmul whose result is read by slices of its columns and by nobody else, and the op that reads these."""

    matmul: Contraction
    slices: tuple[ir.Operation, ...]
    reader: ir.Operation

    @property
    def units(self) -> list[int]:
        """The reader's loops of one step, where the matmul's result has none."""
        shape = shape_of(self.reader.results[0])
        is_reshaped = len(shape) != len(shape_of(self.matmul.result))
        return [loop for loop, size in enumerate(shape) if size == 1 and is_reshaped]

    @property
    def columns(self) -> list[tuple[int, int]]:
        """The first column of each slice, and how many there are."""
        shapes = ((offsets_of(each)[-1], sizes_of(each)[-1]) for each in self.slices)
        return [(first, count) for first, count in shapes if isinstance(first, int) and isinstance(count, int)]


def _sliced(matmul: Contraction) -> _SlicedMatmul | None:
    """How a matmul's result is read, if it is by slices that one op reads together."""
    result = root_of(matmul).results[0]
    found = tuple(sorted(dict.fromkeys(readers(result)), key=_first_column))
    if len(found) < 2 or not all(_takes_columns(each, result) for each in found):
        return None
    read_by = {only_user(each.results[0]) for each in found}
    reader = next(iter(read_by))
    is_plain = all(loop >= 0 for own in operand_loops(matmul.op) for loop in own)
    if len(read_by) > 1 or reader is None or not is_plain or operand_loops(matmul.op)[-1][-1] not in matmul.n:
        return None
    loops = operand_loops(reader) if is_elementwise(reader) and not {BUNDLE, STRATEGY} & set(reader.attributes) else []
    inputs = list(reader.operands)[: input_count(reader)] if loops else []
    places = [inputs.index(each.results[0]) for each in found if each.results[0] in inputs]
    if len(places) < len(found) or any(loops[place] != loops[-1] for place in places):
        return None
    sliced = _SlicedMatmul(matmul, found, reader)
    return sliced if len(loops[-1]) - len(sliced.units) == len(shape_of(result)) else None


def _first_column(op: ir.Operation) -> int:
    """Where a slice begins in the last dimension, where that is known."""
    offset = offsets_of(op)[-1] if op.name == _SLICE else 0
    return offset if isinstance(offset, int) else 0


def _takes_columns(slice_op: ir.Operation, result: ir.Value) -> bool:
    """Whether an op takes some of the last dimension and all of others, reshaped by dimensions of one at most."""
    if slice_op.name != _SLICE or not has_unit_strides(slice_op):
        return False
    source, offsets, sizes = shape_of(slice_op.operands[0]), offsets_of(slice_op), sizes_of(slice_op)
    is_whole = offsets[:-1] == [0] * (len(source) - 1) and sizes[:-1] == source[:-1]
    is_same = [size for size in source if size > 1] == [size for size in shape_of(result) if size > 1]
    is_same = is_same and source[-1] == shape_of(result)[-1]
    is_known = isinstance(offsets[-1], int) and shape_of(slice_op.results[0]) == sizes
    return is_whole and is_same and is_known and unreshaped(slice_op.operands[0]) == result


def _decide(
    function: ir.Operation, sliced: _SlicedMatmul, device: Device, said: Strategy, context: PassContext
) -> None:
    """Puts matmuls of slices in place of a matmul and its reader if that is faster."""
    tail = tail_of(sliced.matmul)
    whole = FusionGroup(tuple(op for op in (sliced.matmul.op, tail) if op is not None), is_matmul=True)
    apart = group_seconds(whole, device, said) + group_seconds(FusionGroup((sliced.reader,)), device, said)
    (*others, last), result = _parts(sliced, tail)
    bundle = bundle_seconds(make_bundle(last), device, said)
    alone = [group_seconds(FusionGroup(ops, is_matmul=True), device, said) for ops in others]
    if bundle is None or 0.0 in alone or bundle + sum(alone) >= apart:
        erase_unused([result.owner.operation])
        return
    ratio = (bundle + sum(alone)) / apart
    where = f"is done on the tiles of one of {len(alone) + 1} matmuls"
    context.remark(sliced.reader, f"{where}: that takes an estimated {ratio:.2f} of the time")
    context.count("matmuls of slices", len(alone) + 1)
    mark_bundle(last, next(free_numbers(function)))
    sliced.reader.results[0].replace_all_uses_with(result)
    erase_unused([sliced.reader])


def _parts(sliced: _SlicedMatmul, tail: ir.Operation | None) -> tuple[list[tuple[ir.Operation, ...]], ir.Value]:
    """Matmuls of slices with their tails, the last one with the reader, too, and what this makes."""
    matmul, reader = sliced.matmul.op, sliced.reader
    shape, groups, values = shape_of(reader.results[0]), [], {}
    units = sliced.units
    with at(reader):
        for each, columns in reversed(list(zip(sliced.slices, sliced.columns))):
            ops = [_on_columns(matmul, operand_loops(matmul)[-1][-1], columns, {})]
            if tail is not None:
                ops.append(
                    _on_columns(tail, operand_loops(tail)[-1][-1], columns, {matmul.results[0]: ops[0].results[0]})
                )
            groups.append(tuple(ops))
            values[each.results[0]] = expanded(ops[-1].results[0], shape, groups_without(shape, units), at_op=reader)
        copy = cloned(reader, values)[0].owner.operation
    along = [[d for d, loop in enumerate(own) if loop in units] for own in operand_loops(copy)]
    read = rewrite_without(copy, units, along) if units else copy
    erase_unused(value.owner.operation for value in values.values())
    groups[-1] = *groups[-1], read
    return groups, expanded(read.results[0], shape, groups_without(shape, units), at_op=reader)


def _on_columns(
    op: ir.Operation, loop: int, columns: tuple[int, int], values: Mapping[ir.Value, ir.Value]
) -> ir.Operation:
    """An op for some steps of a loop alone; `values` are those that are made for these steps already."""
    copy = op.clone().operation
    read = zip(op.operands, operand_loops(op))
    operands = [values.get(value) or _columns_of(value, own, loop, columns) for value, own in read]
    count = len(op.operands) - len(op.results)
    made = generic_op(operands[:count], operands[count:], maps_of(op), iterators(op))
    copy.regions[0].blocks[0].append_to(made.regions[0])
    copy.erase()
    keep_reshaped(op, made)
    return made


def _columns_of(value: ir.Value, loops: Sequence[int], loop: int, columns: tuple[int, int]) -> ir.Value:
    """The part of an operand that some steps of a loop read; what is filled or empty is made so."""
    if loop not in loops:
        return value
    first, count = columns
    shape = shape_of(value)
    sizes = [count if own == loop else size for own, size in zip(loops, shape)]
    filled = producer(value, "linalg.fill")
    if filled is not None:
        return fill(filled.operands[0], empty(sizes, element_type_of(value)))
    if producer(value, "tensor.empty") is not None:
        return empty(sizes, element_type_of(value))
    return extract_slice(value, [first if own == loop else 0 for own in loops], sizes)
