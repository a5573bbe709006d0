"""An engine in the native core's form, which has of what it refers to the names: made once for each engine.

Programs that come of one another, as one phase with something ahead and without, have most engines in common.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from npuflow import _native
from npuflow.core.once_of_object import once_of_object
from npuflow.errors import InputError, with_hint
from npuflow.simulate.program import (
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
)

# Programs have a few loops around a step; the native core has room for twice as many.
_MOST_DEPTH = 32
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


@dataclass(frozen=True)
class EngineCode:
    """An engine to be linked into programs; `users` are what names things first, by kind and name: steps, or itself."""

    native: _native.ProgramBuilder
    users: Mapping[tuple[str, str], FlatStep | None]
    problems: tuple[str, ...]


@once_of_object
def code_of(engine: FlatEngine) -> EngineCode:
    """The code of an engine; raises InputError where a number is none."""
    coder = _Coder(engine)
    try:
        coder.run()
    except (TypeError, OverflowError) as error:
        what = f"{place_of(coder.step, engine)} has a number the simulator cannot hold"
        raise InputError(with_hint(what, str(error))) from error
    return EngineCode(coder.native, coder.users, tuple(coder.problems))


@dataclass
class _Coder:
    engine: FlatEngine
    native: _native.ProgramBuilder = field(default_factory=_native.ProgramBuilder)
    problems: list[str] = field(default_factory=list)
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    users: dict[tuple[str, str], FlatStep | None] = field(default_factory=dict)
    accesses: dict[_AccessValue, int] = field(default_factory=dict)
    step: FlatStep | None = None

    def run(self) -> None:
        engine = self.engine
        ports = [self._resource(name) for name in engine.ports]
        self.native.add_engine(engine.name, engine.bytes_per_cycle, ports, engine.start_cycles, engine.latency_cycles)
        for step in engine.body:
            self._add_step(step, 0)

    def _add_step(self, step: FlatStep, depth: int) -> None:
        if isinstance(step, FlatLoop):
            self._add_loop(step, depth)
            return
        self.step = step
        native = self.native
        # What programs have most of comes first, by classes: patterns of `match` take twice as long.
        if isinstance(step, FlatAcquire):
            native.acquire(step_name(step), self._semaphore(step.semaphore), step.count)
        elif isinstance(step, FlatRelease):
            native.release(step_name(step), self._semaphore(step.semaphore), step.count)
        elif isinstance(step, FlatSend):
            native.send(step_name(step), self._stream(step.stream), self._access(step.access))
        elif isinstance(step, FlatReceive):
            native.receive(step_name(step), self._stream(step.stream), self._access(step.access))
        elif isinstance(step, FlatCompute):
            parts = [(self._access(o.access), o.reads, o.writes, o.apart) for o in step.operands]
            native.compute(step_name(step), self._kernel(step.kernel), step.cycles, parts)
        else:
            native.control(step_name(step), step.cycles)

    def _add_loop(self, loop: FlatLoop, depth: int) -> None:
        if depth == _MOST_DEPTH:
            where = place_of(None, self.engine)
            self.problems.append(f"{where} has loops more than {_MOST_DEPTH} deep; hint: merge some of them")
            return
        self.native.begin_loop(loop.count)
        for step in loop.body:
            self._add_step(step, depth + 1)
        self.native.end_loop()

    def _semaphore(self, name: str) -> int:
        return self._number("semaphore", name, lambda: self.native.add_semaphore(name, 0, 0, 0))

    def _resource(self, name: str) -> int:
        return self._number("resource", name, lambda: self.native.add_resource(name, 0))

    def _stream(self, name: str) -> int:
        return self._number("stream", name, lambda: self.native.add_stream(name, 0, (), (), 0))

    def _buffer(self, name: str) -> int:
        return self._number("buffer", name, lambda: self.native.add_buffer(name, 0, 0, 0, 1))

    def _kernel(self, name: str) -> int:
        return self._number("kernel", name, lambda: self.native.add_kernel(name))

    def _number(self, kind: str, name: str, added: Callable[[], int]) -> int:
        number = self.numbers.get((kind, name))
        if number is None:
            self.numbers[kind, name] = number = added()
            self.users[kind, name] = self.step
        return number

    def _access(self, access: FlatAccess) -> int:
        offset, slot = _affine_parts(access.offset), _affine_parts(access.slot)
        limits = tuple((limit.coefficients, _affine_parts(limit.bound)) for limit in access.limits)
        ways = access.outside is Outside.ZERO, access.run_overhead_bytes
        value = access.buffer, offset, slot, access.element_bytes, access.sizes, access.strides, limits, *ways
        number = self.accesses.get(value)
        if number is None:
            buffer, sizes = self._buffer(access.buffer), (access.sizes, access.strides)
            number = self.native.add_access(buffer, access.element_bytes, offset, slot, *sizes, limits, *ways)
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


def place_of(step: FlatStep | None, engine: FlatEngine) -> str:
    """What messages call a step of an engine, or the engine."""
    return f"engine '{engine.name}'" if step is None else f"'{step_name(step)}' of engine '{engine.name}'"
