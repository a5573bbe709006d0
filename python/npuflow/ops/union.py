"""Sets that are joined pair by pair. Pure."""

from __future__ import annotations

from collections.abc import Sequence

Member = tuple[int, int]


class Union:
    """Sets of pairs of numbers; every pair begins in a set of its own."""

    def __init__(self) -> None:
        self._parents: dict[Member, Member] = {}

    def _root(self, member: Member) -> Member:
        while member in self._parents:
            member = self._parents[member]
        return member

    def join(self, left: Member, right: Member) -> None:
        left, right = self._root(left), self._root(right)
        if left != right:
            self._parents[right] = left

    def classes(self, members: Sequence[Member]) -> list[list[Member]]:
        found: dict[Member, list[Member]] = {}
        for member in members:
            found.setdefault(self._root(member), []).append(member)
        return list(found.values())
