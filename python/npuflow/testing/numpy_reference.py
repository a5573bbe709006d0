"""What a matmul program computes according to numpy: a third opinion beside IREE and the JIT, and the cheapest.

Integers are summed exactly and floats in float64, so that the results are the exact ones as far as any narrower type
can tell.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from npuflow.execute.arrays import FLOAT_FORMATS, Array, is_float
from npuflow.execute.bounds import EXACT, WIDE_ROUNDOFF, Bound, BoundKind
from npuflow.execute.data import random_arrays
from npuflow.execute.references import Judge, Reference
from npuflow.testing.programs import SCALE_FLOAT, SCALE_INTEGER, SHIFT, MatmulProgram, Tail

Number = TypeVar("Number", np.int64, np.float64)


def numpy_reference(program: MatmulProgram, seed: int = 0) -> Reference:
    """Random inputs and what numpy makes of them, with bounds as `execute.bounds` has them."""
    signature = program.signature
    inputs = random_arrays(signature.inputs, seed)
    if not is_float(program.types.accumulator):
        return Reference(signature, tuple(inputs), (_integers(program, inputs),), (EXACT,), Judge.NUMPY)
    result, narrow, wide = _floats(program, inputs)
    return Reference(signature, tuple(inputs), (result,), (narrow,), Judge.NUMPY, (wide,))


def _operands(program: MatmulProgram, inputs: list[Array], kind: type[Number]) -> tuple[npt.NDArray[Number], ...]:
    lhs, rhs = (array.astype(kind) for array in inputs[:2])
    lhs = np.swapaxes(lhs, -1, -2) if program.transposed.lhs else lhs
    rhs = np.swapaxes(rhs, -1, -2) if program.transposed.rhs else rhs
    init = inputs[2].astype(kind) if program.accumulate else np.zeros((), kind)
    return lhs, rhs, init


def _integers(program: MatmulProgram, inputs: list[Array]) -> Array:
    """int64 wraps as i32 does, so cutting its upper half off gives what i32 holds."""
    lhs, rhs, init = _operands(program, inputs, np.int64)
    value = (np.matmul(lhs, rhs) + init).astype(np.int32)
    for tail in program.tails:
        if tail is Tail.BIAS:
            value = (value.astype(np.int64) + inputs[-1]).astype(np.int32)
        elif tail is Tail.RELU:
            value = np.maximum(value, 0)
        elif tail is Tail.SCALE:
            value = (value.astype(np.int64) * SCALE_INTEGER).astype(np.int32)
        else:
            value = (value >> SHIFT).astype(np.int8)
    return value


def _floats(program: MatmulProgram, inputs: list[Array]) -> tuple[Array, Bound, Bound]:
    """The result, and bounds that hold for every order of summation."""
    lhs, rhs, init = _operands(program, inputs, np.float64)
    value, size = np.matmul(lhs, rhs) + init, np.matmul(np.abs(lhs), np.abs(rhs)) + np.abs(init)
    roundings = program.k + 2
    for tail in program.tails:
        if tail is Tail.BIAS:
            value, size = value + inputs[-1], size + np.abs(inputs[-1])
        elif tail is Tail.RELU:
            value = np.maximum(value, 0.0)
        elif tail is Tail.SCALE:
            value, size = value * SCALE_FLOAT, size * abs(SCALE_FLOAT)
        roundings += tail in (Tail.BIAS, Tail.SCALE)
    (spec,) = program.signature.outputs
    unit = FLOAT_FORMATS[program.types.accumulator].unit_roundoff
    narrow, wide = (math.expm1(roundings * one) * size for one in (unit, WIDE_ROUNDOFF))
    if Tail.TRUNCATE in program.tails:
        narrow = narrow + FLOAT_FORMATS[spec.element].unit_roundoff * (np.abs(value) + narrow)
    return value, Bound(BoundKind.DERIVED, narrow), Bound(BoundKind.DERIVED, wide)
