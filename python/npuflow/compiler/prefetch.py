"""What DRAM holds before a launch, brought to scratchpads in the phase before that reads it, where that is faster.

Prefetches go into windows that the phase before and what stays on the chip leave: where the phase that reads them has
its buffers anyway, or above all that either phase needs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from npuflow.allocate.problem import aligned
from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.network.calls import CallList
from npuflow.network.plan import plan_of
from npuflow.simulate.platform import Platform
from npuflow.simulate.prefetch import (
    NOTHING_AHEAD,
    Ahead,
    Brought,
    FirstFills,
    NotAheadError,
    Prefetch,
    bringing,
    relocated,
)
from npuflow.simulate.program import Program
from npuflow.simulate.run import DeadlockError, cycles_of_run
from npuflow.target import Device

# Of its time, what a pair of phases has to gain by a prefetch.
_LEAST_GAIN = 0.001


@dataclass(frozen=True)
class PrefetchedPhase:
    """A phase's program, and what of it is ahead."""

    program: Program
    ahead: Ahead = NOTHING_AHEAD

    def of(self, part: CompiledFunction) -> CompiledFunction:
        """The part with this program."""
        return part.with_ahead(self.program, self.ahead)


def prefetched(calls: CallList, parts: Sequence[CompiledFunction]) -> list[PrefetchedPhase]:
    """The phases of calls; `parts` has one for each. None takes what another one makes."""
    return _Prefetching(calls, parts).found()


@dataclass
class _Prefetching:
    calls: CallList
    parts: Sequence[CompiledFunction]
    phases: list[PrefetchedPhase] = field(init=False)
    cycles: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.phases = [PrefetchedPhase(part.program) for part in self.parts]

    @property
    def device(self) -> Device:
        return self.parts[0].device

    def found(self) -> list[PrefetchedPhase]:
        for phase in range(1, len(self.phases)):
            for number, tensor in self._there_before(phase):
                self._bring(phase, number, tensor)
        return self.phases

    def _there_before(self, phase: int) -> list[tuple[int, str]]:
        """The tensors that a phase reads and no phase makes, the largest first."""
        made = {value for call in self.calls.calls for value in (*call.outputs, *call.updates.values())}
        call, part = self.calls.calls[phase], self.parts[phase]
        sizes = {memory.name: memory.bytes for memory in part.program.memories}
        own = [(n, name) for n, name in zip(call.inputs, part.arguments) if n not in made and call.inputs.count(n) == 1]
        return sorted(own, key=lambda one: -sizes[one[1]])

    def _bring(self, phase: int, number: int, tensor: str) -> None:
        """Lets the phase before bring what a phase begins with of a tensor, if both take less time then."""
        before, own = self.phases[phase - 1], self.phases[phase]
        try:
            first, behind = FirstFills(own.program, tensor, self._memories(phase)).found()
        except NotAheadError:
            return
        addresses = self._addresses(phase, first)
        if addresses is None:
            return
        ahead, behind = first.moved(addresses), relocated(behind, addresses)
        now = self._cycles(phase - 1) + self._cycles(phase)
        after = _cycles_of(behind)
        best: tuple[int, Brought, Program] | None = None
        for lanes in self._ways(len(ahead.arrivals)):
            way = Brought(number, lanes, ahead)
            program = bringing(before.program, self._arranged(phase - 1), way)
            taken = _cycles_of(program)
            if taken is not None and (best is None or taken < best[0]):
                best = taken, way, program
        if best is None or after is None or best[0] + after > now * (1 - _LEAST_GAIN):
            return
        taken, way, program = best
        brings = (*before.ahead.brings, way)
        self.phases[phase - 1] = PrefetchedPhase(program, replace(before.ahead, brings=brings))
        self.phases[phase] = PrefetchedPhase(behind, replace(own.ahead, finds=(*own.ahead.finds, ahead)))
        self.cycles |= {phase - 1: taken, phase: after}

    def _ways(self, count: int) -> Iterator[tuple[int, ...]]:
        """The lanes of so many transfers: one of them for all, or all in turn."""
        lanes = range(self.device.dma(self.device.dram_level).channels_out)
        yield from ((lane,) * count for lane in lanes)
        if count > 1 and len(lanes) > 1:
            yield tuple(number % len(lanes) for number in range(count))

    def _cycles(self, phase: int) -> int:
        if phase not in self.cycles:
            self.cycles[phase] = cycles_of_run(self.phases[phase].program)
        return self.cycles[phase]

    def _arranged(self, phase: int) -> Device:
        return self.device.arranged(*self.parts[phase].grid)

    def _memories(self, phase: int) -> list[str]:
        return Platform(self._arranged(phase)).memory_names(self.device.kernel_level)

    # Room

    def _addresses(self, phase: int, first: Prefetch) -> Mapping[str, int] | None:
        """Where the buffers that come ahead lie, by their names; None where there is no room for one.

        It is where they are, or the lowest window that the phase before, the other buffers and what stays leave.
        """
        before, own = self._windows(phase - 1), self._windows(phase, {buffer.name for buffer in first.buffers})
        limits, found = self._limits(phase), dict[str, int]()
        unit = self.device.level(self.device.kernel_level).alignment_bytes
        for buffer, (number, slots) in first.buffers.items():
            filled, whole = slots * buffer.slot_bytes, buffer.depth * buffer.slot_bytes
            ends = (aligned(end, unit) for _, end in (*before[number], *own[number]))
            for address in (buffer.address_bytes, 0, *sorted(ends)):
                is_free = _leaves(before[number], address, filled) and _leaves(own[number], address, whole)
                if is_free and address + whole <= limits[number]:
                    break
            else:
                return None
            found[buffer.name] = address
            before[number].append((address, address + filled))
            own[number].append((address, address + whole))
        return found

    def _windows(self, phase: int, without: Collection[str] = ()) -> list[list[tuple[int, int]]]:
        """The bytes of each scratchpad that a phase's buffers have, but for those that aren't there any more."""
        names = self._memories(phase)
        found: list[list[tuple[int, int]]] = [[] for _ in names]
        for buffer in self.phases[phase].program.buffers:
            if buffer.memory in names and buffer.name not in without:
                begin = buffer.address_bytes
                found[names.index(buffer.memory)].append((begin, begin + buffer.depth * buffer.slot_bytes))
        return found

    def _limits(self, phase: int) -> list[int]:
        """In each scratchpad, where what stays on the chip in a phase or the one before begins."""
        level = self.device.level(self.device.kernel_level)
        limits = [level.usable_bytes] * len(self._memories(phase))
        for column, address in self._homes(phase):
            limits[column] = min(limits[column], address)
        return limits

    def _homes(self, phase: int) -> Iterator[tuple[int, int]]:
        for value in plan_of(self.calls).values:
            first, last = value.at_home
            if value.home is not None and first <= phase and phase - 1 <= last:
                yield from ((slab.column, slab.address) for slab in value.home.slabs)


def _leaves(taken: Sequence[tuple[int, int]], address: int, size: int) -> bool:
    """Whether bytes from an address on are free."""
    return all(end <= address or address + size <= begin for begin, end in taken)


def _cycles_of(program: Program) -> int | None:
    """How long a program takes; None where its channels would wait for each other."""
    try:
        return cycles_of_run(program)
    except DeadlockError:
        return None
