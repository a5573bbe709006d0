"""The tasks that transfers from and to L3 are: one for each, with the loops that a descriptor absorbs. Pure.

A transfer that takes more descriptors than its channel's share of them goes in turns, a task each.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import (
    Acquire,
    Ref,
    Release,
    Repeat,
    Schedule,
    Semaphore,
    Step,
)
from npuflow.schedule.nest.nest import L3, Loop, Nest, Transfer, walk
from npuflow.schedule.project.accesses import accesses
from npuflow.schedule.project.routes import TILE, EngineKey, Routes
from npuflow.schedule.project.turns import Turns, in_turns
from npuflow.target import DmaEngine
from npuflow.target.patterns import fit


@dataclass
class Tasks:
    """For each L3 transfer, by its key, the loop that its task covers (None: the transfer alone).

    With `together`, the control processor sets up that many rows and columns of blocks, and waits until they are
    written before it sets up the next; with `waits`, it does so after every turn of the loops of these counters.
    `in_turn`, it waits after every statement of the function.
    """

    dma: DmaEngine
    together: tuple[int, int] | None = None
    in_turn: bool = False
    waits: frozenset[str] = frozenset()
    outermost: dict[int, Loop | None] = field(default_factory=dict)
    engines: dict[int, EngineKey] = field(default_factory=dict)
    descriptors: dict[int, int] = field(default_factory=dict)
    turns: dict[int, Turns] = field(default_factory=dict)

    @property
    def _share(self) -> int:
        """A channel's share of the descriptors."""
        return self.dma.descriptors // max(1, self.dma.channels_in + self.dma.channels_out)

    def queue_depth(self, key: EngineKey) -> int:
        """Tasks that may wait for a channel: as many as its share of the descriptors holds, one at least."""
        largest = max(self.descriptors[i] for i, engine in self.engines.items() if engine == key)
        return max(1, min(self.dma.queue_depth, self._share // largest))

    def plan(self, nest: Nest, routes: Routes, schedule: Schedule) -> None:
        """Absorbs loops into tasks from the inside, as far as the pattern's dimensions go."""
        for statement, around in walk(nest.body):
            if not isinstance(statement, Transfer):
                continue
            route = routes.of(statement)
            for key in (route.sender, route.receiver):
                if key.stage.at_dram:
                    self.engines[statement.key] = key
                    self._absorb(statement, routes, around)
        for key in dict.fromkeys(self.engines.values()):
            self._add_semaphores(key, routes, schedule)

    def _absorb(self, statement: Transfer, routes: Routes, around: tuple[Loop, ...]) -> None:
        """Decides which loops the transfer's task covers, and how many descriptors it takes."""
        route = routes.of(statement)
        is_sent = route.sender.stage.at_dram
        key = route.sender if is_sent else route.receiver
        rows = routes.extents()["part"] if is_sent and TILE in routes.span(route.sender) else 1
        parts = rows * routes.through(route, key)
        end = route.transfer.source if is_sent else route.transfer.target
        turns = in_turns(route.transfer, lambda t: self._fit(t, ()) * parts <= self._share)
        if turns.loops:
            self.turns[statement.key] = turns
        bound = {name for d in route.transfer.dimensions for b in d.bounds for name in b.counters}
        alone = self._fit(turns.transfer, ())
        around = () if turns.loops else around
        dims: tuple[tuple[int, int], ...] = ()
        outermost: Loop | None = None
        for loop in reversed([loop for loop in around if not loop.grid]):
            step = end.offset.coefficient(loop.counter)
            repeated = step == 0 and bool(self.waits)  # the same task for each turn, started once
            if not self._is_alone(statement, loop, routes) or loop.counter in bound or not (step > 0 or repeated):
                break
            dims = ((loop.trips, step), *dims)
            if self._fit(route.transfer, dims) > alone:
                break
            outermost = loop
        self.outermost[statement.key] = outermost
        self.descriptors[statement.key] = alone * parts

    def _fit(self, transfer: Transfer, loops: tuple[tuple[int, int], ...]) -> int:
        """The descriptors of a transfer's side in L3, with loops around it."""
        read, written = accesses(transfer, Ref(""), Affine(), Ref(""), Affine())
        own, end = (read, transfer.source) if transfer.source.buffer.space == L3 else (written, transfer.target)
        dims = [*loops, *zip(own.sizes, own.strides)]
        return fit(dims, end.buffer.element_bytes, self.dma.pattern).descriptors

    def moved(self, statement: Transfer, routes: Routes) -> Transfer:
        """A transfer as it is divided, or what moves in each of its turns."""
        turns = self.turns.get(statement.key)
        return routes.of(statement).transfer if turns is None else turns.transfer

    def repeated(self, statement: Transfer, steps: list[Step]) -> list[Step]:
        """Steps for every turn of a transfer."""
        turns = self.turns.get(statement.key)
        for counter, trips in reversed(turns.loops if turns else ()):
            steps = [Repeat(counter, trips, tuple(steps))]
        return steps

    def _is_alone(self, statement: Transfer, loop: Loop, routes: Routes) -> bool:
        """Whether nothing else in the loop needs the statement's engines, nor a wait for a block's result."""
        if loop.counter in self.waits:
            return False
        transfers = [s for s, _ in walk(loop.body) if isinstance(s, Transfer)]
        if self.together is not None and any(s.target.buffer.space == L3 for s in transfers):
            return False
        return sum(self._same_engine(s, statement, routes) for s in transfers) == 1

    def _same_engine(self, one: Transfer, other: Transfer, routes: Routes) -> bool:
        mine, its = routes.of(one), routes.of(other)
        return mine.sender == its.sender or mine.receiver == its.receiver

    def _add_semaphores(self, key: EngineKey, routes: Routes, schedule: Schedule) -> None:
        span = routes.span(key)
        depth = self.queue_depth(key)
        schedule.semaphores[task_name(key)] = Semaphore(task_name(key), span, 0, depth, "task")
        schedule.semaphores[room_name(key)] = Semaphore(room_name(key), span, depth, depth, "task")

    # What goes around an engine's steps

    def around_transfer(self, statement: Transfer, key: EngineKey, routes: Routes, steps: list[Step]) -> list[Step]:
        if self.engines.get(statement.key) != key or self.outermost[statement.key] is not None:
            return steps
        return _as_task(key, routes, steps)

    def around_loop(self, loop: Loop, key: EngineKey, routes: Routes, steps: list[Step]) -> list[Step]:
        covers = [i for i, outermost in self.outermost.items() if outermost is loop and self.engines[i] == key]
        return _as_task(key, routes, steps) if covers else steps


def span_at(key: EngineKey, routes: Routes) -> tuple[Affine, ...]:
    """Which of like engines, by their own coordinates."""
    return tuple(map(Affine.counter, routes.span(key)))


def _as_task(key: EngineKey, routes: Routes, steps: list[Step]) -> list[Step]:
    at = span_at(key, routes)
    return [Acquire(Ref(task_name(key), at)), *steps, Release(Ref(room_name(key), at))]


def task_name(key: EngineKey) -> str:
    """The semaphore of tasks that an engine has been handed."""
    return f"{key.name}_task"


def room_name(key: EngineKey) -> str:
    """The semaphore of tasks that its queue has room for."""
    return f"{key.name}_room"
