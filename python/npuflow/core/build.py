"""Small builders shared by the passes: slices with mixed offsets, affine arithmetic, allocations, transform steps.

Sizes and offsets are `Mixed`: an int where static, a Value where not. All builders use the ambient insertion point and
location; `at(op)` sets both to an op.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import Union

from npuflow.bindings import affine, arith, bufferization, interpreter, ir, linalg, tensor

Mixed = Union[int, "ir.Value"]


@contextmanager
def at(op: ir.Operation, *, after: bool = False) -> Iterator[None]:
    """Builds before (or after) `op`, at its location."""
    point = ir.InsertionPoint.after(op) if after else ir.InsertionPoint(op)
    with point, op.location:
        yield


@contextmanager
def after_value(value: ir.Value) -> Iterator[None]:
    """Builds behind the op that makes a value, or at the beginning of the block that it is an argument of."""
    if isinstance(value.owner, ir.Block):
        with ir.InsertionPoint.at_block_begin(value.owner), value.owner.owner.location:
            yield
    else:
        with at(value.owner.operation, after=True):
            yield


def dynamic_marker() -> int:
    return int(ir.ShapedType.get_dynamic_size())


def mixed(static: Sequence[int], dynamic: Sequence[ir.Value]) -> list[Mixed]:
    """Static and dynamic parts, as an op stores them, in one list."""
    rest = iter(dynamic)
    marker = dynamic_marker()
    return [next(rest) if s == marker else s for s in static]


def split_mixed(values: Sequence[Mixed]) -> tuple[list[int], list[ir.Value]]:
    static = [v if isinstance(v, int) else dynamic_marker() for v in values]
    return static, [v for v in values if not isinstance(v, int)]


def offsets_of(slice_op: ir.Operation) -> list[Mixed]:
    """Offsets of an extract_slice."""
    op = slice_op.opview
    return mixed(list(ir.DenseI64ArrayAttr(op.static_offsets)), list(op.offsets))


def sizes_of(slice_op: ir.Operation) -> list[Mixed]:
    """Sizes of an extract_slice."""
    op = slice_op.opview
    return mixed(list(ir.DenseI64ArrayAttr(op.static_sizes)), list(op.sizes))


def has_unit_strides(slice_op: ir.Operation) -> bool:
    """Whether an extract_slice or insert_slice takes elements side by side."""
    return set(ir.DenseI64ArrayAttr(slice_op.opview.static_strides)) <= {1}


def shape_of(value: ir.Value) -> list[int]:
    """The shape of a shaped value; dynamic sizes as MLIR's marker."""
    return list(ir.ShapedType(value.type).shape)


def is_static(op: ir.Operation) -> bool:
    """Whether all tensors that an op reads and makes have a static shape."""
    kinds = (value.type for value in (*op.operands, *op.results))
    return all(ir.ShapedType(kind).has_static_shape for kind in kinds if isinstance(kind, ir.ShapedType))


def element_type_of(value: ir.Value) -> ir.Type:
    kind = value.type
    return ir.ShapedType(kind).element_type if isinstance(kind, ir.ShapedType) else kind


def element_bytes(kind: ir.Type) -> int:
    """Bytes of one element in memory."""
    if isinstance(kind, ir.ComplexType):
        return 2 * element_bytes(kind.element_type)
    return max(1, int(kind.width) // 8)


def tensor_bytes(value: ir.Value) -> int:
    """Bytes of a shaped value of static shape."""
    return prod(shape_of(value)) * element_bytes(element_type_of(value))


def memory_space_of(kind: ir.MemRefType) -> int:
    """The number of a memref's memory space; 0 where it has none."""
    return 0 if kind.memory_space is None else int(ir.IntegerAttr(kind.memory_space).value)


def extract_slice(
    source: ir.Value, offsets: Sequence[Mixed], sizes: Sequence[Mixed], shape: Sequence[int] | None = None
) -> ir.Value:
    """`tensor.extract_slice` with unit strides; `shape` is the result's where unit dims are left out of it."""
    static_offsets, dynamic_offsets = split_mixed(offsets)
    static_sizes, dynamic_sizes = split_mixed(sizes)
    result = ir.RankedTensorType.get(static_sizes if shape is None else shape, element_type_of(source))
    ones = [1] * len(offsets)
    return tensor.ExtractSliceOp(
        result, source, dynamic_offsets, dynamic_sizes, [], static_offsets, static_sizes, ones
    ).result


def slice_along(source: ir.Value, dim: int, begin: int, size: int) -> ir.Value:
    """So much of a tensor along a dimension, from `begin` on, and all of it along others."""
    shape = shape_of(source)
    offsets = [begin if d == dim else 0 for d in range(len(shape))]
    return extract_slice(source, offsets, [size if d == dim else whole for d, whole in enumerate(shape)])


def insert_slice(source: ir.Value, into: ir.Value, offsets: Sequence[Mixed], sizes: Sequence[Mixed]) -> ir.Value:
    """`tensor.insert_slice` with unit strides."""
    static_offsets, dynamic_offsets = split_mixed(offsets)
    static_sizes, dynamic_sizes = split_mixed(sizes)
    ones = [1] * len(offsets)
    return tensor.InsertSliceOp(
        source, into, dynamic_offsets, dynamic_sizes, [], static_offsets, static_sizes, ones
    ).result


def _expression(value: Mixed, operands: list[ir.Value]) -> ir.AffineExpr:
    if isinstance(value, int):
        return ir.AffineExpr.get_constant(value)
    operands.append(value)
    return ir.AffineExpr.get_dim(len(operands) - 1)


def minimum(left: Mixed, right: Mixed) -> Mixed:
    """min(left, right), folded where both are static."""
    if isinstance(left, int) and isinstance(right, int):
        return min(left, right)
    operands: list[ir.Value] = []
    results = [_expression(left, operands), _expression(right, operands)]
    return affine.AffineMinOp(ir.AffineMap.get(len(operands), 0, results), operands).result


def difference(left: Mixed, right: Mixed) -> Mixed:
    """left - right, folded where both are static."""
    if isinstance(left, int) and isinstance(right, int):
        return left - right
    operands: list[ir.Value] = []
    expression = _expression(left, operands) - _expression(right, operands)
    return _apply(expression, operands)


def weighted_sum(terms: Sequence[tuple[int, Mixed]], constant: int = 0) -> Mixed:
    """sum(factor * value) + constant, folded where everything is static, or just one value."""
    if len(terms) == 1 and terms[0][0] == 1 and constant == 0:
        return terms[0][1]
    operands: list[ir.Value] = []
    expression = ir.AffineExpr.get_constant(constant)
    for factor, value in terms:
        expression = expression + _expression(value, operands) * factor
    return _apply(expression, operands) if operands else ir.AffineConstantExpr(expression).value


def maximum(left: Mixed, right: Mixed) -> Mixed:
    """max(left, right), folded where both are static."""
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    operands: list[ir.Value] = []
    results = [_expression(left, operands), _expression(right, operands)]
    return affine.AffineMaxOp(ir.AffineMap.get(len(operands), 0, results), operands).result


def quotient(left: Mixed, divisor: int) -> Mixed:
    """left / divisor for a `left` that `divisor` divides."""
    if isinstance(left, int):
        return left // divisor
    operands: list[ir.Value] = []
    return _apply(ir.AffineExpr.get_floor_div(_expression(left, operands), divisor), operands)


def quotient_up(left: Mixed, divisor: int) -> Mixed:
    """left / divisor, rounded up."""
    if isinstance(left, int):
        return -(-left // divisor)
    operands: list[ir.Value] = []
    return _apply(ir.AffineExpr.get_ceil_div(_expression(left, operands), divisor), operands)


def _apply(expression: ir.AffineExpr, operands: list[ir.Value]) -> ir.Value:
    return affine.AffineApplyOp(ir.AffineMap.get(len(operands), 0, [expression]), operands).result


def allocate(shape: Sequence[int], element_type: ir.Type, memory_space: int) -> ir.Value:
    """An uninitialised tensor that will be a buffer in a memory space (1 = L2, 2 = L1)."""
    kind = ir.RankedTensorType.get(shape, element_type)
    space = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), memory_space)
    return bufferization.AllocTensorOp(kind, [], memory_space=space).result


def copy_into(source: ir.Value, target: ir.Value) -> ir.Value:
    """A movement: `linalg.copy`, without the cast attribute that its builder adds."""
    result = linalg.copy(source, outs=[target])
    del result.owner.attributes["cast"]
    return result


def generic_op(
    inputs: Sequence[ir.Value],
    outputs: Sequence[ir.Value],
    maps: Sequence[ir.AffineMap],
    kinds: Sequence[str],
    attributes: Mapping[str, ir.Attribute] | None = None,
) -> ir.Operation:
    """A `linalg.generic` without a body yet; `kinds` are `parallel` or `reduction`, `attributes` what else it has."""
    own = {
        **(attributes or {}),
        "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(map_) for map_ in maps]),
        "iterator_types": ir.ArrayAttr.get([ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)]),
    }
    kinds_of_results = [value.type for value in outputs if isinstance(value.type, ir.RankedTensorType)]
    return ir.Operation.create("linalg.generic", kinds_of_results, [*inputs, *outputs], own, regions=1)


def moved(source: ir.Value, target: ir.Value, read: ir.AffineMap, written: ir.AffineMap) -> ir.Value:
    """The tensor that `move` makes."""
    return move(source, target, read, written).results[0]


def move(source: ir.Value, target: ir.Value, read: ir.AffineMap, written: ir.AffineMap) -> ir.Operation:
    """A `linalg.generic` that moves what the map `read` finds to where `written` says."""
    movement = generic_op([source], [target], [read, written], ["parallel"] * written.n_dims)
    block = movement.regions[0].blocks.append(element_type_of(source), element_type_of(target))
    with ir.InsertionPoint(block):
        linalg.YieldOp([block.arguments[0]])
    return movement


def zero(element_type: ir.Type) -> ir.Value:
    """The constant zero of an element type."""
    return arith.ConstantOp(element_type, zero_attribute(element_type)).result


def zero_attribute(element_type: ir.Type) -> ir.Attribute:
    if isinstance(element_type, ir.FloatType):
        return ir.FloatAttr.get(element_type, 0.0)
    return ir.IntegerAttr.get(element_type, 0)


def fill(value: ir.Value, target: ir.Value) -> ir.Value:
    return linalg.fill(value, outs=[target])


def empty(shape: Sequence[Mixed], element_type: ir.Type) -> ir.Value:
    return tensor.EmptyOp(list(shape), element_type).result


def padded_by(
    source: ir.Value, low: Sequence[Mixed], high: Sequence[Mixed], value: ir.Value, shape: Sequence[int] | None = None
) -> ir.Value:
    """`source` with so many of a value around it, itself where there are none; `shape` where sizes aren't static."""
    if all(isinstance(each, int) and each == 0 for each in (*low, *high)):
        return source
    (static_low, dynamic_low), (static_high, dynamic_high) = split_mixed(low), split_mixed(high)
    shape = shape or list(map(sum, zip(shape_of(source), static_low, static_high)))
    kind = ir.RankedTensorType.get(shape, element_type_of(source))
    made = tensor.PadOp(kind, source, dynamic_low, dynamic_high, static_low, static_high)
    block = made.regions[0].blocks.append(*[ir.IndexType.get()] * len(shape), arg_locs=[made.location] * len(shape))
    with ir.InsertionPoint(block):
        tensor.YieldOp(value)
    return made.result


def in_parts_along(value: ir.Value, dim: int, parts: int) -> ir.Value:
    """A tensor with one dimension seen as so many parts of equal length."""
    shape = shape_of(value)
    wide = [*shape[:dim], parts, shape[dim] // parts, *shape[dim + 1 :]]
    groups = [[d + (d > dim)] if d != dim else [d, d + 1] for d in range(len(shape))]
    kind = ir.RankedTensorType.get(wide, element_type_of(value))
    return tensor.ExpandShapeOp(kind, value, groups, [], wide).result


def all_true(values: Sequence[ir.Value]) -> ir.Value:
    """The bits that all of some integers have: whether all of some truths are true."""
    first, *others = values
    for other in others:
        first = arith.AndIOp(first, other).result
    return first


def reassociation_of(reshape: ir.Operation) -> list[list[int]]:
    """The groups of dimensions that a collapse or an expansion, of a tensor or a memref, makes one of."""
    groups = ir.ArrayAttr(reshape.attributes["reassociation"])
    return [[int(ir.IntegerAttr(d).value) for d in ir.ArrayAttr(group)] for group in groups]


def apply_steps(op: ir.Operation, steps: str) -> None:
    """Runs transform-dialect `steps` on `op`, which they call `%op`; handles are `!transform.any_op`.

    The op may be gone afterwards, so callers must not touch it again.
    """
    text = (
        "module attributes {transform.with_named_sequence} {\n"
        f"transform.named_sequence @steps(%op: !transform.any_op) {{\n{steps}\ntransform.yield\n}}\n}}"
    )
    schedule = ir.Module.parse(text, op.context)
    sequence = schedule.body.operations[0].operation
    interpreter.apply_named_sequence(op, sequence, schedule.operation)
