"""Running error analysis of scalar operations: beside each value, how far from it an execution in its own type may be.

    %p = arith.mulf %a, %b : f32        value  a b        error  |a| e_b + |b| e_a + e_a e_b + 4 u |a b|
    %e = math.exp %x : f32              value  exp(x)     error  the further of exp(x - e_x), exp(x + e_x), + 4 u exp(x)
    %c = arith.cmpf olt, %a, %b         value  a < b      error  1 where |a - b| <= e_a + e_b
    %i = arith.fptosi %x : f32 to i8    value  trunc(x)   error  as of exp: 1 where a neighbour is within reach

Values have 64 bits, and u is the unit roundoff of the type that the program gives them. A rounding counts four times,
which is seven standard deviations of one: what errors add up to in sums is then a bound that no execution reaches, and
other orders of the same operations may round once more. Functions that everybody approximates in a way of his own are
allowed a few f32 roundings on top. An error of None says that the value is exact, whatever the program rounds.
Overflow of the program's type gives an infinite error: nothing can be said about what comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.core.build import element_type_of
from npuflow.execute.arrays import FLOAT_FORMATS, FloatFormat
from npuflow.execute.wide_arithmetic import add, as_float, compare, magnitude, maximum, mul, number, sub, where_any
from npuflow.execute.widen import CONVERSIONS, widen_op

# How often a rounding counts: 4 u are 6.9 standard deviations of an error that is anywhere within u.
_TIMES = 4.0
# What approximations of functions may be off by, in roundings of f32: IREE's atan has the largest error of all judges.
_APPROXIMATION = 64 * FLOAT_FORMATS["f32"].unit_roundoff

# What others may be off by near zero, for they find a place in the period first, and round that: IREE's sine of 1.7e-4.
_PERIODIC = frozenset({"math.sin", "math.cos"})
_PLACE = FLOAT_FORMATS["f32"].unit_roundoff

_EXACT_MATH = frozenset(f"math.{name}" for name in "absf ceil copysign floor round roundeven trunc".split())
_ROUNDED_MATH = frozenset({"math.fma", "math.sqrt"})
_ARITHMETIC = frozenset(f"arith.{name}" for name in "addf subf mulf divf remf".split())
_TO_FLOAT = ("arith.sitofp", "arith.uitofp")
_SAME = frozenset(
    "arith.negf math.absf arith.extf arith.extsi arith.extui arith.index_cast arith.index_castui math.absi".split()
)
_LARGER = frozenset(
    f"arith.{name}" for name in "maximumf minimumf maxnumf minnumf maxsi minsi maxui minui andi ori xori".split()
)
_SUMS = frozenset({"arith.addf", "arith.subf", "arith.addi", "arith.subi"})
# Non-decreasing or non-increasing in every operand, or nearly so over the reach of an error.
_BY_CORNERS = frozenset(
    {f"arith.{name}" for name in "divsi divui ceildivsi ceildivui floordivsi shrsi shrui fptosi fptoui remf".split()}
    | {f"math.{name}" for name in "powf fpowi ipowi atan2 copysign ceil floor round roundeven trunc".split()}
)


class NoRuleError(Exception):
    """There is no rule for an operation; the text is its name, or what is special about it."""


@dataclass(frozen=True)
class Tracked:
    """A value in 64 bits with its error (None: exact); `constant` says that nothing but constants went into it."""

    value: ir.Value
    error: ir.Value | None = None
    constant: bool = False


def rounds(op: ir.Operation) -> bool:
    """Whether an operation on exact values may give one that isn't."""
    if op.name in _TO_FLOAT:
        width = element_type_of(op.operands[0]).width - (op.name == "arith.sitofp")
        return 2.0**-width < _format(op).unit_roundoff
    return op.name == "arith.truncf" or op.name in _ARITHMETIC or (op.name.startswith("math.") and _is_inexact(op))


def _is_inexact(op: ir.Operation) -> bool:
    return op.name not in _EXACT_MATH and isinstance(element_type_of(op.results[0]), ir.FloatType)


def _format(op: ir.Operation) -> FloatFormat:
    return FLOAT_FORMATS[str(element_type_of(op.results[0]))]


@dataclass
class Rules:
    """Builds values and errors at the current insertion point.

    `narrow` and `wide` are values known at run time: an operation of roundoff u counts as narrow * u + wide, one of
    constants alone, which compilers evaluate in advance, as u.
    """

    narrow: ir.Value
    wide: ir.Value

    def apply(self, op: ir.Operation, given: Sequence[Tracked]) -> Tracked:
        """What becomes of an operation with one scalar result."""
        value = self._wide_copy(op, [one.value for one in given])
        constant = all(one.constant for one in given) and not op.name.startswith("tensor.")
        if all(one.error is None for one in given) and not rounds(op):
            return Tracked(value, None, constant)
        error = self._propagated(op, given, value)
        error = self.rounded(op, value, error, constant) if rounds(op) else error
        return Tracked(value, error, constant)

    # How errors of operands travel

    def _propagated(self, op: ir.Operation, given: Sequence[Tracked], value: ir.Value) -> ir.Value:
        if all(one.error is None for one in given):
            return number(0.0)
        errors = [one.error or number(0.0) for one in given]
        if op.name in _SAME or op.name in CONVERSIONS or op.name in _TO_FLOAT:
            return errors[0]
        if op.name in _SUMS:
            return add(*errors)
        if op.name in _LARGER:
            return self._of_bits(op, maximum(*errors))
        if op.name in ("arith.mulf", "arith.muli"):
            return _product(given, errors)
        special = _SPECIAL.get(op.name)
        if special is not None:
            return special(given, errors, value)
        if op.name in _BY_CORNERS or op.name.startswith("math."):
            return self._corners(op, given, value)
        if isinstance(element_type_of(op.results[0]), ir.FloatType):
            raise NoRuleError(op.name)
        return where_any(add(*errors) if len(errors) > 1 else errors[0], number(float("inf")))

    def _of_bits(self, op: ir.Operation, error: ir.Value) -> ir.Value:
        """Bitwise operations say nothing of wider integers than truth values."""
        bitwise = op.name in ("arith.andi", "arith.ori", "arith.xori")
        if not bitwise or element_type_of(op.results[0]).width == 1:
            return error
        return where_any(error, number(float("inf")))

    def _corners(self, op: ir.Operation, given: Sequence[Tracked], value: ir.Value) -> ir.Value:
        """The furthest that the operation gets from its value if every operand is off by its error, up or down."""
        corners: list[list[ir.Value]] = [[]]
        for one in given:
            ends = [one.value] if one.error is None else [_moved(one, arith.SubFOp), _moved(one, arith.AddFOp)]
            corners = [[*corner, end] for corner in corners for end in ends]
        furthest = number(0.0)
        for corner in corners:
            distance = magnitude(sub(as_float(self._wide_copy(op, corner)), as_float(value)))
            furthest = maximum(furthest, distance)  # of which a NaN stays a NaN
        for one in given:
            # What a conversion makes of an error that nobody knows is any integer.
            if one.error is not None and not isinstance(element_type_of(value), ir.FloatType):
                unknown = compare("UNO", one.error, one.error)
                furthest = arith.SelectOp(unknown, one.error, furthest).result
        return furthest

    def _wide_copy(self, op: ir.Operation, operands: Sequence[ir.Value]) -> ir.Value:
        if op.name in CONVERSIONS:
            return operands[0]
        attributes = {name: op.attributes[name] for name in op.attributes}
        kinds = [result.type for result in op.results]
        copy = ir.Operation.create(op.name, kinds, list(operands), attributes)
        widen_op(copy)
        return copy.results[0]

    # What an operation adds

    def rounded(self, op: ir.Operation, value: ir.Value, error: ir.Value, constant: bool) -> ir.Value:
        """An error with what rounding the result adds, infinite where its type overflows; none where it is infinite.

        A value that is infinite in 64 bits has met an infinite operand, such as a mask's: nothing is left to round.
        """
        known = _format(op)
        own = _TIMES * known.unit_roundoff
        unit = number(own) if constant else self.unit(own)
        if op.name.startswith("math.") and op.name not in _ROUNDED_MATH:
            unit = add(unit, mul(self.narrow, number(_TIMES * _APPROXIMATION)))
        if op.name in _PERIODIC:
            error = add(error, mul(self.narrow, number(_TIMES * _PLACE)))
        reach = add(magnitude(value), error)
        total = add(error, add(mul(unit, reach), mul(self.narrow, number(known.smallest))))
        limit = number(float("inf"))
        infinite = compare("OEQ", magnitude(value), limit)
        certain = arith.AndIOp(infinite, compare("OLT", error, limit)).result
        return arith.SelectOp(certain, number(0.0), self.overflowing(known.largest, reach, total)).result

    def unit(self, roundoff: float) -> ir.Value:
        """What stands for a type's unit roundoff."""
        return add(mul(self.narrow, number(roundoff)), self.wide)

    def overflowing(self, largest: float, reach: ir.Value, error: ir.Value) -> ir.Value:
        """Infinite where a value of that reach may not fit its type and the run is about that type; else `error`."""
        outside = compare("OGT", mul(reach, self.narrow), number(largest))
        return arith.SelectOp(outside, number(float("inf")), error).result


def _product(given: Sequence[Tracked], errors: Sequence[ir.Value]) -> ir.Value:
    left, right = (magnitude(as_float(one.value)) for one in given)
    cross = add(mul(left, errors[1]), mul(right, errors[0]))
    return add(cross, mul(*errors))


def _quotient(given: Sequence[Tracked], errors: Sequence[ir.Value], value: ir.Value) -> ir.Value:
    """(e_a + |a / b| e_b) / (|b| - e_b), as long as the divisor is no zero."""
    least = sub(magnitude(given[1].value), errors[1])
    error = arith.DivFOp(add(errors[0], mul(magnitude(value), errors[1])), least).result
    return arith.SelectOp(compare("OGT", least, number(0.0)), error, number(float("inf"))).result


def _comparison(given: Sequence[Tracked], errors: Sequence[ir.Value], value: ir.Value) -> ir.Value:
    """1 where the errors may turn the outcome; that of comparing a value with itself isn't, unless nobody knows it."""
    del value
    if given[0].value == given[1].value:
        is_known = compare("OLT", errors[0], number(float("inf")))
        return arith.SelectOp(is_known, number(0.0), number(1.0)).result
    reach = add(*errors)
    distance = magnitude(sub(as_float(given[0].value), as_float(given[1].value)))
    near = arith.SelectOp(compare("OGT", distance, reach), number(0.0), number(1.0)).result
    return arith.SelectOp(compare("OEQ", reach, number(0.0)), number(0.0), near).result


def _selection(given: Sequence[Tracked], errors: Sequence[ir.Value], value: ir.Value) -> ir.Value:
    """The chosen one's error, or the distance to the other one where it isn't certain which is chosen."""
    del value
    condition, left, right = (one.value for one in given)
    certain = arith.SelectOp(condition, errors[1], errors[2]).result
    if given[0].error is None:
        return certain
    either = add(magnitude(sub(as_float(left), as_float(right))), maximum(errors[1], errors[2]))
    return arith.SelectOp(compare("OEQ", errors[0], number(0.0)), certain, either).result


def _fused(given: Sequence[Tracked], errors: Sequence[ir.Value], value: ir.Value) -> ir.Value:
    del value
    return add(_product(given[:2], errors[:2]), errors[2])


def _clamped(given: Sequence[Tracked], errors: Sequence[ir.Value], value: ir.Value) -> ir.Value:
    del given, value
    return maximum(errors[0], maximum(errors[1], errors[2]))


def _lipschitz(given: Sequence[Tracked], errors: Sequence[ir.Value], value: ir.Value) -> ir.Value:
    """Functions that never step further than their operand does."""
    del given, value
    return errors[0]


def _cut(given: Sequence[Tracked], errors: Sequence[ir.Value], value: ir.Value) -> ir.Value:
    """A narrower integer: off by all of its range where the error may reach over its end."""
    size = 2.0 ** (value.type.width - 1)
    reach = add(magnitude(as_float(given[0].value)), errors[0])
    wraps = compare("OGE", reach, number(size))
    return arith.SelectOp(wraps, where_any(errors[0], number(2 * size)), errors[0]).result


_Rule = Callable[[Sequence[Tracked], Sequence["ir.Value"], "ir.Value"], "ir.Value"]
_SPECIAL: Mapping[str, _Rule] = {
    "arith.divf": _quotient,
    "arith.cmpf": _comparison,
    "arith.cmpi": _comparison,
    "arith.select": _selection,
    "arith.trunci": _cut,
    "math.fma": _fused,
    "math.clampf": _clamped,
    "math.sin": _lipschitz,
    "math.cos": _lipschitz,
}


def _moved(one: Tracked, way: Callable[..., ir.OpView]) -> ir.Value:
    """The value moved by its error; integers by whole steps, within their range."""
    assert one.error is not None
    kind = one.value.type
    moved = way(as_float(one.value), one.error).result
    if isinstance(kind, ir.FloatType):
        return moved
    size = 2.0 ** (kind.width - 1)
    low, high = number(-size), number(size - 1)
    return arith.FPToSIOp(kind, arith.MinimumFOp(arith.MaximumFOp(moved, low).result, high).result).result
