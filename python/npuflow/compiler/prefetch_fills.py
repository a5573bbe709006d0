"""What a phase can begin with: full slots of its buffers, as many as these have, or more. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from npuflow.simulate.deepened import deepened
from npuflow.simulate.prefetch import Arrival, FirstFills, NotAheadError, Prefetch
from npuflow.simulate.program import Program

# A transfer of a tensor, by its number among those of its phase.
OwnArrival = tuple[int, Arrival]


@dataclass(frozen=True)
class Fills:
    """What is full when a program begins, by the numbers of tensors; `depths` are slots of its buffers, by name."""

    program: Program
    firsts: Mapping[int, Prefetch]
    depths: Mapping[str, int]

    @property
    def moved_bytes(self) -> int:
        return sum(first.moved_bytes for first in self.firsts.values())

    @cached_property
    def arrivals(self) -> Sequence[OwnArrival]:
        """All that is to come, what fills slots first before what fills later ones."""
        found = [(number, one) for number, first in self.firsts.items() for one in first.arrivals]
        return sorted(found, key=lambda own: own[1].turn)

    @property
    def schedule_depths(self) -> tuple[tuple[str, int], ...]:
        """The slots of buffers of the schedule that have more than it says."""
        names = {buffer.name: buffer.tensor for buffer in self.program.buffers}
        found: dict[str, int] = {}
        for name, depth in self.depths.items():
            found[names[name]] = max(depth, found.get(names[name], 0))
        return tuple(sorted(found.items()))


@dataclass(frozen=True)
class PhaseFills:
    """A phase's program, the tensors that it finds in DRAM, the largest first, and where they may land."""

    program: Program
    tensors: Sequence[tuple[int, str]]
    memories: Sequence[str]

    @cached_property
    def whole(self) -> Fills:
        """All that comes first."""
        return self._filled({}, None)

    def deeper(self, slots: int) -> Fills | None:
        """The same with so many slots in buffers of the largest tensor, as far as it fills them; None if it doesn't."""
        first = self.whole.firsts.get(self.tensors[0][0]) if self.tensors else None
        if first is None or first.moved_bytes >= first.bytes:
            return None
        full = {buffer.name: slots for buffer, (_, filled) in first.buffers.items() if buffer.depth == filled < slots}
        most = self._filled(full, None)
        filled = {buffer.name: slots for buffer, (_, slots) in most.firsts[self.tensors[0][0]].buffers.items()}
        depths = {name: filled[name] for name in full if filled[name] > self._depths[name]}
        return most if depths == most.depths else self._filled(depths, None) if depths else None

    def of(self, arrivals: Sequence[OwnArrival], fills: Fills) -> Fills:
        """What of fills is left if only some arrivals come: no more slots than these need."""
        most: dict[int, Counter[str]] = {number: Counter() for number in fills.firsts}
        slots = Counter[str]()
        for number, one in arrivals:
            most[number][one.path.sender] += 1
            for landing in one.landings:
                slots[landing.buffer.name] = max(slots[landing.buffer.name], landing.slot + 1)
        depths = {name: slots[name] for name in fills.depths}
        is_all = depths == fills.depths and len(arrivals) == len(fills.arrivals)
        return fills if is_all else self._filled(depths, most)

    def _filled(self, depths: Mapping[str, int], most: Mapping[int, Mapping[str, int]] | None) -> Fills:
        program, firsts = deepened(self.program, depths), dict[int, Prefetch]()
        for number, tensor in self.tensors:
            try:
                own = None if most is None else most.get(number, {})
                firsts[number], program = FirstFills(program, tensor, self.memories, own).found()
            except NotAheadError:
                continue
        return Fills(program, firsts, {name: depth for name, depth in depths.items() if depth > self._depths[name]})

    @cached_property
    def _depths(self) -> Mapping[str, int]:
        return {buffer.name: buffer.depth for buffer in self.program.buffers}
