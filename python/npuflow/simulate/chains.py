"""How many descriptors of a channel do one transfer after the other, as chains that go round by themselves. Pure.

A channel has a queue of tasks, each of which is a chain that goes round as often as it says.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from npuflow.simulate.channel_tasks import FlatTransfer


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


def task_lengths(moves: Sequence[ChainMove], most_turns: int, most_tasks: int) -> tuple[int, ...]:
    """The descriptors of each of up to `most_tasks` chains that do as many transfers each: the fewest in all."""
    counts = [count for count in range(1, most_tasks + 1) if len(moves) % count == 0]
    ways = [tuple(chain_length(own, most_turns) for own in _in_tasks(moves, count)) for count in counts]
    return min(ways, key=sum)


def _in_tasks(moves: Sequence[ChainMove], count: int) -> list[Sequence[ChainMove]]:
    size = len(moves) // count
    return [moves[size * number : size * (number + 1)] for number in range(count)]


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
