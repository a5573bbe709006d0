"""What the control processor does: it sets up tasks in an order, and waits until their results are written. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.schedule.data.model import Acquire, Configure, Each, Engine, Ref, Release, Repeat, Step
from npuflow.schedule.nest.nest import L3, Loop, Nest, Statement, Transfer, walk
from npuflow.schedule.project.routes import EngineKey, Routes
from npuflow.schedule.project.tasks import Tasks, room_name, span_at, task_name
from npuflow.target import Work


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
        room = Ref(room_name(key), span_at(key, routes))
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
        if isinstance(statement, Transfer) and tasks.outermost.get(statement.key, statement) is None:
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
        if isinstance(transfer, Transfer) and tasks.outermost.get(transfer.key) is loop:
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
    wait = _wait_for_results(routes, tasks, give_back=True) if loop.counter in tasks.waits else []
    turn = _control_body(loop.body, routes, tasks)
    if not turn:
        return []
    turn += wait
    first = [*_control_body(loop.body, routes, tasks, results), *wait]
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
    key = tasks.engines[transfer.key]
    at = span_at(key, routes)
    steps: list[Step] = [
        Acquire(Ref(room_name(key), at)),
        Configure(tasks.descriptors[transfer.key]),
        Release(Ref(task_name(key), at)),
    ]
    return tasks.repeated(transfer, _for_all(routes, key, steps))
