"""What is wrong with a schedule, as data. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.errors import Shortage, SourceLocation, with_hint
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

    def largest(self) -> str:
        """The three largest users with their shares."""
        ranked = sorted(self.users, key=lambda user: (-user[1], user[0]))
        return ", ".join(f"{name} {amount}" for name, amount in ranked[:3]) + (", ..." if ranked[3:] else "")


def keep_worst(needs: dict[tuple[int, int], Need], key: tuple[int, int], need: Need) -> None:
    """Of like memories the one that needs most, the first of them."""
    if key not in needs or needs[key].need < need.need:
        needs[key] = need
