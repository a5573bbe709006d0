"""How the functions of a module are checked: executed on random data, and compared with what IREE computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass, field
from pathlib import Path

from npuflow.core.parsing import parse, parse_file
from npuflow.core.passes import fail
from npuflow.dialect.context import new_context
from npuflow.errors import Diagnostic, Severity, nearest, with_hint
from npuflow.execute.arrays import ArraySpec, Signature, functions_of, signature_of
from npuflow.execute.data import arrays_for
from npuflow.execute.limits import limits_in_force
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.verification import Judge, Reference, make_references
from npuflow.simulate.compiled import CompiledFunction, execute_function
from npuflow.simulate.handover import moved_bytes
from npuflow.simulate.program import Program
from npuflow.simulate.run import needed_bytes
from npuflow.simulate.sequence import CompiledSequence, execute_sequence
from npuflow.simulate.verify_function import Verified, judge_alone, judge_sequence
from npuflow.simulate.verify_function import judge as judge_execution

# A functional run takes about two seconds per 2^30 multiply-accumulates.
VERIFIED_MACS = 1 << 28

# What a schedule that came as such may move; one that computes little takes about a second for it.
EXECUTED_BYTES = 1 << 28

EXECUTED_MEMORY_BYTES = 1 << 28

# A byte, its state, and who has touched it last.
_MOST_PER_BYTE = 26

OnStep = Callable[[str], None]


@dataclass(frozen=True)
class Subject:
    """A function to be checked; `text` is the program that says what it must compute, if there is one."""

    compiled: CompiledFunction | CompiledSequence
    macs: int
    text: str | None

    @property
    def name(self) -> str:
        return self.compiled.name

    @property
    def programs(self) -> Sequence[Program]:
        """What is executed, one after the other."""
        if isinstance(self.compiled, CompiledSequence):
            return [part.program for part in self.compiled.parts.values()]
        return [self.compiled.program]

    def require_memory(self) -> None:
        """Raises before anything is begun that would not fit at its end."""
        for program in self.programs:
            if _data_bytes(program) * _MOST_PER_BYTE > limits_in_force().most_bytes:  # only then worth an exact answer
                limits_in_force().require(needed_bytes(program), f"the functional run of @{self.name}")

    def too_large(self) -> str | None:
        """Why the function is not executed unless that is asked for."""
        if self.macs > VERIFIED_MACS:
            return f"more than {VERIFIED_MACS} multiply-accumulates, and not asked for"
        if max(map(_data_bytes, self.programs)) > EXECUTED_MEMORY_BYTES:
            return f"more than {EXECUTED_MEMORY_BYTES} bytes of memory, and not asked for"
        if self.text is not None or isinstance(self.compiled, CompiledSequence):
            return None
        if moved_bytes(self.compiled.program) > EXECUTED_BYTES:
            return f"more than {EXECUTED_BYTES} bytes to be moved, and not asked for"
        return None


@dataclass
class Checks:
    """Checks of several functions; references are computed on `pool` from the first moment on.

    `verify` left out: only what is small enough is executed. `on_step` is told what begins.
    """

    subjects: Sequence[Subject]
    verify: bool | None
    seed: int
    pool: Executor
    on_step: OnStep
    judge: Judge = Judge.IREE
    _references: Mapping[str, Future[Reference]] = field(init=False)

    def __post_init__(self) -> None:
        for subject in self.subjects:
            if self._skipped(subject) is None:
                subject.require_memory()
        self._references = {
            s.name: self.pool.submit(_reference, s.text, s.name, self.seed, self.judge)
            for s in self.subjects
            if s.text is not None and self._skipped(s) is None
        }

    def _skipped(self, subject: Subject) -> str | None:
        if self.verify is not None:
            return None if self.verify else "switched off"
        return subject.too_large()

    def of(self, subject: Subject) -> Verified:
        """Executes a function while its reference may still be under way, and compares."""
        skipped = self._skipped(subject)
        if skipped is not None:
            return Verified.skipped(skipped)
        self.on_step(f"executing @{subject.name}")
        compiled = subject.compiled
        if isinstance(compiled, CompiledSequence):
            inputs = arrays_for(compiled.dividing_op, compiled.signature.inputs, self.seed)
            in_parts = execute_sequence(compiled, inputs)
            return self._compared(subject, lambda reference: judge_sequence(in_parts, reference))
        execution = execute_function(compiled, arrays_for(compiled.op, compiled.signature.inputs, self.seed))
        if subject.text is None:
            return judge_alone(execution)
        return self._compared(subject, lambda reference: judge_execution(execution, reference))

    def _compared(self, subject: Subject, judged: Callable[[Reference], Verified]) -> Verified:
        """What is said of an execution once its reference is there."""
        self.on_step(f"computing @{subject.name} with {self.judge.name}")
        try:
            return judged(self._references[subject.name].result())
        except NotExecutableError as error:
            if self.verify:
                raise
            return Verified.skipped("; ".join(diagnostic.message for diagnostic in error.diagnostics))


def _data_bytes(program: Program) -> int:
    return sum(memory.bytes for memory in program.memories)


def _reference(text: str, function: str, seed: int, judge: Judge) -> Reference:
    """What a function must compute; in a context of its own, since it runs beside other work."""
    try:
        (reference,) = make_references(parse(text, new_context()).operation, function, seed, judge)
    except ImportError as error:
        hint = "pip install iree-base-compiler iree-base-runtime"
        message = with_hint(f"@{function} cannot be compared with IREE: {error}", hint)
        raise NotExecutableError(Diagnostic(Severity.ERROR, message)) from error
    return reference


def reference_text(path: Path, schedules: Sequence[Signature]) -> str:
    """The text of a file with a function for each schedule; raises where there is none, or one of another type."""
    module = parse_file(str(path), new_context())
    found = {s.name: (s, op) for s, op in ((signature_of(op), op) for op in functions_of(module.operation))}
    for schedule in schedules:
        if schedule.name not in found:
            near = ", ".join(f"@{name}" for name in nearest(schedule.name, found))
            hint = f"it has {near}: name one of them so" if found else "give the program that the schedule was made of"
            raise fail(module.operation, f"the reference has no function @{schedule.name}", hint)
        signature, op = found[schedule.name]
        if _kinds(signature) != _kinds(schedule):
            hint = "give the program that the schedule was made of"
            raise fail(op, f"the reference is {signature}, the schedule {schedule}", hint)
    return module.operation.get_asm(enable_debug_info=True)


def _kinds(signature: Signature) -> Sequence[Sequence[tuple[str, tuple[int, ...]]]]:
    def side(specs: Sequence[ArraySpec]) -> Sequence[tuple[str, tuple[int, ...]]]:
        return [(spec.element, spec.shape) for spec in specs]

    return side(signature.inputs), side(signature.outputs)
