"""A program's names to the native core's numbers; every wrong name is reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from npuflow import _native
from npuflow.errors import Diagnostic, InputError, Severity, unknown_name, with_hint
from npuflow.simulate.engine_code import code_of, place_of, step_name
from npuflow.simulate.program import WAIT_CAUSES, Cause, FlatLoop, FlatStep, Program

_CAUSES = tuple(Cause)


class Named(Protocol):
    """Anything with a name."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True)
class StepPlace:
    """Which step of which engine an operation of the core is."""

    engine: int
    name: str
    kind: str


@dataclass(frozen=True)
class Encoded:
    """The core's form of a program."""

    native: _native.ProgramBuilder
    program: Program

    @cached_property
    def steps(self) -> tuple[StepPlace, ...]:
        """Which step each operation is: of interest where something is told of them."""
        return tuple(
            StepPlace(number, step_name(step), step.kind)
            for number, engine in enumerate(self.program.engines)
            for step in _operations(engine.body)
        )


def _operations(body: Sequence[FlatStep]) -> Iterator[FlatStep]:
    """The steps that operations stand for; loops have one where they begin, and one where they end."""
    for step in body:
        yield step
        if isinstance(step, FlatLoop):
            yield from _operations(step.body)
            yield step


def encode(program: Program) -> Encoded:
    """The core's form of a program; raises InputError with everything that is wrong with it."""
    encoder = _Encoder(program)
    try:
        encoder.run()
    except (TypeError, OverflowError) as error:
        if encoder.problems:
            raise _input_error(encoder.problems) from error
        raise InputError(with_hint(f"{encoder.where} has a number the simulator cannot hold", str(error))) from error
    problems = encoder.problems or encoder.native.problems()
    if problems:
        raise _input_error(problems)
    return Encoded(encoder.native, program)


def _input_error(problems: Iterable[str]) -> InputError:
    return InputError([Diagnostic(Severity.ERROR, problem) for problem in problems])


@dataclass
class _Encoder:
    program: Program
    native: _native.ProgramBuilder = field(default_factory=_native.ProgramBuilder)
    problems: list[str] = field(default_factory=list)
    where: str = "the program"  # what is being encoded, for messages

    def run(self) -> None:
        program = self.program
        self.tables = {
            kind: self._table(kind, things)
            for kind, things in (
                ("memory", program.memories),
                ("buffer", program.buffers),
                ("semaphore", program.semaphores),
                ("resource", program.resources),
                ("engine", program.engines),
                ("stream", program.streams),
            )
        }
        self._add_storage()
        self._add_wires()
        self._add_engines()

    def _table(self, kind: str, things: Sequence[Named]) -> dict[str, int]:
        table = {thing.name: number for number, thing in enumerate(things)}
        if len(table) < len(things):
            names = [thing.name for thing in things]
            again = (name for number, name in enumerate(names) if name in names[:number])
            self.problems += (f"two things of kind {kind} are named '{name}'; hint: rename one" for name in again)
        return table

    def _find(self, kind: str, name: str) -> int:
        number = self.tables[kind].get(name)
        if number is None:
            self.problems.append(f"{self.where}: {unknown_name(kind, name, self.tables[kind])}")
            return 0
        return number

    def _add_storage(self) -> None:
        for memory in self.program.memories:
            self.where = f"memory '{memory.name}'"
            self.native.add_memory(memory.name, memory.bytes, memory.is_near)
        for b in self.program.buffers:
            self.where = f"buffer '{b.name}'"
            memory_number = self._find("memory", b.memory)
            self.native.add_buffer(b.name, memory_number, b.address_bytes, b.slot_bytes, b.depth)
        for semaphore in self.program.semaphores:
            self.where = f"semaphore '{semaphore.name}'"
            if semaphore.cause not in WAIT_CAUSES:
                hint = f"use one of {', '.join(c.value for c in WAIT_CAUSES)}"
                self.problems.append(with_hint(f"{self.where} cannot have the cause {semaphore.cause.value}", hint))
            cause = _CAUSES.index(semaphore.cause)
            self.native.add_semaphore(semaphore.name, semaphore.initial, semaphore.maximum, cause)

    def _add_wires(self) -> None:
        for resource in self.program.resources:
            self.where = f"resource '{resource.name}'"
            self.native.add_resource(resource.name, resource.bytes_per_cycle)
        for stream in self.program.streams:
            self.where = f"stream '{stream.name}'"
            sender = self._find("engine", stream.sender)
            receivers = [self._find("engine", name) for name in stream.receivers]
            links = [self._find("resource", name) for name in stream.links]
            self.native.add_stream(stream.name, sender, receivers, links, stream.latency_cycles)

    def _add_engines(self) -> None:
        codes = [code_of(engine) for engine in self.program.engines]
        for code in codes:
            self.problems += code.problems
        for number, kind, name in self.native.link([code.native for code in codes]):
            self.where = place_of(codes[number].users[kind, name], self.program.engines[number])
            self._find(kind, name)
