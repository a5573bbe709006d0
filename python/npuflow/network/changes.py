"""What differs from one phase of a launch to the next, store by store, and what is kept for later ones. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from npuflow.network.decisions import ALL_DECISIONS, Decision, Decisions
from npuflow.network.phases import (
    NOTHING_DIFFERS,
    PhaseSetup,
    Piece,
    Store,
    StoreKind,
    Tile,
    TileChange,
    Writes,
    phases_of_pieces,
    size_of,
    writes_of,
)
from npuflow.network.program_memory import Image, ProgramRoom
from npuflow.network.set_up import PhaseChange
from npuflow.network.streams import Differs, streams


def changes_between(
    setups: Sequence[PhaseSetup], decided: Decisions = ALL_DECISIONS, columns: int = 0, load_bytes: int = 0
) -> tuple[PhaseChange, ...]:
    """What each phase but the first takes, which finds everything there, as a design that is launched alone does.

    With `Decision.KEEPING`, what fits beside it is there as well, stays, or comes with what is loaded anyway, for later
    phases; with `Decision.AHEAD`, descriptors are written ahead where there are free ones; with `Decision.LOADING`,
    tiles may be loaded in place of that, and with `Decision.SENDING` be sent descriptors ahead. With
    `Decision.BROADCAST`, tiles of a column that get the same are sent it at once, and so are the same rows of all
    `columns`; with `Decision.TASKS`, what brings that behind a phase is prepared ahead.
    """
    reached = columns if Decision.BROADCAST in decided else 0
    stores = dict.fromkeys(store for setup in setups for store in setup)
    cores = [store for store in stores if store.kind is StoreKind.PROGRAMS]
    programs: list[dict[Tile, Differs]] = [{} for _ in setups[1:]]
    others: list[dict[Tile, Differs]] = [{} for _ in setups[1:]]
    for alike in _alike(cores) if reached else [[store] for store in cores]:
        needs = [{store: frozenset(setup.get(store, ())) for store in alike} for setup in setups]
        for found, loaded in zip(programs, _loads(needs, decided, load_bytes)):
            found.update((store.tile, _loading(image)) for store, image in loaded.items())
    for store in [store for store in stores if store.kind is not StoreKind.PROGRAMS]:
        for found, one in zip(others, _writes(store, [setup.get(store, ()) for setup in setups], decided)):
            if one.change != NOTHING_DIFFERS:
                found[store.tile] = found.get(store.tile, Differs()) + one
    may_load, may_send = Decision.LOADING in decided, Decision.SENDING in decided
    may_prepare = {Decision.AHEAD, Decision.TASKS} <= decided
    return tuple(PhaseChange(streams(*own, reached), may_load, may_send, may_prepare) for own in zip(programs, others))


# Programs


def _alike(stores: Sequence[Store]) -> list[list[Store]]:
    """The stores of like cores, to be loaded with the same."""
    found: dict[tuple[str, int, int], list[Store]] = defaultdict(list)
    for store in stores:
        found[store.name, store.level, store.room].append(store)
    return list(found.values())


def _loading(image: Image) -> Differs:
    return Differs(TileChange(program_bytes=size_of(image)), image)


def _loads(
    needs: Sequence[Mapping[Store, Image]], decided: Decisions, load_bytes: int
) -> Iterator[Mapping[Store, Image]]:
    """What cores are loaded with in front of each phase but the first.

    All get what any of them runs, if that fits: a core knows where it is, and leaves out what isn't for it. Kernels
    that several programs call are there once.
    """
    room = ProgramRoom(next(iter(needs[0])).room, load_bytes)
    wholes = [frozenset[Piece]().union(*need.values()) for need in needs]
    shared = [whole if room.holds(whole) else None for whole in wholes]
    of_stores = {}
    for store in needs[0]:
        own = tuple(need[store] if whole is None else whole for whole, need in zip(shared, needs))
        of_stores[store] = room.loads(own) if Decision.KEEPING in decided else _each_anew(own)
    for number in range(1, len(needs)):
        yield {store: loads[number] for store, loads in of_stores.items() if loads[number]}


def _each_anew(needs: Sequence[Image]) -> list[Image]:
    return [needs[0], *(need if need != before else frozenset() for before, need in pairwise(needs))]


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

    def enter(self, number: int) -> Differs:
        """Writes what a phase needs, and lets go of what is needed last."""
        need, before = set(self.needs[number]), set(self.needs[number - 1])
        missing = [piece for piece in self.needs[number] if piece not in self.present]
        is_started = self.store.kind is StoreKind.DESCRIPTORS
        started = (need & self.present) - before if is_started else set()
        starts = Writes(starts=len(started))
        if Decision.AHEAD not in self.decided:
            change = TileChange(behind=starts + writes_of(self.store, missing))
        else:
            ahead = self._free_ones(missing, before | (need & self.present))
            late = [piece for piece in missing if piece not in ahead]
            change = TileChange(starts + writes_of(self.store, ahead), writes_of(self.store, late))
        self._keep(need, self.present, number)
        return Differs(change, frozenset({*missing, *started}))

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
        uses = self._uses[piece]
        later = bisect_right(uses, number)
        return uses[later] if later < len(uses) else len(self.needs)

    @cached_property
    def _uses(self) -> Mapping[Piece, Sequence[int]]:
        return phases_of_pieces(self.needs)


def _writes(store: Store, needs: Sequence[Sequence[Piece]], decided: Decisions) -> list[Differs]:
    written = _WrittenStore(store, needs, decided)
    written.begin()
    return [written.enter(number) for number in range(1, len(needs))]
