"""A softmax whose results are multiplied by values and summed up, as in attention, recognised by what ops compute.

    m = max over j of s        p = exp(s - m)        l = sum over j of p        q = p / l        r = sum over j of q v

Reads IR and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from npuflow.bindings import ir
from npuflow.ops.bundle_ops import is_zero
from npuflow.ops.contraction import is_elementwise, is_parallel, producer, users
from npuflow.ops.factors import factors_of
from npuflow.ops.linear import Linear, input_count, is_reduction, iterators, linear_maps

_LARGER = ("arith.maximumf", "arith.maxnumf")
_EXPONENTIALS = ("math.exp", "math.exp2")
_CONVERSIONS = ("arith.truncf", "arith.extf")
_EQUAL = 1  # of arith.cmpf, ordered


@dataclass(frozen=True)
class WeightedSum:
    """The ops of a softmax in front of a sum of products; `scores` is what `largest` and `exponentials` read."""

    scores: ir.Value
    largest: ir.Operation
    exponentials: ir.Operation
    total: ir.Operation
    quotient: ir.Operation
    product: ir.Operation
    empty: ir.Operation | None = None
    """Which rows have no score but -inf, where quotients of these are made 0."""

    @property
    def ops(self) -> tuple[ir.Operation, ...]:
        found = (self.largest, self.exponentials, self.total, self.quotient, self.product)
        return found if self.empty is None else (*found, self.empty)

    @property
    def scaling(self) -> tuple[ir.Operation, ...]:
        """The elementwise op that scales or masks scores for the softmax alone, if there is one."""
        source = producer(self.scores, "linalg.generic")
        alone = set(users(self.scores)) <= {self.largest, self.exponentials, self.empty}
        return (source,) if source is not None and alone and is_elementwise(source) else ()

    @property
    def exponential(self) -> str:
        """The function that the exponentials are of."""
        (found,) = [op.name for op in _body(self.exponentials) if op.name in _EXPONENTIALS]
        return str(found)

    @property
    def weight(self) -> int:
        """Which input of the product the quotients are."""
        return list(self.product.operands).index(self.quotient.results[0])


def match_weighted_sum(product: ir.Operation) -> WeightedSum | None:
    """The softmax whose quotients a sum of products multiplies, along the loops that both sum over; None without."""
    for value in list(product.operands)[: input_count(product)] if factors_of(product) is not None else ():
        quotient = producer(value, "linalg.generic")
        if quotient is None or set(users(value)) != {product}:
            continue
        found = _softmax(quotient, product)
        if found is not None and _sums_along(found):
            return found
    return None


def never_falls(op: ir.Operation) -> bool:
    """Whether an elementwise op makes of a larger input nothing smaller, however it rounds: scales, shifts, narrows."""
    if input_count(op) != 1 or len(set(linear_maps(op) or [(), ()])) != 1:
        return False
    return all(_rises(inner) for inner in _body(op) if inner.name != "arith.constant")


def _rises(inner: ir.Operation) -> bool:
    """Whether an operation rises with the one operand that is no constant."""
    if inner.name in _CONVERSIONS:
        return True
    constants = [producer(value, "arith.constant") for value in inner.operands]
    if inner.name == "arith.addf":
        return any(constant is not None for constant in constants)
    if inner.name == "arith.subf":
        return constants[1] is not None
    if inner.name == "arith.divf":
        return constants[1] is not None and _is_positive(constants[1])
    return inner.name == "arith.mulf" and any(constant is not None and _is_positive(constant) for constant in constants)


def _is_positive(constant: ir.Operation) -> bool:
    return float(ir.FloatAttr(constant.attributes["value"]).value) > 0


def _softmax(quotient: ir.Operation, product: ir.Operation) -> WeightedSum | None:
    divided, guard = _division(quotient)
    if divided is None:
        return None
    dividend, divisor = (_maker(quotient, value) for value in divided.operands)
    if dividend is None or divisor is None or not _folds(divisor, ("arith.addf",), dividend.results[0]):
        return None
    exponent = _yielded(dividend, *_EXPONENTIALS) if is_parallel(dividend) else None
    difference = None if exponent is None else producer(exponent.operands[0], "arith.subf")
    if difference is None or len(_body(dividend)) != 2 + len(_conversions(dividend)):
        return None
    scores = _read(dividend, difference.operands[0])
    largest = _maker(dividend, difference.operands[1])
    if scores is None or largest is None or not _folds(largest, _LARGER, scores):
        return None
    empty = None if guard is None else _maker(quotient, guard)
    if guard is not None and (empty is None or not _finds_empty(empty, largest)):
        return None
    alone = all(set(users(op.results[0])) <= among for op, among in (
        (largest, {dividend}), (divisor, {quotient}), (dividend, {divisor, quotient}),
        *(((empty, {quotient}),) if empty is not None else ()),
    ))  # fmt: skip
    return WeightedSum(scores, largest, dividend, divisor, quotient, product, empty) if alone else None


def _division(quotient: ir.Operation) -> tuple[ir.Operation | None, ir.Value | None]:
    """The division that is all that an op yields; or, where a value that it reads is true, 0."""
    if not is_parallel(quotient):
        return None, None
    chosen = _yielded(quotient, "arith.select")
    if chosen is None:
        return _yielded(quotient, "arith.divf"), None
    condition, zero, rest = chosen.operands
    return (producer(_unconverted(rest), "arith.divf"), condition) if is_zero(zero) else (None, None)


def _finds_empty(op: ir.Operation, largest: ir.Operation) -> bool:
    """Whether an op says for each row whether all that `largest` is the maximum of are -inf."""
    if len(op.operands) != 2 or op.operands[0] != largest.operands[0] or len(op.results) != 1:
        return False
    if linear_maps(op) != linear_maps(largest) or iterators(op) != iterators(largest):
        return False
    folded, block = _yielded(op, "arith.andi"), op.regions[0].blocks[0]
    if folded is None or block.arguments[1] not in folded.operands or not _starts_true(op.operands[1]):
        return False
    (test,) = (value for value in folded.operands if value != block.arguments[1])
    compared = producer(test, "arith.cmpf") if not isinstance(test.owner, ir.Block) else None
    if compared is None or int(ir.IntegerAttr(compared.attributes["predicate"]).value) != _EQUAL:
        return False
    score, number = compared.operands
    constant = producer(number, "arith.constant")
    is_lowest = constant is not None and float(ir.FloatAttr(constant.attributes["value"]).value) == -inf
    return is_lowest and _unconverted(score) == block.arguments[0]


def _starts_true(value: ir.Value) -> bool:
    fill = producer(value, "linalg.fill")
    constant = None if fill is None else producer(fill.operands[0], "arith.constant")
    return constant is not None and bool(ir.IntegerAttr(constant.attributes["value"]).value)


def _sums_along(found: WeightedSum) -> bool:
    """Whether everything goes along the same loops: maximum, total and product reduce the same dimensions."""
    whole, rows = linear_maps(found.largest) or [(), ()]
    if linear_maps(found.total) != [whole, rows] or iterators(found.total) != iterators(found.largest):
        return False
    if any(dim.loop is None for dim in whole) or not _read_by_rows(found.exponentials, whole, rows):
        return False
    if not _read_by_rows(found.quotient, whole, rows):
        return False
    read = (linear_maps(found.product) or [])[found.weight]
    loops = [dim.loop for dim in read]
    along = [place for place, dim in enumerate(whole) if dim not in rows]
    return None not in loops and all(
        is_reduction(found.product, loop) == (place in along) for place, loop in enumerate(loops) if loop is not None
    )


def _read_by_rows(op: ir.Operation, whole: tuple[Linear, ...], rows: tuple[Linear, ...]) -> bool:
    """Whether an elementwise op reads a whole tensor, and others of its rows, as it goes, and writes the whole."""
    maps = linear_maps(op)
    if maps is None or maps[0] != maps[-1] or any(dim.loop is None for dim in maps[0]):
        return False
    names = {old.loop: new.loop for old, new in zip(whole, maps[0])}
    return all([dim.loop for dim in dims] == [names[dim.loop] for dim in rows] for dims in maps[1:-1])


def _folds(op: ir.Operation, names: Sequence[str], value: ir.Value) -> bool:
    """Whether an op goes on from a fill and does nothing but one of some operations with the elements of a value."""
    if len(op.operands) != 2 or op.operands[0] != value or len(op.results) != 1 or is_parallel(op):
        return False
    folded = _yielded(op, *names)
    block = op.regions[0].blocks[0]
    return (
        folded is not None
        and len(_body(op)) == 1 + len(_conversions(op))
        and {_unconverted(value) for value in folded.operands} == set(block.arguments)
        and producer(op.operands[1], "linalg.fill") is not None
    )


def _body(op: ir.Operation) -> list[ir.Operation]:
    return [inner.operation for inner in list(op.regions[0].blocks[0].operations)[:-1]]


def _conversions(op: ir.Operation) -> list[ir.Operation]:
    return [inner for inner in _body(op) if inner.name in _CONVERSIONS]


def _unconverted(value: ir.Value) -> ir.Value:
    """What a value was before it was made wider or narrower."""
    while (made := producer(value, *_CONVERSIONS)) is not None:
        value = made.operands[0]
    return value


def _yielded(op: ir.Operation, *names: str) -> ir.Operation | None:
    """The operation of some name whose result, perhaps converted, is all that an op yields."""
    end = list(op.regions[0].blocks[0].operations)[-1].operation
    if len(end.operands) != 1:
        return None
    made = producer(_unconverted(end.operands[0]))
    return made if made is not None and made.name in names and made in _body(op) else None


def _read(op: ir.Operation, value: ir.Value) -> ir.Value | None:
    """What an op reads as a value of its body, perhaps converted there."""
    value = _unconverted(value)
    if not isinstance(value.owner, ir.Block) or value.arg_number >= input_count(op):
        return None
    return op.operands[value.arg_number]


def _maker(op: ir.Operation, value: ir.Value) -> ir.Operation | None:
    """The op that makes what an op reads as a value of its body."""
    read = _read(op, value)
    return None if read is None else producer(read, "linalg.generic")
