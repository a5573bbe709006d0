"""What ops of arith and math make of numbers that are known: numpy arrays, one element per step of an op's loops.

Integers wrap as two's complement does, an `index` has 64 bits. Floats are rounded once per op, to their own type; of
functions as exp that happens from 64 bits, so that they are as exact as their type can be.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from npuflow.bindings import ir
from npuflow.constants.dtypes import dtype_of, has_dtype

Numbers = npt.NDArray[Any]
_Function = Callable[..., Numbers]


_BINARY: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    **dict.fromkeys(("arith.addi", "arith.addf"), np.add),
    **dict.fromkeys(("arith.subi", "arith.subf"), np.subtract),
    **dict.fromkeys(("arith.muli", "arith.mulf"), np.multiply),
    "arith.divf": np.divide,
    "arith.andi": np.bitwise_and,
    "arith.ori": np.bitwise_or,
    "arith.xori": np.bitwise_xor,
    **dict.fromkeys(("arith.maxsi", "arith.maximumf"), np.maximum),
    **dict.fromkeys(("arith.minsi", "arith.minimumf"), np.minimum),
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
}
# Dividing by 0 is undefined, so that any number will do.
_DIVISIONS: dict[str, Callable[[Numbers, Numbers], Numbers]] = {
    "arith.floordivsi": np.floor_divide,
    "arith.ceildivsi": lambda a, b: -np.floor_divide(-a, b),
    "arith.divsi": lambda a, b: np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b)),
    "arith.remsi": np.fmod,
}
_EXACT: dict[str, Callable[[Numbers], Numbers]] = {
    "arith.negf": np.negative,
    "math.absf": np.abs,
    "math.absi": np.abs,
    "math.ceil": np.ceil,
    "math.floor": np.floor,
    "math.roundeven": np.rint,
    "math.trunc": np.trunc,
}
_ROUNDED: dict[str, _Function] = {
    "math.atan": np.arctan,
    "math.atan2": np.arctan2,
    "math.cos": np.cos,
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.expm1": np.expm1,
    "math.fpowi": np.power,
    "math.log": np.log,
    "math.log10": np.log10,
    "math.log1p": np.log1p,
    "math.log2": np.log2,
    "math.powf": np.power,
    "math.rsqrt": lambda a: 1 / np.sqrt(a),
    "math.sin": np.sin,
    "math.sqrt": np.sqrt,
    "math.tan": np.tan,
    "math.tanh": np.tanh,
}


def _signed(value: Numbers) -> Numbers:
    """Bits as numbers: the only bit of a truth is its sign."""
    return -value.astype(np.int8) if value.dtype == np.bool_ else value


def _unsigned(value: Numbers) -> Numbers:
    return value if value.dtype == np.bool_ else value.view(f"u{value.dtype}")


_CONVERSIONS: dict[str, _Function] = {
    **{f"arith.{name}": _signed for name in "extf extsi fptosi fptoui index_cast sitofp truncf trunci".split()},
    **dict.fromkeys(("arith.extui", "arith.uitofp"), _unsigned),
    "arith.select": lambda condition, a, b: np.asarray(np.where(condition.astype(np.bool_), a, b)),
}
# By the number that a predicate has in the IR.
_COMPARED_INTEGERS = ("equal", "not_equal", *("less", "less_equal", "greater", "greater_equal") * 2)
_FIRST_UNSIGNED = 6
_COMPARED_FLOATS = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
_FIRST_UNORDERED, _LAST_UNORDERED = 8, 13


def value_of(op: ir.Operation, operands: list[Numbers]) -> Numbers | None:
    """What an op of scalars gives; None where it isn't known here."""
    element = str(op.results[0].type)
    if not has_dtype(element):
        return None
    with np.errstate(all="ignore"):
        found = _value_of(op, operands)
    return None if found is None else found.astype(dtype_of(element))


def _value_of(op: ir.Operation, operands: list[Numbers]) -> Numbers | None:
    name = op.name
    if name == "arith.constant":
        return np.asarray(op.attributes["value"].value)
    if name in _DIVISIONS:
        return _DIVISIONS[name](operands[0], np.where(operands[1] == 0, 1, operands[1]))
    if name in _ROUNDED:
        return _ROUNDED[name](*(operand.astype(np.float64) for operand in operands))
    if name in ("arith.cmpi", "arith.cmpf"):
        return _compared(op, operands)
    if name == "arith.trunci" and str(op.results[0].type) == "i1":
        return operands[0] & 1
    functions: dict[str, _Function] = {**_BINARY, **_EXACT, **_CONVERSIONS}
    function = functions.get(name)
    return None if function is None else function(*operands)


def _compared(op: ir.Operation, operands: list[Numbers]) -> Numbers | None:
    predicate = int(ir.IntegerAttr(op.attributes["predicate"]).value)
    left, right = operands
    if op.name == "arith.cmpi":
        seen = _signed if predicate < _FIRST_UNSIGNED else _unsigned
        return np.asarray(getattr(np, _COMPARED_INTEGERS[predicate])(seen(left), seen(right)))
    place = predicate % (len(_COMPARED_FLOATS) + 1)
    if place == 0 or predicate > _LAST_UNORDERED:
        return None
    is_nan = np.isnan(left) | np.isnan(right)
    found = getattr(np, _COMPARED_FLOATS[place - 1])(left, right)
    return np.asarray(found | is_nan if predicate >= _FIRST_UNORDERED else found & ~is_nan)
