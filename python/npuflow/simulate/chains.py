"""How many descriptors of a channel do one transfer after the other, as chains that go round by themselves. Pure.

A channel has a queue of tasks, each of which is a chain that goes round as often as it says.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from npuflow.simulate.channel_tasks import FlatTransfer

# Transfers that go on by one step are a task from so many on.
_RUN = 3


@dataclass(frozen=True)
class ChainMove:
    """A transfer: `kind` is what descriptors can't change by themselves, `position` what they go on in by steps."""

    kind: Hashable
    position: int


def chain_move(transfer: FlatTransfer, depths: Mapping[str, int]) -> ChainMove:
    """A transfer, whose place is a constant, given how many slots each buffer has."""
    access = transfer.access
    slot = access.slot.constant % depths[access.buffer]
    kind = (transfer.stream, access.buffer, slot, access.sizes, access.strides, access.limits)
    return ChainMove(kind, access.offset.constant)


def chain_length(moves: Sequence[ChainMove], most_turns: int) -> int:
    """The fewest descriptors of a chain: each comes up in every turn, further on by a step of its own.

    A descriptor counts `most_turns` at most, where that isn't 0; one that stays where it is needn't count.
    """
    return next((n for n in range(1, len(moves)) if _goes_round(moves, n, most_turns or len(moves))), len(moves))


@dataclass(frozen=True)
class ChainTask:
    """A task of a channel: so many transfers, by a chain of so many descriptors."""

    moves: int
    descriptors: int


def chain_tasks(moves: Sequence[ChainMove], most_turns: int, most_tasks: int) -> tuple[ChainTask, ...]:
    """What up to `most_tasks` chains do one after the other, the fewest descriptors in all.

    They do as many transfers each, or each what goes on by one step for a while, or what comes between that.
    """
    counts = [count for count in range(1, most_tasks + 1) if len(moves) % count == 0]
    ways = [_in_tasks(moves, [len(moves) // count] * count) for count in counts]
    runs = _runs(moves)
    ways += [_in_tasks(moves, runs)] if 1 < len(runs) <= most_tasks else []
    found = (tuple(ChainTask(len(own), chain_length(own, most_turns)) for own in way) for way in ways)
    return min(found, key=lambda tasks: sum(task.descriptors for task in tasks))


def _in_tasks(moves: Sequence[ChainMove], sizes: Sequence[int]) -> list[Sequence[ChainMove]]:
    ends = [*accumulate(sizes)]
    return [moves[end - size : end] for end, size in zip(ends, sizes)]


def _runs(moves: Sequence[ChainMove]) -> list[int]:
    """The lengths of what goes on by one step at least twice, and of what comes between."""
    steps = [_step(*pair) for pair in pairwise(moves)]
    found, at = [0], 0
    while at < len(moves):
        end = at + 1
        while end < len(moves) and steps[end - 1] is not None and steps[end - 1] == steps[at]:
            end += 1
        if end - at >= _RUN:
            found += [end - at, 0]
        else:
            end = at + 1
            found[-1] += 1
        at = end
    return [size for size in found if size]


def _step(before: ChainMove, after: ChainMove) -> int | None:
    return after.position - before.position if before.kind == after.kind else None


def _goes_round(moves: Sequence[ChainMove], length: int, most_turns: int) -> bool:
    if moves[0].kind != moves[length].kind:
        return False
    for first in range(length):
        own = moves[first::length]
        steps = {after.position - before.position for before, after in pairwise(own)}
        if len({move.kind for move in own}) > 1 or len(steps) > 1:
            return False
        if steps - {0} and len(own) > most_turns:
            return False
    return True
