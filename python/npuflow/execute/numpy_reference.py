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
from npuflow.execute.bounds import EXACT, Bound, BoundKind
from npuflow.execute.data import random_arrays
from npuflow.execute.programs import SCALE_FLOAT, SCALE_INTEGER, SHIFT, MatmulProgram, Tail
from npuflow.execute.verification import Judge, Reference

Number = TypeVar("Number", np.int64, np.float64)


def numpy_reference(program: MatmulProgram, seed: int = 0) -> Reference:
    """Random inputs and what numpy makes of them, with the bounds that `execute.bounds` would derive."""
    signature = program.signature
    inputs = random_arrays(signature.inputs, seed)
    compute = _floats if is_float(program.types.accumulator) else _integers
    result, bound = compute(program, inputs)
    return Reference(signature, tuple(inputs), (result,), (bound,), Judge.NUMPY)


def _operands(program: MatmulProgram, inputs: list[Array], kind: type[Number]) -> tuple[npt.NDArray[Number], ...]:
    lhs, rhs = (array.astype(kind) for array in inputs[:2])
    lhs = np.swapaxes(lhs, -1, -2) if program.transposed.lhs else lhs
    rhs = np.swapaxes(rhs, -1, -2) if program.transposed.rhs else rhs
    init = inputs[2].astype(kind) if program.accumulate else np.zeros((), kind)
    return lhs, rhs, init


def _integers(program: MatmulProgram, inputs: list[Array]) -> tuple[Array, Bound]:
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
    return value, EXACT


def _floats(program: MatmulProgram, inputs: list[Array]) -> tuple[Array, Bound]:
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
    accumulated = roundings * FLOAT_FORMATS[program.types.accumulator].unit_roundoff
    last = FLOAT_FORMATS[spec.element].unit_roundoff if Tail.TRUNCATE in program.tails else 0.0
    bound = Bound(BoundKind.DERIVED, 2.0 * math.expm1(accumulated) * size, last_rounding=last)
    return value.astype(spec.dtype), bound
