"""How the functions of a module are checked: executed on random data, and compared with what IREE computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from npuflow.bindings import ir
from npuflow.compiler.compiled_function import CompiledFunction, execute_function
from npuflow.compiler.execute_wide import wide_program
from npuflow.compiler.references import VERIFIED_MACS, References
from npuflow.compiler.sequence import CompiledSequence
from npuflow.compiler.sources import FunctionSource
from npuflow.compiler.verify_function import Verified, confirmed, judge_alone, verify_function
from npuflow.core.parsing import parse_file
from npuflow.core.passes import fail
from npuflow.dialect.context import new_context
from npuflow.errors import nearest
from npuflow.execute.arrays import ArraySpec, Signature, functions_of, signature_of
from npuflow.execute.data import arrays_for
from npuflow.execute.limits import limits_in_force
from npuflow.execute.lowering import NotExecutableError
from npuflow.execute.meter import meter_in_force
from npuflow.simulate.handover import moved_bytes
from npuflow.simulate.program import Program
from npuflow.simulate.run import needed_bytes

# What a schedule that came as such may move; one that computes little takes about a second for it.
EXECUTED_BYTES = 1 << 28

EXECUTED_MEMORY_BYTES = 1 << 28

# A byte, its state, and who has touched it last.
_MOST_PER_BYTE = 26

OnStep = Callable[[str], None]


@dataclass(frozen=True)
class Subject:
    """A function to be checked; `source` is the function that says what it must compute, if there is one."""

    compiled: CompiledFunction | CompiledSequence
    macs: int
    source: FunctionSource | None

    @property
    def name(self) -> str:
        return self.compiled.name

    @property
    def parts(self) -> Sequence[CompiledFunction]:
        """What is executed, one after the other."""
        return list(self.compiled.parts.values()) if isinstance(self.compiled, CompiledSequence) else [self.compiled]

    @cached_property
    def programs(self) -> Sequence[Program]:
        """The parts' programs, and those in 64 bits where there are floats."""
        wide = (wide_program(part) for part in self.parts if part.has_floats and self.source is not None)
        return [*(part.program for part in self.parts), *wide]

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
        if self.source is not None or isinstance(self.compiled, CompiledSequence):
            return None
        if moved_bytes(self.compiled.program) > EXECUTED_BYTES:
            return f"more than {EXECUTED_BYTES} bytes to be moved, and not asked for"
        return None


@dataclass
class Checks:
    """Checks of several functions, whose references are begun with at once.

    `verify` left out: only what is small enough is executed. `on_step` is told what begins.
    """

    subjects: Sequence[Subject]
    verify: bool | None
    references: References
    on_step: OnStep

    def __post_init__(self) -> None:
        asked = [subject for subject in self.subjects if self._skipped(subject) is None]
        for subject in asked:
            subject.require_memory()
        for subject in asked:
            if subject.source is not None:
                self.references.begin(subject.source)

    def _skipped(self, subject: Subject) -> str | None:
        if self.verify is not None:
            return None if self.verify else "switched off"
        return subject.too_large()

    def of(self, subject: Subject, operations: int = 0) -> Verified:
        """Executes a function on its reference's inputs while the judge may still be at work, and compares.

        `operations` is how many of the simulator a run takes, if that is known.
        """
        skipped = self._skipped(subject)
        if skipped is not None:
            return Verified.skipped(skipped)
        try:
            return self._checked(subject, operations)
        except NotExecutableError as error:
            if self.verify:
                raise
            return Verified.skipped("; ".join(diagnostic.message for diagnostic in error.diagnostics))

    def _checked(self, subject: Subject, operations: int) -> Verified:
        compiled = subject.compiled
        if subject.source is None:
            assert isinstance(compiled, CompiledFunction)
            self.on_step(f"executing @{subject.name}")
            inputs = arrays_for(compiled.op, compiled.signature.inputs, self.references.seed)
            with meter_in_force().expecting(operations):
                return judge_alone(execute_function(compiled, inputs))
        self.on_step(f"computing what @{subject.name} computes in 64 bits")
        reference = self.references.own(subject.name)
        self.on_step(f"executing @{subject.name}")
        runs = len(reference.on_all_data) * (1 + reference.has_floats)
        with meter_in_force().expecting(runs * operations):
            found = verify_function(compiled, reference)
        self.on_step(f"computing @{subject.name} with {self.references.judge.name}")
        return confirmed(found, self.references.judged(subject.name))


def _data_bytes(program: Program) -> int:
    return sum(memory.bytes for memory in program.memories)


def reference_module(path: Path, schedules: Sequence[Signature]) -> ir.Module:
    """The module of a file with a function for each schedule; raises where there is none, or one of another type."""
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
    return module


def _kinds(signature: Signature) -> Sequence[Sequence[tuple[str, tuple[int, ...]]]]:
    def side(specs: Sequence[ArraySpec]) -> Sequence[tuple[str, tuple[int, ...]]]:
        return [(spec.element, spec.shape) for spec in specs]

    return side(signature.inputs), side(signature.outputs)
