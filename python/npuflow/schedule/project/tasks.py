"""What the control processor hands to the shims: one task per transfer, with the loops a descriptor absorbs. Pure.

A transfer that takes more descriptors than its channel's share of them goes in turns, a task each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import (
    Acquire,
    Configure,
    Each,
    Engine,
    Ref,
    Release,
    Repeat,
    Schedule,
    Semaphore,
    Step,
)
from npuflow.schedule.data.patterns import fit
from npuflow.schedule.nest.nest import L3, Loop, Nest, Statement, Transfer, walk
from npuflow.schedule.project.accesses import accesses
from npuflow.schedule.project.routes import TILE, EngineKey, Routes
from npuflow.schedule.project.turns import Turns, in_turns
from npuflow.target import DmaEngine, Work


@dataclass
class Tasks:
    """For each L3 transfer, the loop that its task covers (None: the transfer alone).

    With `together`, the control processor sets up that many rows and columns of blocks, and waits until they are
    written before it sets up the next. `in_turn`, it waits so after every statement of the function.
    """

    dma: DmaEngine
    together: tuple[int, int] | None = None
    in_turn: bool = False
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
                    self.engines[id(statement)] = key
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
            self.turns[id(statement)] = turns
        bound = {name for d in route.transfer.dimensions for b in d.bounds for name in b.counters}
        alone = self._fit(turns.transfer, ())
        around = () if turns.loops else around
        dims: tuple[tuple[int, int], ...] = ()
        outermost: Loop | None = None
        for loop in reversed([loop for loop in around if not loop.grid]):
            step = end.offset.coefficient(loop.counter)
            if not self._is_alone(statement, loop, routes) or loop.counter in bound or step <= 0:
                break
            dims = ((loop.trips, step), *dims)
            if self._fit(route.transfer, dims) > alone:
                break
            outermost = loop
        self.outermost[id(statement)] = outermost
        self.descriptors[id(statement)] = alone * parts

    def _fit(self, transfer: Transfer, loops: tuple[tuple[int, int], ...]) -> int:
        """The descriptors of a transfer's side in L3, with loops around it."""
        read, written = accesses(transfer, Ref(""), Affine(), Ref(""), Affine())
        own, end = (read, transfer.source) if transfer.source.buffer.space == L3 else (written, transfer.target)
        dims = [*loops, *zip(own.sizes, own.strides)]
        return fit(dims, end.buffer.element_bytes, self.dma.pattern).descriptors

    def moved(self, statement: Transfer, routes: Routes) -> Transfer:
        """A transfer as it is divided, or what moves in each of its turns."""
        turns = self.turns.get(id(statement))
        return routes.of(statement).transfer if turns is None else turns.transfer

    def repeated(self, statement: Transfer, steps: list[Step]) -> list[Step]:
        """Steps for every turn of a transfer."""
        turns = self.turns.get(id(statement))
        for counter, trips in reversed(turns.loops if turns else ()):
            steps = [Repeat(counter, trips, tuple(steps))]
        return steps

    def _is_alone(self, statement: Transfer, loop: Loop, routes: Routes) -> bool:
        """Whether nothing else in the loop needs the statement's engines, nor a wait for a block's result."""
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
        schedule.semaphores[_task(key)] = Semaphore(_task(key), span, 0, depth, "task")
        schedule.semaphores[_room(key)] = Semaphore(_room(key), span, depth, depth, "task")

    # What goes around an engine's steps

    def around_transfer(self, statement: Transfer, key: EngineKey, routes: Routes, steps: list[Step]) -> list[Step]:
        if self.engines.get(id(statement)) != key or self.outermost[id(statement)] is not None:
            return steps
        return _as_task(key, routes, steps)

    def around_loop(self, loop: Loop, key: EngineKey, routes: Routes, steps: list[Step]) -> list[Step]:
        covers = [i for i, outermost in self.outermost.items() if outermost is loop and self.engines[i] == key]
        return _as_task(key, routes, steps) if covers else steps


def _span_at(key: EngineKey, routes: Routes) -> tuple[Affine, ...]:
    return tuple(map(Affine.counter, routes.span(key)))


def _as_task(key: EngineKey, routes: Routes, steps: list[Step]) -> list[Step]:
    at = _span_at(key, routes)
    return [Acquire(Ref(_task(key), at)), *steps, Release(Ref(_room(key), at))]


def _task(key: EngineKey) -> str:
    return f"{key.name}_task"


def _room(key: EngineKey) -> str:
    return f"{key.name}_room"


def control_program(nest: Nest, routes: Routes, tasks: Tasks) -> Engine:
    """Sets up every task in the nest's order; waits until results are written before they are read, and at the end.

    Groups of ops that run in turn wait for those before them, whether or not they read what these write.
    """
    steps: list[Step] = []
    pending: set[str] = set()
    for statement in nest.body:
        read, written = _l3_buffers(statement)
        if pending and (tasks.in_turn or read & pending):
            steps += _wait_for_results(routes, tasks, give_back=True)
            pending.clear()
        pending |= written
        steps += _control_body([statement], routes, tasks)
    steps += _wait_for_results(routes, tasks, give_back=False)
    return Engine(routes.control.name, routes.control.stage, 0, (), tuple(steps))


def _l3_buffers(statement: Statement) -> tuple[set[str], set[str]]:
    """The L3 buffers that a statement reads and writes."""
    transfers = [s for s, _ in walk([statement]) if isinstance(s, Transfer)]
    read = {t.source.buffer.name for t in transfers if t.source.buffer.space == L3}
    return read, {t.target.buffer.name for t in transfers if t.target.buffer.space == L3}


def _wait_for_results(routes: Routes, tasks: Tasks, *, give_back: bool) -> list[Step]:
    """Takes all room in the queues of what writes L3, which is free when everything is written."""
    steps: list[Step] = []
    engines = {key.name: key for key in tasks.engines.values() if key.stage.work is Work.RECEIVE}
    for key in engines.values():
        room = Ref(_room(key), _span_at(key, routes))
        taken: list[Step] = [Acquire(room)] * tasks.queue_depth(key)
        given: list[Step] = [Release(room)] * (tasks.queue_depth(key) if give_back else 0)
        steps += _for_all(routes, key, [*taken, *given])
    return steps


def _for_all(routes: Routes, key: EngineKey, steps: list[Step]) -> list[Step]:
    for name in reversed(routes.span(key)):
        steps = [Each(name, routes.extents()[name], tuple(steps))]
    return steps


def _control_body(body: list[Statement], routes: Routes, tasks: Tasks, results: tuple[Step, ...] = ()) -> list[Step]:
    """Sets up a body's tasks in its order, and `results` behind the operands of its first turn.

    Nobody waits for a result's task before a block is computed. Behind the first block's operands, which are used up
    without any result leaving, none comes too late either: more operands may wait for room that only results make.
    """
    steps: list[Step] = []
    for statement in body:
        if isinstance(statement, Transfer) and tasks.outermost.get(id(statement), statement) is None:
            if _is_result(statement):
                steps, results = [*steps, *results], ()
            steps += _configure(statement, routes, tasks)
        elif isinstance(statement, Loop):
            own, later = _covered(statement, routes, tasks)
            turns = _turns(statement, routes, tasks, (*results, *later))
            steps += [*own, *turns] if turns else [*own, *later]
            results = () if turns else results
    return [*steps, *results]


def _covered(loop: Loop, routes: Routes, tasks: Tasks) -> tuple[list[Step], tuple[Step, ...]]:
    """What is set up for all turns of a loop at once: operands, and results."""
    operands: list[Step] = []
    results: list[Step] = []
    for transfer, _ in walk(loop.body):
        if isinstance(transfer, Transfer) and tasks.outermost.get(id(transfer)) is loop:
            kind = results if _is_result(transfer) else operands
            kind += _configure(transfer, routes, tasks)
    return operands, tuple(results)


def _turns(loop: Loop, routes: Routes, tasks: Tasks, results: tuple[Step, ...]) -> list[Step]:
    """What is set up in the turns of a loop, with `results` in the first; empty where nothing is."""
    blocks = _block_loops(loop)
    if tasks.together is not None and blocks:
        block = _control_body(blocks[-1].body, routes, tasks)
        wait = _wait_for_results(routes, tasks, give_back=True)
        return [*results, *_in_groups(blocks, tasks.together[-len(blocks) :], block, wait)]
    turn = _control_body(loop.body, routes, tasks)
    if not turn:
        return []
    first = _control_body(loop.body, routes, tasks, results)
    if loop.grid:
        return first
    if not results:
        return [Repeat(loop.counter, loop.trips, tuple(turn))]
    return [*first, *([Repeat(loop.counter, loop.trips - 1, tuple(turn))] if loop.trips > 1 else [])]


def _is_result(transfer: Transfer) -> bool:
    return transfer.target.buffer.space == L3


def _block_loops(loop: Loop) -> tuple[Loop, ...]:
    """The loops over rows and columns of blocks, or over one of the two, if this is the outer one.

    A block writes a result of its own to L3: no other loop in time is around that.
    """
    if loop.grid:
        return ()
    if _writes_result(loop):
        return (loop,)
    inner = loop.body[0] if len(loop.body) == 1 else None
    return (loop, inner) if isinstance(inner, Loop) and not inner.grid and _writes_result(inner) else ()


def _writes_result(loop: Loop) -> bool:
    """Whether every iteration writes to L3."""
    return any(
        isinstance(s, Transfer) and s.target.buffer.space == L3 and all(inner.grid for inner in around)
        for s, around in walk(loop.body)
    )


def _in_groups(
    blocks: Sequence[Loop],
    together: Sequence[int],
    body: list[Step],
    wait: list[Step],
    around: tuple[tuple[str, int], ...] = (),
) -> list[Step]:
    """The body for every block, and a wait after each group of them; groups at the far edges are smaller."""
    if not blocks:
        for counter, trips in reversed(around):
            body = [Repeat(counter, trips, tuple(body))]
        return [*body, *wait]
    loop, size = blocks[0], together[0]
    steps: list[Step] = []
    for groups, trips in ((loop.trips // size, size), (1, loop.trips % size)):
        if groups and trips:
            group = _in_groups(blocks[1:], together[1:], body, wait, (*around, (loop.counter, trips)))
            steps.append(Repeat(f"{loop.counter}_group", groups, tuple(group)))
    return steps


def _configure(transfer: Transfer, routes: Routes, tasks: Tasks) -> list[Step]:
    key = tasks.engines[id(transfer)]
    at = _span_at(key, routes)
    steps: list[Step] = [
        Acquire(Ref(_room(key), at)),
        Configure(tasks.descriptors[id(transfer)]),
        Release(Ref(_task(key), at)),
    ]
    return tasks.repeated(transfer, _for_all(routes, key, steps))
