"""Programs that differ from one that is encoded in numbers alone: these are written into a copy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from npuflow import _native
from npuflow.simulate.encode import Encoded, encode
from npuflow.simulate.program import FlatCompute, FlatControl, FlatLoop, FlatReceive, FlatSend, FlatStep, Program

_Thing = TypeVar("_Thing")


class _UnlikeError(Exception):
    """The programs differ in more than numbers."""


@dataclass(frozen=True)
class EncodedModel:
    """A program in the core's form, to make that of others like it."""

    program: Program
    encoded: Encoded

    @staticmethod
    def of(program: Program) -> EncodedModel:
        return EncodedModel(program, encode(program))

    def native_of(self, program: Program) -> _native.ProgramBuilder:
        """The core's form of another program: written anew only where it differs in more than numbers."""
        try:
            return _Written(self.encoded.native.copied()).like(program, self.program)
        except _UnlikeError:
            return encode(program).native


@dataclass(frozen=True)
class _Written:
    """A copy of the core's program, into which the numbers of another are written."""

    native: _native.ProgramBuilder

    def like(self, program: Program, model: Program) -> _native.ProgramBuilder:
        self._write_storage(program, model)
        self._write_wires(program, model)
        for number, engine, other in _changed(program.engines, model.engines):
            rates = engine.bytes_per_cycle, engine.start_cycles, engine.latency_cycles
            named = replace(other, body=engine.body, bytes_per_cycle=rates[0], start_cycles=rates[1])
            _require(replace(named, latency_cycles=rates[2]) == engine)
            self.native.set_engine(number, *rates)
            if engine.body is not other.body:
                self._write_body(number, engine.body, other.body, 0)
        return self.native

    def _write_storage(self, program: Program, model: Program) -> None:
        for number, memory, other in _changed(program.memories, model.memories):
            _require(replace(other, bytes=memory.bytes) == memory)
            self.native.set_memory(number, memory.bytes)
        for number, buffer, before in _changed(program.buffers, model.buffers):
            _require(replace(before, address_bytes=buffer.address_bytes, depth=buffer.depth) == buffer)
            self.native.set_buffer(number, buffer.address_bytes, buffer.depth)
        for number, semaphore, old in _changed(program.semaphores, model.semaphores):
            _require(replace(old, initial=semaphore.initial, maximum=semaphore.maximum) == semaphore)
            self.native.set_semaphore(number, semaphore.initial, semaphore.maximum)

    def _write_wires(self, program: Program, model: Program) -> None:
        for number, resource, other in _changed(program.resources, model.resources):
            _require(replace(other, bytes_per_cycle=resource.bytes_per_cycle) == resource)
            self.native.set_resource(number, resource.bytes_per_cycle)
        for number, stream, before in _changed(program.streams, model.streams):
            _require(replace(before, latency_cycles=stream.latency_cycles) == stream)
            self.native.set_stream(number, stream.latency_cycles)

    def _write_body(self, engine: int, body: Sequence[FlatStep], model: Sequence[FlatStep], op: int) -> int:
        """Writes steps whose first is an engine's operation of that number; returns the number behind the last."""
        _require(len(body) == len(model))
        for step, other in zip(body, model):
            if isinstance(other, FlatLoop):
                _require(isinstance(step, FlatLoop) and step.count == other.count)
                assert isinstance(step, FlatLoop)
                op = self._write_body(engine, step.body, other.body, op + 1)
            elif step is not other:
                self._write_step(engine, step, other, op)
            op += 1
        return op

    def _write_step(self, engine: int, step: FlatStep, other: FlatStep, op: int) -> None:
        if isinstance(step, FlatCompute) and isinstance(other, FlatCompute):
            _require((step.kernel, step.name) == (other.kernel, other.name))
            _require(step.operands is other.operands or step.operands == other.operands)
            self.native.set_cycles(engine, op, step.cycles)
        elif isinstance(step, FlatControl) and isinstance(other, FlatControl):
            _require(step.name == other.name)
            self.native.set_cycles(engine, op, step.cycles)
        elif isinstance(step, (FlatSend, FlatReceive)) and type(step) is type(other):
            _require((step.stream, step.name) == (other.stream, other.name))
            overhead = step.access.run_overhead_bytes
            _require(replace(other.access, run_overhead_bytes=overhead) == step.access)
            self.native.set_run_overhead(engine, op, overhead)
        else:
            _require(step == other)


def _require(is_alike: bool) -> None:
    if not is_alike:
        raise _UnlikeError


def _changed(things: Sequence[_Thing], model: Sequence[_Thing]) -> Iterator[tuple[int, _Thing, _Thing]]:
    """Things that aren't the same objects in both programs, with their numbers."""
    _require(len(things) == len(model))
    for number, (thing, other) in enumerate(zip(things, model)):
        if thing is not other:
            yield number, thing, other
