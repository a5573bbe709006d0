"""Phases of one launch: what is set up for each of them, and what it takes to go on from one to the next. Pure.

A phase finds its cores' programs and its channels' descriptors in *stores*: a core's program memory, the descriptors of
a group of channels beside a memory. What is there already costs nothing. The control processor writes what isn't, one
descriptor after the other, into places that nobody uses; as the phase before doesn't look at these, it can do so while
that one works, where it would only wait. A channel that goes on to other descriptors is started on them, which its
queue lets happen ahead as well. A core's program can only be loaded when it stands still: behind the phase before. What
is loaded is the *tile*, with the descriptors beside its memory, and so can tiles be that have much to be written.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from npuflow.network.decisions import ALL_DECISIONS, Decision, Decisions
from npuflow.target import Control


class StoreKind(Enum):
    """What a store holds."""

    DESCRIPTORS = "descriptors"
    PROGRAMS = "programs"


@dataclass(frozen=True)
class Store:
    """A place for what phases find set up, with `room` descriptors or bytes of programs; 0 is any number.

    It is beside a memory of a level, at a row and column; `name` and `group` tell those of one memory apart.
    """

    kind: StoreKind
    name: str
    level: int
    row: int
    column: int
    room: int
    group: int = 0

    @property
    def tile(self) -> tuple[int, int, int]:
        return self.level, self.row, self.column


@dataclass(frozen=True)
class Piece:
    """Something in a store that is written as a whole; equal contents are the same."""

    content: Hashable
    size: int


PhaseSetup = Mapping[Store, tuple[Piece, ...]]


@dataclass(frozen=True)
class Writes:
    """What the control processor does: descriptors that it writes, and channels that it starts on those there are."""

    descriptors: int = 0
    starts: int = 0

    def __add__(self, other: Writes) -> Writes:
        return Writes(self.descriptors + other.descriptors, self.starts + other.starts)

    def seconds(self, control: Control) -> float:
        return self.descriptors * control.descriptor_seconds + self.starts * control.start_seconds


@dataclass(frozen=True)
class TileChange:
    """What differs in a tile: what is written `ahead`, while the phase before works, and `behind` it.

    With `loads`, its core's program isn't there: it is loaded behind the phase, and all the rest with it.
    """

    ahead: Writes = Writes()
    behind: Writes = Writes()
    loads: bool = False

    def __add__(self, other: TileChange) -> TileChange:
        return TileChange(self.ahead + other.ahead, self.behind + other.behind, self.loads or other.loads)


@dataclass(frozen=True)
class SetUp:
    """What was done between two phases, and how long the array stood still for it."""

    ahead: Writes = Writes()
    behind: Writes = Writes()
    loads: int = 0
    seconds: float = 0.0

    @property
    def writes(self) -> Writes:
        return self.ahead + self.behind


NOTHING = SetUp()


@dataclass(frozen=True)
class PhaseChange:
    """What it takes to go on to a phase, by the tiles in which anything differs.

    Where it `may_load`, tiles are loaded if it takes longer to write what differs; else those whose programs aren't
    there, and all descriptors are written.
    """

    tiles: tuple[TileChange, ...] = ()
    may_load: bool = True

    def set_up(self, control: Control, waiting_seconds: float = 0.0) -> SetUp:
        """How it is done where the control processor waited so long in the phase before."""
        may_load = self.may_load and control.program_seconds > 0
        loaded = sum(tile.loads for tile in self.tiles)
        written = [tile for tile in self.tiles if not (tile.loads and may_load)]
        ahead = behind = Writes()
        left, late = waiting_seconds, 0.0
        for tile in sorted(written, key=lambda tile: tile.ahead.seconds(control)):
            before, after = tile.ahead.seconds(control), tile.behind.seconds(control)
            waits = max(0.0, before - left) + after
            if may_load and waits > control.program_seconds:
                loaded += 1
                continue
            left, late = max(0.0, left - before), late + waits
            ahead, behind = ahead + tile.ahead, behind + tile.behind
        return SetUp(ahead, behind, loaded, late + loaded * control.program_seconds)


def whole_change(setup: PhaseSetup) -> PhaseChange:
    """To a phase of which nothing is there: every descriptor is written, every core loaded."""
    tiles: dict[tuple[int, int, int], TileChange] = {}
    for store, pieces in setup.items():
        is_program = store.kind is StoreKind.PROGRAMS
        own = TileChange(loads=True) if is_program else TileChange(behind=Writes(_size(pieces)))
        tiles[store.tile] = tiles.get(store.tile, TileChange()) + own
    return PhaseChange(tuple(tiles.values()), may_load=False)


def changes_between(setups: Sequence[PhaseSetup], decided: Decisions = ALL_DECISIONS) -> tuple[PhaseChange, ...]:
    """What each phase but the first takes, which finds everything there, as a design that is launched alone does.

    With `Decision.KEEPING`, what fits beside it is there as well, stays, or comes with what is loaded anyway, for later
    phases; with `Decision.AHEAD`, descriptors are written ahead where there are free ones; with `Decision.LOADING`,
    tiles may be loaded in place of that.
    """
    tiles: list[dict[tuple[int, int, int], TileChange]] = [{} for _ in setups[1:]]
    for store in dict.fromkeys(store for setup in setups for store in setup):
        needs = [setup.get(store, ()) for setup in setups]
        if store.kind is StoreKind.PROGRAMS:
            own = [TileChange(loads=loads) for loads in _loads(needs, store.room, decided)]
        else:
            own = _writes(needs, store.room, decided)
        for found, change in zip(tiles, own):
            if change != TileChange():
                found[store.tile] = found.get(store.tile, TileChange()) + change
    return tuple(PhaseChange(tuple(found.values()), Decision.LOADING in decided) for found in tiles)


# Programs


def _loads(needs: Sequence[Sequence[Piece]], room: int, decided: Decisions) -> Iterable[bool]:
    """Whether a core is loaded in front of each phase but the first: with all that it runs from there on, and fits.

    Nothing loads less often, since no load could bring the program that the next one is for as well.
    """
    image: set[Piece] = set()
    for number, need in enumerate(needs):
        loads = not image.issuperset(need)
        if loads:
            coming = needs[number:] if Decision.KEEPING in decided else [need]
            image = _image(coming, room)
        if number:
            yield loads


def _image(needs: Iterable[Sequence[Piece]], room: int) -> set[Piece]:
    """The programs of a core's next phases that fit together; those of the first in any case."""
    found: set[Piece] = set()
    for need in needs:
        wider = found | set(need)
        if found and room and _size(wider) > room:
            break
        found = wider
    return found


# Descriptors


@dataclass
class _DescriptorStore:
    """A store on its way through the phases; `present` are what is in it."""

    needs: Sequence[Sequence[Piece]]
    room: int
    decided: Decisions
    present: set[Piece] = field(default_factory=set)

    def begin(self) -> None:
        """What is there from the start: what the first phase needs, and what fits beside it."""
        self._keep(set(self.needs[0]), {piece for need in self.needs for piece in need}, 0)

    def enter(self, number: int) -> TileChange:
        """Writes what a phase needs, and lets go of what is needed last."""
        need, before = set(self.needs[number]), set(self.needs[number - 1])
        missing = [piece for piece in self.needs[number] if piece not in self.present]
        starts = Writes(starts=len((need & self.present) - before))
        if Decision.AHEAD not in self.decided:
            change = TileChange(behind=starts + Writes(_size(missing)))
        else:
            ahead = self._free_ones(missing, before | (need & self.present))
            change = TileChange(starts + Writes(_size(ahead)), Writes(_size(missing) - _size(ahead)))
        self._keep(need, self.present, number)
        return change

    def _free_ones(self, missing: Sequence[Piece], taken: set[Piece]) -> list[Piece]:
        """Of what is missing, what can be written beside all that is taken."""
        found: list[Piece] = []
        free = self.room - _size(taken)
        for piece in missing:
            if not self.room or piece.size <= free:
                found.append(piece)
                free -= piece.size
        return found

    def _keep(self, need: set[Piece], others: set[Piece], number: int) -> None:
        """What a phase needs is there, and of others what is needed soonest, as far as there is room."""
        self.present, free = set(need), self.room - _size(need)
        if Decision.KEEPING not in self.decided:
            return
        for piece in sorted(others - need, key=lambda piece: (self._next_use(piece, number), str(piece.content))):
            if not self.room or piece.size <= free:
                self.present.add(piece)
                free -= piece.size

    def _next_use(self, piece: Piece, number: int) -> int:
        behind = range(number + 1, len(self.needs))
        return next((later for later in behind if piece in self.needs[later]), len(self.needs))


def _writes(needs: Sequence[Sequence[Piece]], room: int, decided: Decisions) -> list[TileChange]:
    store = _DescriptorStore(needs, room, decided)
    store.begin()
    return [store.enter(number) for number in range(1, len(needs))]


def _size(pieces: Iterable[Piece]) -> int:
    return sum(piece.size for piece in pieces)
