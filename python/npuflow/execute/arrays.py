"""Element types as numpy knows them, and what a function takes and returns as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from npuflow.bindings import ir
from npuflow.constants.dtypes import dtype_of
from npuflow.core.passes import fail
from npuflow.ops.allowed_ops import ELEMENT_TYPES, type_problem

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class FloatFormat:
    """`unit_roundoff`: the largest relative error of one rounding; `smallest`: the spacing of subnormals."""

    unit_roundoff: float
    smallest: float
    largest: float


FLOAT_FORMATS = {
    "f16": FloatFormat(2.0**-11, 2.0**-24, 65504.0),
    "bf16": FloatFormat(2.0**-8, 2.0**-133, (2.0 - 2.0**-7) * 2.0**127),
    "f32": FloatFormat(2.0**-24, 2.0**-149, (2.0 - 2.0**-23) * 2.0**127),
    "f64": FloatFormat(2.0**-53, 2.0**-1074, (2.0 - 2.0**-52) * 2.0**1023),
}


def is_float(element: str) -> bool:
    return element in FLOAT_FORMATS


@dataclass(frozen=True)
class ArraySpec:
    """One argument or result; a scalar is handed over as an array of rank 0."""

    element: str
    shape: tuple[int, ...] = ()
    is_scalar: bool = False

    @property
    def dtype(self) -> np.dtype[np.generic]:
        return dtype_of(self.element)

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def __str__(self) -> str:
        return "x".join([*map(str, self.shape), self.element])


@dataclass(frozen=True)
class Signature:
    """A function as arrays; `is_buffer[i]` says that input i is a memref, which the function may write."""

    name: str
    inputs: tuple[ArraySpec, ...]
    outputs: tuple[ArraySpec, ...]
    is_buffer: tuple[bool, ...]

    @property
    def observed(self) -> tuple[ArraySpec, ...]:
        """What a call leaves behind: results, and memref arguments."""
        return (*self.outputs, *(spec for spec, buffer in zip(self.inputs, self.is_buffer, strict=True) if buffer))

    def __str__(self) -> str:
        ins, outs = (", ".join(map(str, side)) for side in (self.inputs, self.outputs))
        return f"@{self.name}({ins}) -> ({outs})"


def signature_of(function: ir.Operation) -> Signature:
    """A `func.func` as arrays; raises InputError where a type is none of static arrays of known elements."""
    view = function.opview
    kinds = ir.FunctionType(view.type)
    name = str(view.name.value)
    inputs = tuple(_spec(kind, function, f"argument {i}") for i, kind in enumerate(kinds.inputs))
    outputs = tuple(_spec(kind, function, f"result {i}") for i, kind in enumerate(kinds.results))
    return Signature(name, inputs, outputs, tuple(isinstance(kind, ir.MemRefType) for kind in kinds.inputs))


def _spec(kind: ir.Type, function: ir.Operation, what: str) -> ArraySpec:
    shape: tuple[int, ...] = ()
    element = kind
    if isinstance(kind, (ir.RankedTensorType, ir.MemRefType)):
        if not kind.has_static_shape:
            hint = "only static shapes can be executed; --specialize=%arg0=128x256 gives one"
            raise fail(function, f"{what} of type {kind} has a dynamic shape", hint)
        shape, element = tuple(int(size) for size in kind.shape), kind.element_type
    if str(element) not in ELEMENT_TYPES:
        known = f"arrays and scalars of {', '.join(ELEMENT_TYPES)} can be executed"
        raise fail(function, f"{what} of type {kind} is not supported", known)
    if (problem := type_problem(kind)) is not None:
        raise fail(function, f"{what} {problem[0]}", problem[1])
    return ArraySpec(str(element), shape, is_scalar=element == kind)


def functions_of(module: ir.Operation) -> Iterator[ir.Operation]:
    """The functions a caller of the module may run: public, with a body."""
    for child in module.regions[0].blocks[0].operations:
        if child.operation.name == "func.func" and may_run(child.operation):
            yield child.operation


def may_run(function: ir.Operation) -> bool:
    """Whether a caller of the module around a function may run it."""
    is_private = "sym_visibility" in function.attributes and function.opview.visibility.value == "private"
    return not is_private and not function.opview.is_external
