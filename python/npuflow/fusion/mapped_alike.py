"""What is mapped for ops, found once for all that are alike: in a network's layers, and if it is taken apart again."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from npuflow.core.answers import Answers
from npuflow.ops.outline import Outline
from npuflow.strategy.bundle_times import MappedGroup
from npuflow.strategy.describe_group import Numbers

Mapped = tuple[MappedGroup, ...]
"""What a group is compiled as, one behind the other; nothing where nothing fits, which others will say."""

# More than what fusing asks of one network.
MAPPED_ALIKE: Answers[Mapped] = Answers(4096)


class MappedAlike:
    """What ops are mapped as, in ways that differ in what they are `asked` for; tensors have these `numbers`."""

    def __init__(self, outline: Outline, numbers: Numbers) -> None:
        self.outline = outline
        self.numbers = {place: numbers[v] for place, v in enumerate(self.outline.values) if v in numbers}

    def mapped(self, asked: Hashable, find: Callable[[Numbers], Mapped]) -> Mapped:
        """What `find` finds given numbers of values, for these ops or others that are alike."""
        places = {value: place for place, value in enumerate(self.outline.values)}
        found = MAPPED_ALIKE.of((self.outline.key, asked), lambda: find(places))
        return tuple(each.numbered(self.numbers) for each in found)
