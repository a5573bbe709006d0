"""Which tensors between phases stay in memory tiles, each whole in one, and where in it. Pure.

A home is at its tile from the phase that makes the tensor to the last that reads it, above what phases themselves need
there. In a phase, a tile's home is read or written by channels that the phase leaves alone, one tensor for each way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from npuflow.allocate.problem import LiveBuffer
from npuflow.allocate.solve import allocate

# Of choices that are looked at; networks whose tensors all have a home take one for each tensor.
_MOST_CHOICES = 20_000
# An exact search for addresses in one tile: homes are few.
_SECONDS = 0.5


@dataclass(frozen=True)
class Home:
    """Where a tensor lies: the memory tile of a column, and the address there."""

    column: int
    address: int


@dataclass(frozen=True)
class HomeCandidate:
    """A tensor that may stay: made in phase `first`, read in `reads`; `saved_bytes` needn't go from or to DRAM then.

    Its phases take `late_seconds` longer, or less than no time; `columns` are those whose tiles have channels for it,
    the best first.
    """

    number: int
    bytes: int
    first: int
    reads: tuple[int, ...]
    saved_bytes: int
    late_seconds: float
    columns: tuple[int, ...]

    @property
    def last(self) -> int:
        return max(self.reads)

    @property
    def ways(self) -> tuple[tuple[int, bool], ...]:
        """The phases that move it, and whether they write it."""
        return (self.first, True), *((phase, False) for phase in self.reads)


@dataclass(frozen=True)
class TileRoom:
    """The bytes of a memory tile, and what each phase itself needs in each column's."""

    bytes: int
    alignment_bytes: int
    needed: Mapping[tuple[int, int], int]

    def free(self, phase: int, column: int) -> int:
        return self.bytes - self.needed.get((phase, column), 0)


@dataclass(frozen=True)
class Residency:
    """The tensors that stay, by number; no choice saves more than `bound_bytes`."""

    homes: Mapping[int, Home]
    saved_bytes: int
    bound_bytes: int


def choose_homes(candidates: Sequence[HomeCandidate], room: TileRoom) -> Residency:
    """The homes that save most and take no longer in all, the best of a bounded search."""
    found = _HomeChoice(sorted(candidates, key=_worth), room)
    found.search(0, {}, 0, 0.0)
    return Residency(found.homes, found.saved_bytes, sum(one.saved_bytes for one in candidates))


def _worth(one: HomeCandidate) -> tuple[bool, float, int]:
    """What takes no longer comes first, by what it saves; then what takes least longer for that."""
    is_late = one.late_seconds > 0
    return is_late, one.late_seconds / max(1, one.saved_bytes) if is_late else -one.saved_bytes, one.number


@dataclass
class _HomeChoice:
    """Depth-first: each tensor in each column, or nowhere; what can't save more than the best so far is left."""

    candidates: Sequence[HomeCandidate]
    room: TileRoom
    homes: Mapping[int, Home] = field(default_factory=dict)
    saved_bytes: int = -1
    looked: int = 0

    def search(self, index: int, chosen: dict[HomeCandidate, int], saved: int, late: float) -> None:
        rest = self.candidates[index:]
        if saved + sum(one.saved_bytes for one in rest) <= self.saved_bytes or self.looked >= _MOST_CHOICES:
            return
        if late + sum(min(0.0, one.late_seconds) for one in rest) > 0:
            return
        self.looked += 1
        if index == len(self.candidates):
            self._keep(chosen, saved)
            return
        one = self.candidates[index]
        for column in one.columns:
            if self._has_room(one, column, chosen):
                self.search(index + 1, {**chosen, one: column}, saved + one.saved_bytes, late + one.late_seconds)
        self.search(index + 1, chosen, saved, late)

    def _has_room(self, one: HomeCandidate, column: int, chosen: Mapping[HomeCandidate, int]) -> bool:
        others = [other for other, at in chosen.items() if at == column]
        if any(way in other.ways for other in others for way in one.ways):
            return False
        for phase in range(one.first, one.last + 1):
            alive = sum(self._size(other) for other in others if other.first <= phase <= other.last)
            if alive + self._size(one) > self.room.free(phase, column):
                return False
        return True

    def _size(self, one: HomeCandidate) -> int:
        return -(-one.bytes // self.room.alignment_bytes) * self.room.alignment_bytes

    def _keep(self, chosen: Mapping[HomeCandidate, int], saved: int) -> None:
        """Takes a choice for which there are addresses."""
        homes: dict[int, Home] = {}
        for column in dict.fromkeys(chosen.values()):
            own = [one for one, at in chosen.items() if at == column]
            live = [
                LiveBuffer(str(one.number), one.first, one.last + 1, self._size(one), self.room.alignment_bytes)
                for one in own
            ]
            offsets = allocate(live, seconds=_SECONDS).offsets
            for one, offset in zip(own, offsets, strict=True):
                address = self.room.bytes - offset - self._size(one)
                homes[one.number] = Home(column, address - address % self.room.alignment_bytes)
        if all(self._is_clear(one, homes[one.number]) for one in chosen):
            self.homes, self.saved_bytes = homes, saved

    def _is_clear(self, one: HomeCandidate, home: Home) -> bool:
        phases = range(one.first, one.last + 1)
        return all(home.address >= self.room.needed.get((phase, home.column), 0) for phase in phases)
