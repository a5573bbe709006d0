"""How long a group takes where a chain that it is part of stays apart."""

from __future__ import annotations

from npuflow.core.copies import erase_unused
from npuflow.frontend.collapse_contractions import copy_as_matmul
from npuflow.fusion.mapped_alike import Mapped, MappedAlike
from npuflow.network.groups import FusionGroup
from npuflow.ops.bundle import bundle_of
from npuflow.ops.contraction import match_contraction
from npuflow.ops.outline import outline_of
from npuflow.strategy.bundle_times import MappedGroup, mapped_bundle, mapped_group
from npuflow.strategy.describe_group import Numbers
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device


def seconds_of(mapped: Mapped, home: frozenset[int] = frozenset()) -> float:
    """How long these take, with tensors of these numbers at home on the chip."""
    return sum(each.seconds(home) for each in mapped)


def mapped_apart(
    group: FusionGroup, device: Device, said: Strategy, *, bundles: bool, numbers: Numbers | None = None
) -> Mapped:
    """A group by the best strategy; a sum of products as the matmul that it will be collapsed to, too.

    Sums in a chain have the loops of what is between them, while it isn't decided whether they are one. With `bundles`,
    matmuls may be mapped as other ops are.
    """

    def found(numbers: Numbers) -> Mapped:
        return _best(group, device, said, bundles, numbers)

    return MappedAlike(outline_of(group.ops), numbers or {}).mapped((group.is_matmul, device, said, bundles), found)


def _best(group: FusionGroup, device: Device, said: Strategy, bundles: bool, numbers: Numbers) -> Mapped:
    ways = [_one(mapped_group(group, device, said, numbers))]
    if group.is_matmul:
        matmul = match_contraction(group.ops[0])
        if bundles and matmul is not None:
            ways.append(_one(mapped_bundle(bundle_of(matmul), device, said, numbers)))
    elif (collapsed := copy_as_matmul(group.ops[0])) is not None:
        first, rest = FusionGroup((collapsed,), is_matmul=True), FusionGroup(group.ops[1:])
        behind = _one(mapped_group(rest, device, said, numbers)) if rest.ops else ()
        ways.append((*_best(first, device, said, bundles, numbers), *behind))
        erase_unused([collapsed])
    return min(filter(None, ways), key=seconds_of, default=())


def _one(mapped: MappedGroup | None) -> Mapped:
    return () if mapped is None else (mapped,)
