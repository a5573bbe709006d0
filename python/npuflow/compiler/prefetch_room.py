"""Where prefetches lie: windows that phases' own buffers, what stays on the chip and other prefetches leave."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from npuflow.allocate.problem import aligned
from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.home_phases import buffer_places
from npuflow.network.calls import CallList
from npuflow.network.plan import plan_of
from npuflow.simulate.prefetch import Arrival, Prefetch
from npuflow.simulate.program import FlatBuffer, Program
from npuflow.target import Device

# Bytes of a memory, from one address to another.
_Bytes = tuple[int, int]


@dataclass(frozen=True)
class LandedWindow:
    """Bytes of a memory, by its number, that a prefetch takes from one phase to another."""

    number: int
    bytes: _Bytes
    first: int
    last: int


@dataclass(frozen=True)
class _Ring:
    """A buffer in a memory, by its number, so many slots of which come ahead."""

    buffer: FlatBuffer
    number: int
    slots: int

    @property
    def bytes(self) -> int:
        return self.buffer.depth * self.buffer.slot_bytes

    @property
    def filled_bytes(self) -> int:
        return self.slots * self.buffer.slot_bytes


@dataclass
class PrefetchRoom:
    """The memories in which things stay, through the phases of calls; `taken` is what prefetches have.

    By phase, `names` are what it calls them, `at_home` where what stays on the chip is, by the memory's number.
    """

    parts: Sequence[CompiledFunction]
    names: Sequence[Sequence[str]]
    at_home: Sequence[Mapping[int, Sequence[_Bytes]]]
    taken: list[LandedWindow] = field(default_factory=list)
    own: dict[int, Mapping[str, tuple[int, _Bytes]]] = field(default_factory=dict)

    @staticmethod
    def of(calls: CallList, parts: Sequence[CompiledFunction]) -> PrefetchRoom:
        """That of calls, none of which has a prefetch."""
        plan, level = plan_of(calls), parts[0].device.home_level
        at_home = [plan.resident_in(phase) for phase in range(len(parts))]
        return PrefetchRoom(parts, [part.memory_names(level) for part in parts], at_home)

    @property
    def device(self) -> Device:
        return self.parts[0].device

    @property
    def level(self) -> int:
        assert self.device.home_level is not None, "channels beside DRAM reach it"
        return self.device.home_level

    def copied(self) -> PrefetchRoom:
        return replace(self, taken=[*self.taken], own={**self.own})

    def changed(self, phase: int) -> None:
        """Forgets the buffers of a phase that has others now."""
        self.own.pop(phase, None)

    def arranged(self, phase: int) -> Device:
        """The device as a phase's grid has it."""
        return self.device.arranged(*self.parts[phase].grid)

    def place(
        self, last: int, prefetches: Iterable[Prefetch], programs: Sequence[Program], first: int
    ) -> tuple[int, Mapping[str, int]] | None:
        """From which phase on, `first` at most, buffers of the last one may be filled, and where they lie, by name.

        That is where they are, or the lowest window that is left: the same in all memories where there is one, as
        descriptors are alike then. Others of the phase make room where they must. None without room.
        """
        alike: dict[str, list[_Ring]] = defaultdict(list)
        for buffer, (number, slots) in (each for one in prefetches for each in one.buffers.items()):
            alike[buffer.tensor].append(_Ring(buffer, number, slots))
        ways = [[*alike.values()], [[one] for own in alike.values() for one in own]]
        filled = {one.buffer.name for own in alike.values() for one in own}
        own = {name: at for name, at in self._of_buffers(last, programs[last]).items() if name not in filled}
        others, found = [list[_Bytes]() for _ in self.names[last]], None
        for phase in range(last - 1, max(-1, first - 1), -1):
            for number, taken in enumerate(self._windows(phase, programs[phase])[: len(others)]):
                others[number] += taken
            tried = (self._addresses(way, last, own, others, moves=moves) for moves in (False, True) for way in ways)
            addresses = next((one for one in tried if one is not None), None)
            if addresses is None:
                break
            found = phase, addresses
        return found

    def _addresses(
        self,
        alike: Sequence[Sequence[_Ring]],
        phase: int,
        own: Mapping[str, tuple[int, _Bytes]],
        others: Sequence[Sequence[_Bytes]],
        *,
        moves: bool,
    ) -> dict[str, int] | None:
        """Where buffers lie that are filled beside what others take; if the phase's own are in the way, these move."""
        before, found = [[*each] for each in others], dict[str, int]()
        beside = self._staying(phase)
        for number, place in () if moves else own.values():
            beside[number].append(place)
        for buffers in alike:
            ends = {end for one in buffers for _, end in (*before[one.number], *beside[one.number])}
            for address in (buffers[0].buffer.address_bytes, 0, *sorted(map(self._aligned, ends))):
                if all(self._fits(one, address, before, beside) for one in buffers):
                    break
            else:
                return None
            for one in buffers:
                found[one.buffer.name] = address
                before[one.number].append((address, address + one.filled_bytes))
                beside[one.number].append((address, address + one.bytes))
        return self._moved(own, beside, found) if moves else found

    def _moved(
        self, own: Mapping[str, tuple[int, _Bytes]], beside: Sequence[list[_Bytes]], found: dict[str, int]
    ) -> dict[str, int] | None:
        """The same with other buffers of a phase where they are, or out of the way; None without room."""
        for name, (number, (begin, end)) in own.items():
            size, taken = end - begin, beside[number]
            ends = sorted(self._aligned(other) for _, other in taken)
            address = next((at for at in (begin, 0, *ends) if _leaves(taken, at, size)), begin)
            if address + size > self.device.level(self.level).usable_bytes:
                return None
            taken.append((address, address + size))
            if address != begin:
                found[name] = address
        return found

    def _fits(
        self, one: _Ring, address: int, before: Sequence[Sequence[_Bytes]], beside: Sequence[Sequence[_Bytes]]
    ) -> bool:
        has_room = address + one.bytes <= self.device.level(self.level).usable_bytes
        return (
            has_room
            and _leaves(before[one.number], address, one.filled_bytes)
            and _leaves(beside[one.number], address, one.bytes)
        )

    def _aligned(self, address: int) -> int:
        return aligned(address, self.device.level(self.level).alignment_bytes)

    def take(self, first: int, last: int, arrivals: Iterable[Arrival]) -> None:
        """Notes that what lands in the first phase is there until the last one."""
        for landing in (landing for one in arrivals for landing in one.landings):
            self.taken.append(LandedWindow(landing.number, (landing.place.start, landing.place.stop), first, last))

    def _windows(self, phase: int, program: Program) -> list[list[_Bytes]]:
        """The bytes of each memory that are taken in a phase."""
        found = self._staying(phase)
        for number, place in self._of_buffers(phase, program).values():
            found[number].append(place)
        return found

    def _staying(self, phase: int) -> list[list[_Bytes]]:
        """The same of prefetches, and of what stays on the chip."""
        found: list[list[_Bytes]] = [[] for _ in self.names[phase]]
        for one in self.taken:
            if one.first <= phase <= one.last:
                found[one.number].append(one.bytes)
        for number, places in self.at_home[phase].items():
            found[number] += places
        return found

    def _of_buffers(self, phase: int, program: Program) -> Mapping[str, tuple[int, _Bytes]]:
        """The number of the memory, and the bytes there, of each of a phase's buffers."""
        if phase not in self.own:
            self.own[phase] = buffer_places(program, self.names[phase])
        return self.own[phase]


def _leaves(taken: Sequence[_Bytes], address: int, size: int) -> bool:
    """Whether bytes from an address on are free."""
    return all(end <= address or address + size <= begin for begin, end in taken)
