"""The descriptors of channels beside memory tiles that move what is at home, as chains that go round. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate

from npuflow.simulate.chains import chain_move, chain_tasks
from npuflow.simulate.channel_tasks import FlatTransfer, transfers
from npuflow.simulate.home_ports import HOME_LEVEL, HomeChain
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import FlatEngine, FlatSend, FlatStep, Program
from npuflow.target import Device


def task_chains(
    device: Device, column: int, number: int, moves: Sequence[FlatTransfer], depths: Mapping[str, int], each: int = 1
) -> Iterator[HomeChain]:
    """The chains of a channel beside a column's tile, a task each, whose transfers take `each` so many descriptors.

    They move what is at home; `depths` are the slots of each buffer.
    """
    dma = device.dma(HOME_LEVEL)
    own = [chain_move(one, depths) for one in moves]
    tasks = chain_tasks(own, dma.pattern.iteration_max if dma.pattern else 0, dma.queue_depth)
    for task, end in zip(tasks, accumulate(task.moves for task in tasks)):
        yield home_chain(device, column, number, each * task.descriptors, moves[end - task.moves : end])


def home_chain(device: Device, column: int, number: int, descriptors: int, moves: Sequence[FlatTransfer]) -> HomeChain:
    """So many descriptors of a channel beside a column's tile, which move what is at home."""
    content = sha256(repr((number, [(t.stream, t.access) for t in moves])).encode()).hexdigest()
    return HomeChain(column, number % device.dma(HOME_LEVEL).descriptor_groups, descriptors, content)


def whole_chains(
    program: Program, device: Device, engine: FlatEngine, steps: Sequence[FlatStep]
) -> tuple[HomeChain, ...]:
    """The descriptors of a channel beside a tile that goes through other steps by itself now, by tasks in its queue."""
    moves = [step for step in steps if isinstance(step, FlatTransfer)]
    depths = {one.name: one.depth for one in program.buffers}
    own = {one.access.buffer: 1 for one in moves}
    inward = not any(isinstance(s, FlatSend) for s in transfers(engine.body))
    assert engine.tile is not None, "it is beside a memory tile"
    column, side = engine.tile[1], Side.IN if inward else Side.OUT
    number = Platform(device).channels_beside(HOME_LEVEL, side, column)[engine.name]
    chains = task_chains(device, column, number, moves, {**own, **depths})
    return tuple(replace(chain, instead=(inward, number)) for chain in chains)
