"""What a channel beside a memory tile does with its buffers, one after the other. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.simulate.channel_tasks import FlatTransfer, unrolled
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.program import FlatAcquire, FlatReceive, FlatRelease, FlatSend, FlatStep


@dataclass(frozen=True)
class HandOver:
    """What a channel does with a tile's buffer between waiting for it and giving it away."""

    waits: tuple[FlatAcquire, ...]
    moves: tuple[FlatTransfer, ...]
    gives: tuple[FlatRelease, ...]


def hand_overs(body: tuple[FlatStep, ...]) -> Iterator[HandOver]:
    """A channel's steps, each time from what it waits for to what it gives."""
    waits, moves, gives = list[FlatAcquire](), list[FlatTransfer](), list[FlatRelease]()
    for step in unrolled(body):
        if gives and not isinstance(step, FlatRelease):
            yield HandOver(tuple(waits), tuple(moves), tuple(gives))
            waits, moves, gives = [], [], []
        if isinstance(step, FlatAcquire) and not moves:
            waits.append(step)
        elif isinstance(step, FlatSend | FlatReceive):
            moves.append(step)
        elif isinstance(step, FlatRelease):
            gives.append(step)
        else:
            raise NotAtHomeError("its channel works in another way than buffer by buffer")
    yield HandOver(tuple(waits), tuple(moves), tuple(gives))
