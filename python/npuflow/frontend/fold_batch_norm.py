"""npuflow-fold-batch-norm: what is scaled and shifted per channel behind a sum of products is so by its weights."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, is_static, shape_of, zero
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.bundle_ops import is_zero
from npuflow.ops.contraction import is_elementwise, only_user, producer, users
from npuflow.ops.factors import factors_of
from npuflow.ops.linear import input_count, maps_of
from npuflow.ops.reshapes import RESHAPES

_SCALING = ("arith.mulf", "arith.divf")
_SHIFTING = ("arith.addf", "arith.subf")
_SOURCES = ("arith.constant", "tensor.empty")


@register_pass
@dataclass(frozen=True)
class FoldBatchNorm(Pass):
    """Scales a convolution's or matmul's constant weights, so that the batch norm behind it is one addition.

        %r = linalg.conv_2d_nchw_fchw ins(%x, %w : ...) outs(%zeros : ...)
        %a = linalg.generic ... ins(%r, %mean : ...) { arith.subf }
        %b = linalg.generic ... ins(%a, %scale : ...) { arith.mulf }
        %c = linalg.generic ... ins(%b, %shift : ...) { arith.addf }

    becomes

        %v = linalg.generic ... ins(%w, %scale : ...) { arith.mulf }
        %s = linalg.generic ... ins(%mean, %scale, %shift : tensor<8xf32>, ...) { 0 - mean, * scale, + shift }
        %r = linalg.conv_2d_nchw_fchw ins(%x, %v : ...) outs(%zeros : ...)
        %c = linalg.generic ... ins(%r, %s : ...) { arith.addf }

    For steps of one operation each, by constants that differ along one dimension at most which the weights have too, in
    the type of the weights, and if nobody reads what is in between; a bias that sums begin at joins the shift.

    In real numbers that is the same. In floats each weight is rounded once more for each factor, by 2^-24 of itself in
    f32, and the shift is rounded as the steps were: results differ by that share of the sum of their products'
    magnitudes. So no pipeline has this pass: whoever wants it runs npuflow-opt with it first, and what that writes is
    the program then. As part of a pipeline it is called wrong, once npuflow-fold-constants has rounded the weights.
    """

    name = "npuflow-fold-batch-norm"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        known = _constants_in(op)
        sums = (_sums_of(candidate, known) for candidate in ops_of(op) if candidate.name.startswith("linalg."))
        found = [(one, _steps_of(one, known)) for one in sums if one is not None]
        for one, steps in found:
            if steps:
                _fold(one, steps)
                context.count("norms folded", 1)


@dataclass(frozen=True)
class _Sums:
    """A sum of products: which input are its weights, and what each channel begins at, if not at 0."""

    op: ir.Operation
    weights: int
    channel: int  # the dimension of the result
    bias: ir.Value | None
    bias_map: ir.AffineMap | None


@dataclass(frozen=True)
class _NormStep:
    """An elementwise operation on the sum and a constant, which is read by `map` from a channel's number."""

    op: ir.Operation
    constant: ir.Value
    map: ir.AffineMap
    sum_first: bool

    @property
    def body(self) -> ir.Operation:
        return self.op.regions[0].blocks[0].operations[0].operation

    @property
    def scales(self) -> bool:
        return self.body.name in _SCALING


def _sums_of(op: ir.Operation, known: Container[ir.Value]) -> _Sums | None:
    """An op as such a sum, where it has constant weights, is read once, and begins at zeros or a bias."""
    if len(op.results) != 1 or len(op.operands) != 3 or not op.regions or not is_static(op):
        return None
    factors = factors_of(op) if op.name != "linalg.fill" else None
    if factors is None or not all(f.is_bare for f in factors) or len({element_type_of(v) for v in op.operands}) != 1:
        return None
    if not isinstance(element_type_of(op.results[0]), ir.FloatType):
        return None
    constant = [f.inputs[0] for f in factors if op.operands[f.inputs[0]] in known]
    user = only_user(op.results[0])
    channels = _own_dims(op, constant[0]) if len(constant) == 1 else []
    if user is None or not channels:
        return None
    for channel in channels:
        begun = _bias_of(op, channel, known)
        if begun is not None and _step_of(user, op.results[0], channel, known) is not None:
            return _Sums(op, constant[0], channel, *begun)
    return None


def _own_dims(op: ir.Operation, weights: int) -> list[int]:
    """The result's dimensions whose loops are dimensions of the weights."""
    read, written = maps_of(op)[weights], maps_of(op)[2]
    along = [each.position for each in read.results if isinstance(each, ir.AffineDimExpr)]
    return [d for d, each in enumerate(written.results) if _position(each) in along]


def _position(expression: ir.AffineExpr) -> int:
    return expression.position if isinstance(expression, ir.AffineDimExpr) else -1


def _bias_of(
    op: ir.Operation, channel: int, known: Container[ir.Value]
) -> tuple[ir.Value | None, ir.AffineMap | None] | None:
    """What the sums of each channel begin at; None where that is neither 0 nor a constant per channel."""
    source = producer(op.operands[2], "linalg.fill", "linalg.broadcast", "linalg.generic")
    if source is None:
        return None
    if source.name == "linalg.fill":
        return (None, None) if is_zero(source.operands[0]) else None
    body = source.regions[0].blocks[0]
    moves = len(body.operations) == 1 and body.operations[0].operands[0] == body.arguments[0]
    if not moves or len(source.operands) != 2 or source.operands[0] not in known:
        return None
    read, written = maps_of(source)
    by_channel = _along(read, channel) if written == ir.AffineMap.get_identity(written.n_dims) else None
    return None if by_channel is None else (source.operands[0], by_channel)


def _along(read: ir.AffineMap, channel: int) -> ir.AffineMap | None:
    """A map that follows one loop at most, of that loop alone; None where it follows another one."""
    for each in read.results:
        if not isinstance(each, ir.AffineConstantExpr) and _position(each) != channel:
            return None
    only = ir.AffineExpr.get_dim(0)
    dims = [each if isinstance(each, ir.AffineConstantExpr) else only for each in read.results]
    return ir.AffineMap.get(1, 0, dims)


def _steps_of(sums: _Sums, known: Container[ir.Value]) -> list[_NormStep]:
    """The steps behind a sum up to the last that scales or shifts it; none where no step scales."""
    steps: list[_NormStep] = []
    value = sums.op.results[0]
    while (user := only_user(value)) is not None and (step := _step_of(user, value, sums.channel, known)) is not None:
        steps.append(step)
        value = user.results[0]
    return steps if any(step.scales for step in steps) else []


def _step_of(op: ir.Operation, value: ir.Value, channel: int, known: Container[ir.Value]) -> _NormStep | None:
    """An op as a step on `value`, if it is one."""
    if not is_elementwise(op) or input_count(op) != 2 or not is_static(op) or op.results[0].type != value.type:
        return None
    block = op.regions[0].blocks[0]
    if len(block.operations) != 2 or block.operations[0].operation.name not in _SCALING + _SHIFTING:
        return None
    body, number = block.operations[0].operation, list(op.operands).index(value)
    if number > 1 or list(block.operations[1].operands) != list(body.results):
        return None
    mine, other = block.arguments[number], block.arguments[1 - number]
    sum_first = body.operands[0] == mine
    # A constant minus the sum, or divided by it, is another thing.
    if not sum_first and body.name in ("arith.subf", "arith.divf"):
        return None
    if {mine, other} != set(body.operands) or maps_of(op)[number] != maps_of(op)[2]:
        return None
    constant, by_channel = op.operands[1 - number], _along(maps_of(op)[1 - number], channel)
    if by_channel is None or constant not in known:
        return None
    return _NormStep(op, constant, by_channel, sum_first)


def _constants_in(root: ir.Operation) -> set[ir.Value]:
    """The tensors that are made of constants alone."""
    found: set[ir.Value] = set()
    for op in ops_of(root):
        is_computed = op.name.startswith("linalg.") or op.name in RESHAPES
        if op.name in _SOURCES or (is_computed and all(each in found for each in op.operands)):
            found.update(op.results)
    return found


def _fold(sums: _Sums, steps: Sequence[_NormStep]) -> None:
    """Builds scaled weights, the sum and its shift in the last step's place: all that they need is there by then."""
    last = steps[-1].op
    shape, kind = shape_of(sums.op.results[0]), element_type_of(sums.op.results[0])
    with at(last):
        weights = _scaled(sums, [step for step in steps if step.scales])
        zeros = fill(zero(kind), empty(shape, kind))
        made = sums.op.clone(ir.InsertionPoint(last))
        made.operands[sums.weights], made.operands[2] = weights, zeros
        is_shifted = sums.bias is not None or not all(step.scales for step in steps)
        result = _added(made.results[0], _shift(sums, steps), sums.channel) if is_shifted else made.results[0]
    last.results[0].replace_all_uses_with(result)
    begun = producer(sums.op.operands[2])
    for op in (*(step.op for step in reversed(steps)), sums.op):
        op.erase()
    if begun is not None and not users(begun.results[0]):
        begun.erase()


def _added(value: ir.Value, shift: ir.Value, channel: int) -> ir.Value:
    """A tensor with a number of its own added in each channel."""
    shape, kind = shape_of(value), element_type_of(value)
    same = ir.AffineMap.get_identity(len(shape))
    read = ir.AffineMap.get(len(shape), 0, [ir.AffineExpr.get_dim(channel)])
    op = generic_op([value, shift], [empty(shape, kind)], [same, read, same], ["parallel"] * len(shape))
    block = op.regions[0].blocks.append(kind, kind, kind)
    with ir.InsertionPoint(block):
        linalg.YieldOp([arith.AddFOp(block.arguments[0], block.arguments[1]).result])
    return op.results[0]


def _scaled(sums: _Sums, steps: Sequence[_NormStep]) -> ir.Value:
    """The weights times what scales each channel."""
    weights, map_ = sums.op.operands[sums.weights], maps_of(sums.op)[sums.weights]
    loop = maps_of(sums.op)[2].results[sums.channel].position
    own = next(d for d, each in enumerate(map_.results) if _position(each) == loop)
    rank = len(shape_of(weights))
    among = ir.AffineMap.get(rank, 0, [ir.AffineExpr.get_dim(own)])
    maps = [ir.AffineMap.get(rank, 0, [ir.AffineExpr.compose(e, among) for e in step.map.results]) for step in steps]
    return _applied(weights, ir.AffineMap.get_identity(rank), steps, maps, shape_of(weights))


def _shift(sums: _Sums, steps: Sequence[_NormStep]) -> ir.Value:
    """What the steps make of each channel's bias, or of 0."""
    size = [shape_of(sums.op.results[0])[sums.channel]]
    kind = element_type_of(sums.op.results[0])
    start, read = sums.bias, sums.bias_map
    if start is None or read is None:
        start, read = fill(zero(kind), empty(size, kind)), ir.AffineMap.get_identity(1)
    return _applied(start, read, steps, [step.map for step in steps], size)


def _applied(
    start: ir.Value, read: ir.AffineMap, steps: Sequence[_NormStep], maps: Sequence[ir.AffineMap], shape: Sequence[int]
) -> ir.Value:
    """An op that takes the steps with each element of `start`."""
    kind, rank = element_type_of(start), len(shape)
    inputs = [start, *(step.constant for step in steps)]
    same = ir.AffineMap.get_identity(rank)
    op = generic_op(inputs, [empty(shape, kind)], [read, *maps, same], ["parallel"] * rank)
    block = op.regions[0].blocks.append(*[kind] * (len(inputs) + 1))
    with ir.InsertionPoint(block):
        value = block.arguments[0]
        for step, constant in zip(steps, list(block.arguments)[1:]):
            operands = [value, constant] if step.sum_first else [constant, value]
            value = ir.Operation.create(step.body.name, [kind], operands, dict(step.body.attributes)).results[0]
        linalg.YieldOp([value])
    return op.results[0]
