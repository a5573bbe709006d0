"""The independent judge: a function compiled for this CPU by IREE, which shares no code with the JIT that runs ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from npuflow.bindings import ir
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import ops_of
from npuflow.errors import Diagnostic, Severity, with_hint
from npuflow.execute.arrays import Array, ArraySpec, Signature
from npuflow.execute.clone import clone_function, run_passes
from npuflow.execute.lowering import NotExecutableError

# A compiled program takes some 10 KiB.
_PROGRAMS_KEPT = 256
_FLAGS = ("--iree-llvmcpu-target-cpu=host", "--iree-input-type=none", "--iree-input-demote-f64-to-f32=false")
_LINES_SHOWN = 6
_NO_SCALARS = ("bf16", "f16")
# Functions that it has for f64 as well as for f32.
_WIDE_MATH = frozenset(
    f"math.{name}"
    for name in "absf ceil copysign exp exp2 expm1 floor fma log log1p round roundeven rsqrt sqrt trunc".split()
)


class Program(Protocol):
    """What IREE's runtime loads: functions by name."""

    def __getitem__(self, name: str) -> Callable[..., object]: ...


def run_iree(module: ir.Operation, signature: Signature, inputs: Sequence[Array]) -> list[Array]:
    """The results of a function of `module`; raises NotExecutableError where IREE cannot compile or run it."""
    _check(module, signature)
    try:
        program = _compile(module, signature.name)
        given = [_to_iree(array, spec) for array, spec in zip(inputs, signature.inputs, strict=True)]
        returned = program[signature.name](*given)
    except (RuntimeError, ValueError) as error:
        what = "\n".join(str(error).strip().splitlines()[:_LINES_SHOWN])
        raise _refusal(module, f"IREE cannot run @{signature.name}: {what}") from error
    values = returned if isinstance(returned, (tuple, list)) else [returned] * len(signature.outputs)
    return [_to_numpy(value, spec) for value, spec in zip(values, signature.outputs, strict=True)]


def runs_wide(module: ir.Operation, function: str) -> bool:
    """Whether IREE has all functions that are used for floats of 64 bits."""
    copy = clone_function(module, function)
    return all(op.name in _WIDE_MATH for op in ops_of(copy.operation) if op.name.startswith("math."))


def text_for_iree(module: ir.Operation, function: str, *, generalise: bool) -> str:
    """A function without what only we know; named ops as `linalg.generic` where IREE's newer MLIR lacks them."""
    copy = clone_function(module, function)
    for op in ops_of(copy.operation, "func.func"):
        for name in ("arg_attrs", "res_attrs"):
            if name in op.attributes:
                del op.attributes[name]
    if generalise:
        run_passes(copy, "func.func(linalg-generalize-named-ops)")
    return str(copy)


def _compile(module: ir.Operation, function: str) -> Program:
    try:
        return _program(text_for_iree(module, function, generalise=False))
    except RuntimeError:
        return _program(text_for_iree(module, function, generalise=True))


@lru_cache(maxsize=_PROGRAMS_KEPT)
def _program(text: str) -> Program:
    """What IREE makes of a program's text; raises RuntimeError with IREE's messages."""
    import iree.compiler
    import iree.runtime

    try:
        binary = iree.compiler.compile_str(text, target_backends=["llvm-cpu"], extra_args=list(_FLAGS))
    except iree.compiler.CompilerToolError as error:
        raise RuntimeError(str(error).partition("Diagnostics:")[2].partition("Invoked with:")[0]) from error
    try:
        loaded: Program = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
    except IndexError as error:
        raise RuntimeError(str(error)) from error
    return loaded


def _check(module: ir.Operation, signature: Signature) -> None:
    if any(signature.is_buffer):
        raise _refusal(module, f"IREE runs functions of tensors, and {signature} takes memrefs")
    if any(spec.is_scalar and spec.element in _NO_SCALARS for spec in (*signature.inputs, *signature.outputs)):
        raise _refusal(module, f"IREE cannot pass scalars of 16-bit floats, as {signature} has")


def _refusal(module: ir.Operation, text: str) -> NotExecutableError:
    hint = "compare with the JIT-compiled input instead (--oracle=jit, oracle=jit)"
    return NotExecutableError(Diagnostic(Severity.ERROR, with_hint(text, hint), location_of(module)))


def _to_iree(array: Array, spec: ArraySpec) -> object:
    return array.item() if spec.is_scalar else np.asarray(array, order="C")  # of any rank, 0 too


def _to_numpy(value: object, spec: ArraySpec) -> Array:
    return np.asarray(value).astype(spec.dtype).reshape(spec.shape)
