"""A `linalg.generic` with the errors of its operands and results beside their values.

    linalg.generic ins(%a, %b) outs(%c) { %p = arith.mulf %x, %y ; %s = arith.addf %acc, %p ; linalg.yield %s }

becomes, where only the sum rounds,

    linalg.generic ins(%a, %b) outs(%c, %squares, %lost) { ... }
    linalg.generic ins(%c, %squares, %lost) { sqrt(%squares) + %lost, infinite where f32 overflows }
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import element_type_of, empty, fill, generic_op, shape_of
from npuflow.execute.arrays import FLOAT_FORMATS
from npuflow.execute.error_rules import NoRuleError, Rules, Tracked
from npuflow.execute.error_sums import Sum, inexact_results, sum_of
from npuflow.execute.wide_arithmetic import add, compare, magnitude, mul, number, square_root
from npuflow.execute.widen import converted, is_listed, widen_op

# How many standard deviations of the roundings of a sum are allowed, as a multiple of the unit roundoff.
_SPREAD = 6.0
# A term of so many roundings of its sum may be lost, always in the same direction.
_LOST = 4.0


@dataclass(frozen=True)
class _Carried:
    """How a result's error is carried: `places` tensors behind the values, of which a sum has two and others one."""

    is_inexact: bool
    total: Sum | None

    @property
    def places(self) -> int:
        return 2 if self.total else int(self.is_inexact)


@dataclass(frozen=True)
class ErrorScope:
    """What has become of values so far, and the rules for those to come."""

    rules: Rules
    known: dict[ir.Value, Tracked]

    def scalar(self, op: ir.Operation) -> Tracked:
        """An operation on scalars, or one that makes one of nothing."""
        if op.name == "arith.constant":
            return constant(op)
        if op.name == "linalg.index":
            return Tracked(ir.Operation.create(op.name, [op.results[0].type], [], {"dim": op.attributes["dim"]}).result)
        if len(op.results) != 1 or op.regions:
            raise NoRuleError(op.name)
        given = [self.known[value] for value in op.operands]
        return _extracted(op, given) if op.name == "tensor.extract" else self.rules.apply(op, given)

    def generic(self, op: ir.Operation) -> list[Tracked]:
        """What becomes of the results of a linalg.generic."""
        given = [self.known[value] for value in op.operands]
        outs = len(op.results)
        flags = inexact_results(op, [one.error is not None for one in given], self._is_inexact)
        ways = [_Carried(flag, sum_of(op, position) if flag else None) for position, flag in enumerate(flags)]
        made = self._built(op, given[: len(given) - outs], given[len(given) - outs :], ways)
        values, errors = made[:outs], iter(made[outs:])
        is_constant = all(one.constant for one in given)
        results = zip(op.results, values, ways, strict=True)
        return [Tracked(value, self._error(old, value, way, errors), is_constant) for old, value, way in results]

    def _is_inexact(self, value: ir.Value) -> bool:
        """Whether a value that is known already may be off."""
        return value in self.known and self.known[value].error is not None

    def _built(
        self, op: ir.Operation, inputs: Sequence[Tracked], outputs: Sequence[Tracked], ways: Sequence[_Carried]
    ) -> list[ir.Value]:
        """The results of the new op: values, and behind them what the ways carry."""
        maps = [ir.AffineMapAttr(map_).value for map_ in op.attributes["indexing_maps"]]
        in_maps, out_maps = maps[: len(inputs)], maps[len(inputs) :]
        ins = [(one.value, map_) for one, map_ in zip(inputs, in_maps, strict=True)]
        ins += [(one.error, map_) for one, map_ in zip(inputs, in_maps, strict=True) if one.error is not None]
        news = [(one.value, map_) for one, map_ in zip(outputs, out_maps, strict=True)]
        for one, map_, way in zip(outputs, out_maps, ways, strict=True):
            news += [(start, map_) for start in _starts(one, way)]
        kinds = ["reduction" if "reduction" in str(kind) else "parallel" for kind in op.attributes["iterator_types"]]
        generic = generic_op([v for v, _ in ins], [v for v, _ in news], [m for _, m in (*ins, *news)], kinds)
        block = generic.regions[0].blocks.append(*[element_type_of(value) for value, _ in (*ins, *news)])
        with ir.InsertionPoint(block):
            _ErrorBody(self, op.regions[0].blocks[0], ways).build(inputs, outputs, iter(block.arguments))
        return list(generic.results)

    def _error(self, old: ir.Value, value: ir.Value, way: _Carried, carried: Iterator[ir.Value]) -> ir.Value | None:
        if not way.is_inexact:
            return None
        if way.total is None:
            return next(carried)
        largest = FLOAT_FORMATS[str(element_type_of(old))].largest

        def error(total: ir.Value, squares: ir.Value, lost: ir.Value) -> ir.Value:
            found = add(square_root(squares), lost)
            return self.rules.overflowing(largest, add(magnitude(total), found), found)

        return _elementwise([value, next(carried), next(carried)], error)


@dataclass(frozen=True)
class _ErrorBody:
    """Builds the body of the new op from the `old` one."""

    scope: ErrorScope
    old: ir.Block
    ways: Sequence[_Carried]

    def build(self, inputs: Sequence[Tracked], outputs: Sequence[Tracked], given: Iterator[ir.Value]) -> None:
        """`given` are the new block's arguments: values and errors of inputs, then values and errors of outputs."""
        known = self.scope.known
        values = [next(given) for _ in inputs]
        errors = [None if one.error is None else next(given) for one in inputs]
        values += [next(given) for _ in outputs]
        carried = [[next(given) for _ in range(way.places)] for way in self.ways]
        errors += [mine[0] if mine and not way.total else None for mine, way in zip(carried, self.ways, strict=True)]
        for argument, value, error, one in zip(self.old.arguments, values, errors, (*inputs, *outputs), strict=True):
            known[argument] = Tracked(value, error, one.constant)
        *body, end = [child.operation for child in self.old.operations]
        summing = [op for way in self.ways if way.total for op in way.total.ops]
        for op in body:
            if op not in summing:
                known[op.results[0]] = self.scope.scalar(op)
        made = [self._result(*each) for each in zip(end.operands, self.ways, carried, strict=True)]
        linalg.YieldOp([*(values[0] for values in made), *(error for values in made for error in values[1:])])

    def _result(self, yielded: ir.Value, way: _Carried, carried: Sequence[ir.Value]) -> list[ir.Value]:
        """A result's value, and behind it what is carried of its error."""
        known = self.scope.known
        if way.total is not None:
            return self._sum(way.total, *carried)
        one = known[yielded]
        return [one.value, *([one.error or number(0.0)] if way.is_inexact else [])]

    def _sum(self, total: Sum, squares: ir.Value, lost: ir.Value) -> list[ir.Value]:
        """The sum, the squares of errors of its terms and of its roundings, and what may have been lost."""
        rules, term = self.scope.rules, self.scope.known[total.term]
        before = self.scope.known[total.accumulator].value
        after = (arith.SubFOp if total.is_difference else arith.AddFOp)(before, term.value).result
        rounding = mul(rules.unit(total.unit_roundoff), magnitude(after))
        spread = mul(rounding, number(_SPREAD))
        squares = add(squares, mul(spread, spread))
        if term.error is not None:
            squares = add(squares, mul(term.error, term.error))
        size = magnitude(term.value)
        stalls = compare("OLT", size, mul(rounding, number(_LOST)))
        missing = arith.MinimumFOp(size, rounding).result
        return [after, squares, add(lost, arith.SelectOp(stalls, missing, number(0.0)).result)]


def constant(op: ir.Operation) -> Tracked:
    """A constant's copy in 64 bits."""
    copy = op.clone().operation
    if is_listed(op):
        return Tracked(converted(copy.results[0]), None, constant=True)
    widen_op(copy)
    return Tracked(copy.results[0], None, constant=True)


def zeros(like: ir.Value) -> ir.Value:
    """A tensor of errors where there are none."""
    return fill(number(0.0), empty(shape_of(like), ir.F64Type.get()))


def error_of(one: Tracked) -> ir.Value:
    """A tensor's errors, zeros where it is exact."""
    return one.error if one.error is not None else zeros(one.value)


def _extracted(op: ir.Operation, given: Sequence[Tracked]) -> Tracked:
    """An element of a tensor, at a place that is certain."""
    source, *places = given
    if any(place.error is not None for place in places):
        raise NoRuleError("tensor.extract at a place made of floats")
    indices = [place.value for place in places]

    def element(tensor: ir.Value) -> ir.Value:
        return ir.Operation.create(op.name, [element_type_of(tensor)], [tensor, *indices]).result

    error = None if source.error is None else element(source.error)
    return Tracked(element(source.value), error, source.constant)


def _starts(one: Tracked, way: _Carried) -> list[ir.Value]:
    """What a result's error begins with."""
    if way.total is not None:
        squared = zeros(one.value) if one.error is None else _elementwise([one.error], lambda error: mul(error, error))
        return [squared, zeros(one.value)]
    return [error_of(one)] if way.is_inexact else []


def _elementwise(inputs: Sequence[ir.Value], compute: Callable[..., ir.Value]) -> ir.Value:
    """A function of each element of tensors of 64-bit floats of one shape."""
    shape = shape_of(inputs[0])
    target = empty(shape, ir.F64Type.get())
    identity = ir.AffineMap.get_identity(len(shape))
    generic = generic_op(inputs, [target], [identity] * (len(inputs) + 1), ["parallel"] * len(shape))
    block = generic.regions[0].blocks.append(*[element_type_of(value) for value in (*inputs, target)])
    with ir.InsertionPoint(block):
        linalg.YieldOp([compute(*list(block.arguments)[:-1])])
    return generic.results[0]
