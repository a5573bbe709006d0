"""What stays on the chip between the groups of a function, as far as estimates can tell, and what that is worth.

What a group hands to others may be at home in memory tiles, or in scratchpads, if there is room for it beside the
buffers of all groups that move it, in memories that these leave a channel of. Then it takes nothing of DRAM. Groups
that become one may have no such room where the groups apart had it, which costs those around them too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from npuflow.bindings import ir
from npuflow.core.build import tensor_bytes
from npuflow.fusion.mapped_alike import Mapped
from npuflow.fusion.seconds_apart import seconds_of
from npuflow.network.groups import FusionGroup
from npuflow.ops.contraction import users
from npuflow.strategy.bundle_times import MappedGroup
from npuflow.strategy.describe_group import Numbers
from npuflow.strategy.room import home_room

# What values are read through on their way from group to group.
_VIEWS = ("tensor.collapse_shape", "tensor.expand_shape", "tensor.pad")


def readers_of(value: ir.Value) -> list[ir.Operation]:
    """Who reads a value, perhaps reshaped or padded."""
    found: list[ir.Operation] = []
    left: Sequence[ir.Value] = [value]
    while left:
        readers = [user for each in left for user in users(each)]
        found += [user for user in readers if user.name not in _VIEWS]
        left = [result for user in readers if user.name in _VIEWS for result in user.results]
    return found


@dataclass(frozen=True)
class _Between:
    """A value that a group makes for others: its bytes, and the groups that move it."""

    bytes: int
    moving: frozenset[int]


@dataclass
class Homes:
    """The groups of a function, and what they are `mapped` as by themselves, found once for each that is asked for.

    From one to the next it takes `change_seconds`. Where it `is_started`, all that groups need is set up ahead.
    """

    groups: Sequence[FusionGroup]
    mapped: Callable[[FusionGroup, Numbers], Mapped]
    change_seconds: float = 0.0
    is_started: bool = False
    numbers: Numbers = field(init=False)
    _between: Mapping[int, _Between] = field(init=False)
    _known: dict[int, Mapped] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The values between groups, numbered by who makes them, before there are copies that read them, too."""
        self._between = self._found()
        self.numbers = {self.groups[maker].root.results[0]: maker for maker in self._between}

    def _found(self) -> Mapping[int, _Between]:
        owner = {op: number for number, group in enumerate(self.groups) for op in group.ops}
        found = {}
        for number, group in enumerate(self.groups):
            reading = [owner.get(reader) for value in group.root.results for reader in readers_of(value)]
            if len(group.root.results) == 1 and group.insertion is None and reading:
                (value,) = group.root.results
                size = tensor_bytes(value)
                others = frozenset(each for each in reading if each is not None)
                if len(others) == len(set(reading)):  # what is returned is in DRAM
                    found[number] = _Between(size, others | {number})
        return found

    def started(self) -> Homes:
        """The same where all that groups need is set up ahead."""
        return replace(self, is_started=True, _known={})

    def settle(self) -> None:
        """Finds what stays if no groups become one, which all else asks for."""
        _ = self._home

    def seconds_apart(self, number: int) -> float:
        """How long a group takes by itself."""
        return seconds_of(self.alone(number), self._home) + self.change_seconds

    def seconds_as_one(self, members: Iterable[int], made: MappedGroup) -> float:
        """How long groups take as one, and how much longer others then do."""
        own, (made,) = frozenset(members), self._as_begun((made,))
        moved = {number: each for number, each in self._between.items() if each.moving & own and not each.moving <= own}
        home = {
            number
            for number, each in moved.items()
            if _has_room(number, each.bytes, [(made,), *(self.alone(other) for other in each.moving - own)])
        }
        changed = {number for number in moved if (number in home) != (number in self._home)}
        around = {other for number in changed for other in moved[number].moving - own}
        late = (
            seconds_of(self.alone(other), (self._home - moved.keys()) | home)
            - seconds_of(self.alone(other), self._home)
            for other in sorted(around)
        )
        return made.seconds(frozenset(home)) + sum(late) + self.change_seconds

    def alone(self, number: int) -> Mapped:
        """What a group is mapped as by itself."""
        if number not in self._known:
            self._known[number] = self._as_begun(self.mapped(self.groups[number], self.numbers))
        return self._known[number]

    def seconds_beside(self, group: FusionGroup) -> float:
        """How long one takes that is none of these, of whose values none stays."""
        return seconds_of(self._as_begun(self.mapped(group, {}))) + self.change_seconds

    def _as_begun(self, mapped: Mapped) -> Mapped:
        return tuple(one.started() for one in mapped) if self.is_started else mapped

    @cached_property
    def _home(self) -> frozenset[int]:
        """The values that stay if no groups become one."""
        found = self._between.items()
        return frozenset(n for n, each in found if _has_room(n, each.bytes, [self.alone(m) for m in each.moving]))


def _has_room(number: int, size: int, moving: Sequence[Mapped]) -> bool:
    """Whether memories have room for the value of a number, of so many bytes, while each of some groups runs."""
    rooms = [home_room(each.group, each.mapping, each.device, number) for mapped in moving for each in mapped]
    return bool(rooms) and sum(map(min, zip(*rooms))) >= size
