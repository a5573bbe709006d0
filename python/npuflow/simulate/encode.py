"""A program's names to the native core's numbers; every wrong name is reported."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from npuflow import _native
from npuflow.errors import Diagnostic, InputError, Severity, unknown_name, with_hint
from npuflow.simulate.program import (
    WAIT_CAUSES,
    Cause,
    FlatAccess,
    FlatAcquire,
    FlatAffine,
    FlatCompute,
    FlatEngine,
    FlatLoop,
    FlatReceive,
    FlatRelease,
    FlatSend,
    FlatStep,
    Outside,
    Program,
)

# Programs have a few loops around a step; the native core has room for twice as many.
_MOST_DEPTH = 32
_CAUSES = tuple(Cause)
# A step, and the number of its engine.
_Placed = tuple[int, FlatStep]
_AffineParts = tuple[int, tuple[int, ...]]
# An access as numbers, which are found in a table faster than it is.
_AccessValue = tuple[
    str,
    _AffineParts,
    _AffineParts,
    int,
    tuple[int, ...],
    tuple[int, ...],
    tuple[tuple[tuple[int, ...], _AffineParts], ...],
    bool,
    float,
]


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
    """The core's program, and what its numbers stand for."""

    native: _native.ProgramBuilder
    kernels: tuple[str, ...]
    operations: tuple[_Placed, ...]

    @cached_property
    def steps(self) -> tuple[StepPlace, ...]:
        """Which step each operation is: of interest where something is told of them."""
        return tuple(StepPlace(engine, step_name(step), step.kind) for engine, step in self.operations)


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
    return Encoded(encoder.native, tuple(encoder.kernels), tuple(encoder.operations))


def _input_error(problems: Iterable[str]) -> InputError:
    return InputError([Diagnostic(Severity.ERROR, problem) for problem in problems])


@dataclass
class _Encoder:
    program: Program
    native: _native.ProgramBuilder = field(default_factory=_native.ProgramBuilder)
    problems: list[str] = field(default_factory=list)
    kernels: dict[str, int] = field(default_factory=dict)
    operations: list[_Placed] = field(default_factory=list)
    accesses: dict[_AccessValue, int] = field(default_factory=dict)
    place: str | _Placed = "the program"

    @property
    def where(self) -> str:
        """What is being encoded, for messages."""
        if isinstance(self.place, str):
            return self.place
        engine, step = self.place
        return f"'{step_name(step)}' of engine '{self.program.engines[engine].name}'"

    def run(self) -> None:
        program = self.program
        self.memories = self._table("memory", program.memories)
        self.buffers = self._table("buffer", program.buffers)
        self.semaphores = self._table("semaphore", program.semaphores)
        self.resources = self._table("resource", program.resources)
        self.engines = self._table("engine", program.engines)
        self.streams = self._table("stream", program.streams)
        self._add_storage()
        self._add_wires()
        for number, engine in enumerate(program.engines):
            self._add_engine(number, engine)

    def _table(self, kind: str, things: Iterable[Named]) -> dict[str, int]:
        table: dict[str, int] = {}
        for number, thing in enumerate(things):
            if thing.name in table:
                self.problems.append(f"two things of kind {kind} are named '{thing.name}'; hint: rename one")
            table[thing.name] = number
        return table

    def _find(self, kind: str, name: str, table: dict[str, int]) -> int:
        number = table.get(name)
        if number is None:
            self.problems.append(f"{self.where}: {unknown_name(kind, name, table)}")
            return 0
        return number

    def _add_storage(self) -> None:
        for memory in self.program.memories:
            self.place = f"memory '{memory.name}'"
            self.native.add_memory(memory.name, memory.bytes, memory.is_near)
        for b in self.program.buffers:
            self.place = f"buffer '{b.name}'"
            memory_number = self._find("memory", b.memory, self.memories)
            self.native.add_buffer(b.name, memory_number, b.address_bytes, b.slot_bytes, b.depth)
        for semaphore in self.program.semaphores:
            self.place = f"semaphore '{semaphore.name}'"
            if semaphore.cause not in WAIT_CAUSES:
                hint = f"use one of {', '.join(c.value for c in WAIT_CAUSES)}"
                self.problems.append(with_hint(f"{self.where} cannot have the cause {semaphore.cause.value}", hint))
            cause = _CAUSES.index(semaphore.cause)
            self.native.add_semaphore(semaphore.name, semaphore.initial, semaphore.maximum, cause)

    def _add_wires(self) -> None:
        for resource in self.program.resources:
            self.place = f"resource '{resource.name}'"
            self.native.add_resource(resource.name, resource.bytes_per_cycle)
        for stream in self.program.streams:
            self.place = f"stream '{stream.name}'"
            sender = self._find("engine", stream.sender, self.engines)
            receivers = [self._find("engine", name, self.engines) for name in stream.receivers]
            links = [self._find("resource", name, self.resources) for name in stream.links]
            self.native.add_stream(stream.name, sender, receivers, links, stream.latency_cycles)

    def _add_engine(self, number: int, engine: FlatEngine) -> None:
        self.place = f"engine '{engine.name}'"
        ports = [self._find("resource", name, self.resources) for name in engine.ports]
        rate, start, latency = engine.bytes_per_cycle, engine.start_cycles, engine.latency_cycles
        self.native.add_engine(engine.name, rate, ports, start, latency)
        for step in engine.body:
            self._add_step(number, step, 0)

    def _add_step(self, engine: int, step: FlatStep, depth: int) -> None:
        if isinstance(step, FlatLoop):
            self._add_loop(engine, step, depth)
            return
        self.place = engine, step
        self.operations.append(self.place)
        native = self.native
        # What programs have most of comes first, by classes: patterns of `match` take twice as long.
        if isinstance(step, FlatAcquire):
            native.acquire(step_name(step), self._find("semaphore", step.semaphore, self.semaphores), step.count)
        elif isinstance(step, FlatRelease):
            native.release(step_name(step), self._find("semaphore", step.semaphore, self.semaphores), step.count)
        elif isinstance(step, FlatSend):
            native.send(step_name(step), self._find("stream", step.stream, self.streams), self._access(step.access))
        elif isinstance(step, FlatReceive):
            native.receive(step_name(step), self._find("stream", step.stream, self.streams), self._access(step.access))
        elif isinstance(step, FlatCompute):
            parts = [(self._access(o.access), o.reads, o.writes, o.apart) for o in step.operands]
            native.compute(step_name(step), self._kernel(step.kernel), step.cycles, parts)
        else:
            native.control(step_name(step), step.cycles)

    def _add_loop(self, engine: int, loop: FlatLoop, depth: int) -> None:
        if depth == _MOST_DEPTH:
            where = f"engine '{self.program.engines[engine].name}'"
            self.problems.append(f"{where} has loops more than {_MOST_DEPTH} deep; hint: merge some of them")
            return
        self.native.begin_loop(loop.count)
        self.operations.append((engine, loop))
        for step in loop.body:
            self._add_step(engine, step, depth + 1)
        self.native.end_loop()
        self.operations.append((engine, loop))

    def _kernel(self, name: str) -> int:
        if name not in self.kernels:
            self.kernels[name] = self.native.add_kernel(name)
        return self.kernels[name]

    def _access(self, access: FlatAccess) -> int:
        offset, slot = _affine_parts(access.offset), _affine_parts(access.slot)
        limits = [(limit.coefficients, _affine_parts(limit.bound)) for limit in access.limits]
        is_zero = access.outside is Outside.ZERO
        shape = access.element_bytes, access.sizes, access.strides
        value = access.buffer, offset, slot, *shape, tuple(limits), is_zero, access.run_overhead_bytes
        number = self.accesses.get(value)
        if number is not None:
            return number
        number = self.native.add_access(
            self._find("buffer", access.buffer, self.buffers),
            access.element_bytes,
            offset,
            slot,
            access.sizes,
            access.strides,
            limits,
            is_zero,
            access.run_overhead_bytes,
        )
        self.accesses[value] = number
        return number


def _affine_parts(affine: FlatAffine) -> _AffineParts:
    return affine.constant, affine.coefficients


def step_name(step: FlatStep) -> str:
    """What messages and traces call a step: its own name, else what it does to what."""
    if isinstance(step, FlatAcquire):
        return f"acquire {step.semaphore}"
    if isinstance(step, FlatRelease):
        return f"release {step.semaphore}"
    if isinstance(step, FlatSend):
        return step.name or f"send {step.stream}"
    if isinstance(step, FlatReceive):
        return step.name or f"receive {step.stream}"
    if isinstance(step, FlatCompute):
        return step.name or step.kernel
    return "loop" if isinstance(step, FlatLoop) else step.name
