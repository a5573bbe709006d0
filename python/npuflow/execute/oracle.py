"""The independent judge: a function compiled for this CPU by IREE, which shares no code with the JIT that runs ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from npuflow.bindings import ir
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import ops_of
from npuflow.errors import Diagnostic, Severity
from npuflow.execute.arrays import Array, ArraySpec, Signature
from npuflow.execute.clone import clone_function, function_of, run_passes
from npuflow.execute.gather_arguments import gather_arguments, gathered
from npuflow.execute.inline_resources import inline_resources
from npuflow.execute.iree_compile import compile_text
from npuflow.execute.keep_apart import keep_all_apart, keep_apart
from npuflow.execute.limits import LimitError, ProgramFailedError
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.sandbox import run_in_child

_LINES_SHOWN = 6
_NO_SCALARS = ("bf16", "f16")
# Functions that it has for f64 as well as for f32.
_WIDE_MATH = frozenset(
    f"math.{name}"
    for name in "absf ceil copysign exp exp2 expm1 floor fma log log1p round roundeven rsqrt sqrt trunc".split()
)


class LoadedModule(Protocol):
    """What IREE's runtime loads: functions by name."""

    def __getitem__(self, name: str) -> Callable[..., object]: ...


def run_iree(module: ir.Operation, signature: Signature, inputs: Sequence[Array], *, fuses: bool = True) -> list[Array]:
    """The results of a function of `module`; raises NotExecutableError where IREE cannot compile or run it."""
    _check(module, signature)
    name = signature.name
    given = [_to_iree(array, spec) for array, spec in zip(*gathered(signature, inputs), strict=True)]
    try:
        binary = _compile(module, name, fuses=fuses)
        _load_runtime()
        return run_in_child(lambda: _call(binary, signature, given), f"IREE's run of @{name}")
    except LimitError:
        raise
    except (RuntimeError, ValueError, ProgramFailedError) as error:
        said = error.diagnostics[0].message if isinstance(error, ProgramFailedError) else str(error)
        what = "\n".join(said.strip().splitlines()[:_LINES_SHOWN])
        raise _refusal(module, f"IREE cannot run @{name}: {what}") from error


def _load_runtime() -> None:
    """In a child it would be loaded again each time, and might wait for another thread that we are loading it in."""
    import iree.runtime  # noqa: F401


def _call(binary: bytes, signature: Signature, given: Sequence[object]) -> list[Array]:
    """Loads and calls a compiled function, which must not happen in our own process."""
    import iree.runtime

    try:
        program: LoadedModule = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
    except IndexError as error:
        raise RuntimeError(str(error)) from error
    returned = program[signature.name](*given)
    values = returned if isinstance(returned, (tuple, list)) else [returned] * len(signature.outputs)
    return [_to_numpy(value, spec) for value, spec in zip(values, signature.outputs, strict=True)]


def runs_wide(module: ir.Operation, function: str) -> bool:
    """Whether IREE has all functions that are used for floats of 64 bits."""
    copy = clone_function(module, function)
    return all(op.name in _WIDE_MATH for op in ops_of(copy.operation) if op.name.startswith("math."))


def text_for_iree(module: ir.Operation, function: str, *, generalise: bool, fuses: bool = True) -> str:
    """A function without what only we know; named ops as `linalg.generic` where IREE's newer MLIR lacks them.

    Its constants stand in the text: IREE fails on resources of bf16. Where it isn't to fuse, each op is on its own.
    """
    copy = clone_function(module, function)
    inline_resources(copy)
    for op in ops_of(copy.operation, "func.func"):
        for name in ("arg_attrs", "res_attrs"):
            if name in op.attributes:
                del op.attributes[name]
    if generalise:
        run_passes(copy, "func.func(linalg-generalize-named-ops)")
    gather_arguments(function_of(copy, function))
    if fuses:
        keep_apart(copy)
    else:
        keep_all_apart(copy)
    return str(copy)


def _compile(module: ir.Operation, function: str, *, fuses: bool) -> bytes:
    what = f"IREE's compilation of @{function}"
    try:
        return compile_text(text_for_iree(module, function, generalise=False, fuses=fuses), what)
    except RuntimeError:
        return compile_text(text_for_iree(module, function, generalise=True, fuses=fuses), what)


def _check(module: ir.Operation, signature: Signature) -> None:
    if any(signature.is_buffer):
        raise _refusal(module, f"IREE runs functions of tensors, and {signature} takes memrefs")
    if any(spec.is_scalar and spec.element in _NO_SCALARS for spec in (*signature.inputs, *signature.outputs)):
        raise _refusal(module, f"IREE cannot pass scalars of 16-bit floats, as {signature} has")


def _refusal(module: ir.Operation, text: str) -> NotExecutableError:
    return NotExecutableError(Diagnostic(Severity.ERROR, text, location_of(module)))


def _to_iree(array: Array, spec: ArraySpec) -> object:
    return array.item() if spec.is_scalar else np.asarray(array, order="C")  # of any rank, 0 too


def _to_numpy(value: object, spec: ArraySpec) -> Array:
    return np.asarray(value).astype(spec.dtype).reshape(spec.shape)
