"""What is mapped for ops, found once for all that are alike: in a network's layers, and if it is taken apart again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence

from npuflow.bindings import ir
from npuflow.ops.outline import outline_of
from npuflow.strategy.bundle_times import MappedGroup
from npuflow.strategy.describe_group import Numbers

Mapped = tuple[MappedGroup, ...]
"""What a group is compiled as, one behind the other; nothing where nothing fits, which others will say."""

# More than what fusing asks of one network; what was asked for longest ago goes first.
_MOST = 4096
_known: OrderedDict[Hashable, Mapped] = OrderedDict()


class MappedAlike:
    """What ops are mapped as, in ways that differ in what they are `asked` for; tensors have these `numbers`."""

    def __init__(self, ops: Sequence[ir.Operation], numbers: Numbers) -> None:
        self.outline = outline_of(ops)
        self.numbers = {place: numbers[v] for place, v in enumerate(self.outline.values) if v in numbers}

    def mapped(self, asked: Hashable, find: Callable[[Numbers], Mapped]) -> Mapped:
        """What `find` finds given numbers of values, for these ops or others that are alike."""
        key = self.outline.key, asked
        if key not in _known:
            _known[key] = find({value: place for place, value in enumerate(self.outline.values)})
            if len(_known) > _MOST:
                _known.popitem(last=False)
        _known.move_to_end(key)
        return tuple(each.numbered(self.numbers) for each in _known[key])
