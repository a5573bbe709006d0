"""How long a group takes where a chain that it is part of stays apart."""

from __future__ import annotations

from npuflow.core.copies import erase_unused
from npuflow.frontend.collapse_contractions import copy_as_matmul
from npuflow.network.groups import FusionGroup
from npuflow.ops.bundle import bundle_of
from npuflow.ops.contraction import match_contraction
from npuflow.strategy.bundle_times import bundle_seconds, group_seconds
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device


def seconds_apart(group: FusionGroup, device: Device, said: Strategy, *, bundles: bool) -> float:
    """How long a group takes by the best strategy; a sum of products as the matmul that it will be collapsed to, too.

    Sums in a chain have the loops of what is between them, while it isn't decided whether they are one. With `bundles`,
    matmuls may be mapped as other ops are.
    """
    ways = [group_seconds(group, device, said)]
    if group.is_matmul:
        matmul, bundle = match_contraction(group.ops[0]), None
        if bundles and matmul is not None:
            bundle = bundle_seconds(bundle_of(matmul), device, said)
        return min([*ways, *([] if bundle is None else [bundle])])
    collapsed = copy_as_matmul(group.ops[0])
    if collapsed is not None:
        first, rest = FusionGroup((collapsed,), is_matmul=True), group.ops[1:]
        behind = group_seconds(FusionGroup(rest), device, said) if rest else 0.0
        ways.append(seconds_apart(first, device, said, bundles=bundles) + behind)
        erase_unused([collapsed])
    return min(ways)
