"""What differs from one phase of a launch to the next, store by store, and what is kept for later ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from npuflow.network.decisions import ALL_DECISIONS, Decision, Decisions
from npuflow.network.phases import (
    PhaseChange,
    PhaseSetup,
    Piece,
    Store,
    StoreKind,
    TileChange,
    Writes,
    size_of,
    writes_of,
)


def changes_between(setups: Sequence[PhaseSetup], decided: Decisions = ALL_DECISIONS) -> tuple[PhaseChange, ...]:
    """What each phase but the first takes, which finds everything there, as a design that is launched alone does.

    With `Decision.KEEPING`, what fits beside it is there as well, stays, or comes with what is loaded anyway, for later
    phases; with `Decision.AHEAD`, descriptors are written ahead where there are free ones; with `Decision.LOADING`,
    tiles may be loaded in place of that, and with `Decision.SENDING` be sent descriptors ahead.
    """
    tiles: list[dict[tuple[int, int, int], TileChange]] = [{} for _ in setups[1:]]
    for store in dict.fromkeys(store for setup in setups for store in setup):
        needs = [setup.get(store, ()) for setup in setups]
        if store.kind is StoreKind.PROGRAMS:
            own = [TileChange(program_bytes=size) for size in _loads(needs, store.room, decided)]
        else:
            own = _writes(store, needs, decided)
        for found, change in zip(tiles, own):
            if change != TileChange():
                found[store.tile] = found.get(store.tile, TileChange(column=store.column)) + change
    return tuple(
        PhaseChange(tuple(found.values()), Decision.LOADING in decided, Decision.SENDING in decided) for found in tiles
    )


# Programs


def _loads(needs: Sequence[Sequence[Piece]], room: int, decided: Decisions) -> Iterable[int]:
    """The bytes that a core is loaded with in front of each phase but the first: what it runs from there on, and fits.

    Nothing loads less often, since no load could bring the program that the next one is for as well. Kernels that
    several programs call are there once.
    """
    image: set[Piece] = set()
    for number, need in enumerate(needs):
        loads = not image.issuperset(need)
        if loads:
            coming = needs[number:] if Decision.KEEPING in decided else [need]
            image = _image(coming, room)
        if number:
            yield size_of(image) if loads else 0


def _image(needs: Iterable[Sequence[Piece]], room: int) -> set[Piece]:
    """The programs of a core's next phases that fit together; those of the first in any case."""
    found: set[Piece] = set()
    for need in needs:
        wider = found | set(need)
        if found and room and size_of(wider) > room:
            break
        found = wider
    return found


# Descriptors and parameters


@dataclass
class _WrittenStore:
    """A store on its way through the phases; `present` are what is in it."""

    store: Store
    needs: Sequence[Sequence[Piece]]
    decided: Decisions
    present: set[Piece] = field(default_factory=set)

    def begin(self) -> None:
        """What is there from the start: what the first phase needs, and what fits beside it."""
        self._keep(set(self.needs[0]), {piece for need in self.needs for piece in need}, 0)

    def enter(self, number: int) -> TileChange:
        """Writes what a phase needs, and lets go of what is needed last."""
        need, before = set(self.needs[number]), set(self.needs[number - 1])
        missing = [piece for piece in self.needs[number] if piece not in self.present]
        is_started = self.store.kind is StoreKind.DESCRIPTORS
        starts = Writes(starts=len((need & self.present) - before)) if is_started else Writes()
        if Decision.AHEAD not in self.decided:
            change = TileChange(behind=starts + writes_of(self.store, missing))
        else:
            ahead = self._free_ones(missing, before | (need & self.present))
            late = [piece for piece in missing if piece not in ahead]
            change = TileChange(starts + writes_of(self.store, ahead), writes_of(self.store, late))
        self._keep(need, self.present, number)
        return change

    def _free_ones(self, missing: Sequence[Piece], taken: set[Piece]) -> list[Piece]:
        """Of what is missing, what can be written beside all that is taken."""
        found: list[Piece] = []
        free = self.store.room - size_of(taken)
        for piece in missing:
            if not self.store.room or piece.size <= free:
                found.append(piece)
                free -= piece.size
        return found

    def _keep(self, need: set[Piece], others: set[Piece], number: int) -> None:
        """What a phase needs is there, and of others what is needed soonest, as far as there is room."""
        self.present, free = set(need), self.store.room - size_of(need)
        if Decision.KEEPING not in self.decided:
            return
        for piece in sorted(others - need, key=lambda piece: (self._next_use(piece, number), str(piece.content))):
            if not self.store.room or piece.size <= free:
                self.present.add(piece)
                free -= piece.size

    def _next_use(self, piece: Piece, number: int) -> int:
        behind = range(number + 1, len(self.needs))
        return next((later for later in behind if piece in self.needs[later]), len(self.needs))


def _writes(store: Store, needs: Sequence[Sequence[Piece]], decided: Decisions) -> list[TileChange]:
    written = _WrittenStore(store, needs, decided)
    written.begin()
    return [written.enter(number) for number in range(1, len(needs))]
