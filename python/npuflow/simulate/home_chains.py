"""The descriptors of channels beside memory tiles that move what is at home, as chains that go round. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import accumulate

from npuflow.simulate.chains import chain_move, chain_tasks
from npuflow.simulate.channel_tasks import FlatTransfer, transfers
from npuflow.simulate.home_ports import HOME_LEVEL, HomeChain
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import FlatEngine, FlatReceive, FlatSend, FlatStep, Program
from npuflow.target import Device


def home_chain(device: Device, column: int, number: int, descriptors: int, moves: Sequence[FlatTransfer]) -> HomeChain:
    """So many descriptors of a channel beside a column's tile, which move what is at home."""
    content = sha256(repr((number, [(t.stream, t.access) for t in moves])).encode()).hexdigest()
    return HomeChain(column, number % device.dma(HOME_LEVEL).descriptor_groups, descriptors, content)


def whole_chains(
    program: Program, device: Device, engine: FlatEngine, steps: Sequence[FlatStep]
) -> tuple[HomeChain, ...]:
    """The descriptors of a channel beside a tile that goes through other steps by itself now, by tasks in its queue."""
    moves = [step for step in steps if isinstance(step, FlatSend | FlatReceive)]
    depths = {one.name: one.depth for one in program.buffers}
    own = [chain_move(one, {one.access.buffer: 1, **depths}) for one in moves]
    dma, inward = device.dma(HOME_LEVEL), not any(isinstance(s, FlatSend) for s in transfers(engine.body))
    assert engine.tile is not None, "it is beside a memory tile"
    column, side = engine.tile[1], Side.IN if inward else Side.OUT
    number = Platform(device).channels_beside(HOME_LEVEL, side, column)[engine.name]
    tasks = chain_tasks(own, dma.pattern.iteration_max if dma.pattern else 0, dma.queue_depth)
    chains = (
        home_chain(device, column, number, task.descriptors, moves[end - task.moves : end])
        for task, end in zip(tasks, accumulate(task.moves for task in tasks))
    )
    return tuple(replace(chain, instead=(inward, number)) for chain in chains)
