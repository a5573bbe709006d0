"""What becomes of modules that are imported: whether they compute what PyTorch says, by the program's own execution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import ml_dtypes
import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_cases import Called, Case, Together

import npuflow
from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.execute.arrays import Array, signature_of
from npuflow.execute.bounds import evaluate, typical_size
from npuflow.execute.compare import same_elements
from npuflow.execute.jit import compile_function

# As the tests of importing have them: of an element, and of a result's typical size.
TOLERANCES = {torch.float64: 1e-7, torch.float32: 1e-4, torch.bfloat16: 2**-7, torch.float16: 2**-9}
_NAMELESS = ("'torch.operator'", "'torch.constant", "'torch.vtensor.literal'", "'builtin.module'", "cannot read this")


class Outcome(Enum):
    """What became of a module."""

    RIGHT = "right"
    UNCHECKED = "not checked: its own error is as large as it"
    NOT_EXPORTABLE = "not exported by PyTorch"
    REFUSED = "refused, saying what"
    BADLY_REFUSED = "refused without saying what"
    CRASHED = "crashed"
    WRONG = "wrong"


BAD = (Outcome.BADLY_REFUSED, Outcome.CRASHED, Outcome.WRONG)


@dataclass(frozen=True)
class Judged:
    """A case by what is said of it, and its outcome."""

    op: str
    kind: str
    case: str
    outcome: Outcome
    said: str = ""


def warm_up() -> None:
    """Loads what importing loads, but no context of MLIR, whose threads a child would lack."""
    from npuflow.bindings import load_execution_engine, load_runtime, load_torch_decompositions, load_torch_importer

    for load in (load_execution_engine, load_runtime, load_torch_decompositions, load_torch_importer):
        load()
    with torch.no_grad():
        torch.export.export(Called(torch.cumsum, ((torch.ones(2), 0), {})), (torch.ones(2),)).run_decompositions()
    torch.set_num_threads(1)


def judged_all(cases: Sequence[Case]) -> list[Judged]:
    """All together, and where that isn't right, each alone."""
    if len(cases) > 1:
        expected = [one for case in cases for one in case.expected]
        outcome, _ = _judged(Together([case.module for case in cases]), expected)
        if outcome is Outcome.RIGHT:
            return [Judged(case.op, case.kind, str(case), outcome) for case in cases]
    return [judged(case) for case in cases]


def judged(case: Case) -> Judged:
    return Judged(case.op, case.kind, str(case), *_judged(case.module, case.expected))


def _judged(module: Called | Together, expected: Sequence[Tensor]) -> tuple[Outcome, str]:
    inputs = tuple(one.clone() for one in module.inputs)
    arrays = [_array(one) for one in module.inputs]
    try:
        program = npuflow.from_torch(module, inputs)
        results = compile_function(program.operation, "main").run(arrays).results
    except npuflow.NpuflowError as error:
        return _refused(module, str(error))
    except Exception as error:  # noqa: BLE001  (whatever it is, it is counted)
        return Outcome.BADLY_REFUSED, f"{type(error).__name__}: {error}".splitlines()[0]
    if len(results) < len(expected):
        return Outcome.WRONG, f"{len(results)} results, PyTorch has {len(expected)}"
    for number, (found, wanted) in enumerate(zip(results, expected, strict=False)):
        if (said := _of_another_type(found, wanted)) or (said := _difference(found, wanted)):
            if _is_right_in_f32(module, expected, number, found):
                continue
            outcome = _by_bounds(program, arrays, number, found, wanted)
            if outcome is not Outcome.RIGHT:
                return outcome, said
    return Outcome.RIGHT, ""


def _refused(module: Called | Together, said: str) -> tuple[Outcome, str]:
    line = next((one for one in said.splitlines() if "error:" in one), said.splitlines()[0])
    if "PyTorch cannot export" in line:
        return (Outcome.BADLY_REFUSED if _is_exportable(module) else Outcome.NOT_EXPORTABLE), line
    is_honest = "hint:" in line and re.search(r"'[^']+'|\d", line) and not any(word in line for word in _NAMELESS)
    return (Outcome.REFUSED if is_honest else Outcome.BADLY_REFUSED), line


def _is_exportable(module: Called | Together) -> bool:
    """Whether PyTorch exports the module where we take nothing apart before."""
    try:
        with torch.no_grad():
            torch.export.export(module, module.inputs, strict=False)
    except Exception:  # noqa: BLE001
        return False
    return True


def _of_another_type(found: Array, wanted: Tensor) -> str:
    array = _array(wanted)
    if found.shape != array.shape:
        return f"{found.dtype}{list(found.shape)} for {array.dtype}{list(array.shape)}"
    if found.dtype != array.dtype and not (wanted.dtype is torch.uint8 and found.dtype == np.int8):
        return f"{found.dtype} for {array.dtype}"
    return ""


def _difference(found: Array, wanted: Tensor) -> str:
    """What is wrong about a result; nothing where that is within tolerances."""
    array = _array(wanted)
    wrong = _wrong(found.view(array.dtype), array, _allowed(wanted))
    return _shown(found, array, wrong) if wrong.any() else ""


def _is_right_in_f32(module: Called | Together, expected: Sequence[Tensor], number: int, found: Array) -> bool:
    """Whether a result is what PyTorch computes of the same numbers in 32 bits."""
    wanted = expected[number]
    if wanted.dtype not in (torch.bfloat16, torch.float16) or isinstance(module, Together):
        return False
    wide = module.in_f32()
    if wide is None or _of_another_type(found, wanted) or wide[number].shape != wanted.shape:
        return False
    return not _difference(found, wide[number].to(wanted.dtype))


def _by_bounds(program: ir.Module, arrays: Sequence[Array], number: int, found: Array, wanted: Tensor) -> Outcome:
    """By what the program computes in 64 bits, and may be off in its own types."""
    if not wanted.is_floating_point() or _of_another_type(found, wanted):
        return Outcome.WRONG
    (function,) = (op for op in ops_of(program.operation, "func.func") if op.opview.name.value == "main")
    try:
        wide = evaluate(program.operation, signature_of(function), arrays)
    except npuflow.NpuflowError:
        return Outcome.WRONG
    exact, bound = wide.expected[number], wide.narrow[number]
    if bound.allowed is None:
        return Outcome.WRONG
    allowed = 2 * np.broadcast_to(bound.allowed, exact.shape) + _allowed(wanted)
    array = _array(wanted)
    checkable = bound.checkable(exact)
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = exact.astype(array.dtype)
    right = ~_wrong(exact, array, allowed) | ~_wrong(narrow, array, allowed)
    # What overflows on the way isn't the program's types' fault, unless there are infinities from the start.
    is_finite = all(np.isfinite(one.astype(np.float64)).all() for one in arrays)
    overflows = is_finite and (np.isfinite(array.astype(np.float64)) & ~np.isfinite(narrow.astype(np.float64))).any()
    if right[checkable].all() and not overflows:
        return Outcome.RIGHT if checkable.all() else Outcome.UNCHECKED
    return Outcome.WRONG


def _allowed(wanted: Tensor) -> npt.NDArray[np.float64]:
    array = _array(wanted).astype(np.float64)
    share = TOLERANCES.get(wanted.dtype, 0.0)
    size = np.abs(np.where(np.isfinite(array), array, 0.0))
    # What is zero in PyTorch may be a rounding of sums near 1.
    return np.asarray(share * size + 0.1 * share * max(typical_size(array), 0.1))


def _wrong(found: Array, wanted: Array, allowed: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    if wanted.dtype.kind in "biu":
        return np.asarray(found != wanted)
    left, right = found.astype(np.float64), wanted.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return np.asarray(~(same_elements(left, right) | (np.abs(left - right) <= allowed)))


def _shown(found: Array, wanted: Array, wrong: npt.NDArray[np.bool_]) -> str:
    place = tuple(np.argwhere(wrong)[0])
    where = list(map(int, place))
    return f"{int(wrong.sum())} of {wrong.size} wrong, {where} is {found[place]}, in PyTorch {wanted[place]}"


def _array(x: Tensor) -> Array:
    x = x.detach().resolve_conj().resolve_neg().contiguous()
    return x.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if x.dtype == torch.bfloat16 else x.numpy()
