"""What is wrong with a schedule, as data. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.errors import Shortage, SourceLocation, needs_text, with_hint
from npuflow.schedule.data.channels import Memory


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong, where, and what to change; a warning is what works here but not on every device.

    `shortage` has the numbers where another choice of slots and tiles may need less.
    """

    what: str
    hint: str
    location: SourceLocation | None
    is_warning: bool = False
    shortage: Shortage | None = None

    def __str__(self) -> str:
        return with_hint(self.what, self.hint)


@dataclass(frozen=True)
class Need:
    """How much of something is needed beside one memory, and by whom."""

    memory: Memory
    need: int
    users: tuple[tuple[str, int], ...]
    location: SourceLocation | None

    def text(self, unit: str, have: int, where: str = "") -> str:
        """What of a unit is lacking beside the memory, or `where` one says instead, and whose it is."""
        return needs_text(where or str(self.memory), self.need, unit, have, ranked(self.users))


def ranked(users: Sequence[tuple[str, int]]) -> list[str]:
    """Users with their shares, the largest first."""
    return [f"{name} {amount}" for name, amount in sorted(users, key=lambda user: (-user[1], user[0]))]


def keep_worst(needs: dict[tuple[int, int], Need], key: tuple[int, int], need: Need) -> None:
    """Of like memories the one that needs most, the first of them."""
    if key not in needs or needs[key].need < need.need:
        needs[key] = need
