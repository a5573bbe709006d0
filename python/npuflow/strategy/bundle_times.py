"""What is chosen for groups, and how long they take by that. Reads IR and changes nothing."""

from __future__ import annotations

from npuflow.errors import Shortage
from npuflow.ops.bundle import Bundle
from npuflow.strategy.choose import complete, ranked
from npuflow.strategy.describe_bundle import program_fits
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.feasibility import obstacles
from npuflow.strategy.group import Group
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# Strategies that are looked at for one whose program fits: those that are alike in their costs are so in their loops.
_MOST_STRATEGIES = 256


def group_seconds(group: Group, device: Device, said: Strategy) -> float:
    """How long a group takes by the best strategy, roughly; nothing where there is none, which others will say."""
    strategy = complete(group, said, device)
    return 0.0 if obstacles(group, strategy, device) else Estimate(group, device).seconds(mapping_of(group, strategy))


def best_of_bundle(
    bundle: Bundle, group: Group, device: Device, said: Strategy, lacked: tuple[Shortage, ...] = ()
) -> Strategy:
    """The best strategy by which a bundle's program fits a core; the very best where none is found."""
    best = complete(group, said, device, lacked=lacked)
    if program_fits(bundle, group, mapping_of(group, best), device):
        return best
    others = ranked(group, said, device, _MOST_STRATEGIES, lacked=lacked)
    return next((other for other in others if program_fits(bundle, group, mapping_of(group, other), device)), best)


def bundle_seconds(bundle: Bundle, device: Device, said: Strategy) -> float | None:
    """How long a bundle takes, roughly; None where it fits no core."""
    group = group_of_bundle(bundle)
    strategy = best_of_bundle(bundle, group, device, said)
    if obstacles(group, strategy, device):
        return None
    mapping = mapping_of(group, strategy)
    if not program_fits(bundle, group, mapping, device):
        return None
    return Estimate(group, device).seconds(mapping)
