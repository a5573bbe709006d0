"""How long groups take by what would be chosen for them. Reads IR and changes nothing."""

from __future__ import annotations

from npuflow.ops.bundle import Bundle
from npuflow.strategy.choose import complete
from npuflow.strategy.describe_bundle import program_fits
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.feasibility import obstacles
from npuflow.strategy.group import Group
from npuflow.strategy.mapping import Mapping, mapping_of
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device


def best_mapping(group: Group, device: Device, said: Strategy) -> Mapping | None:
    """The mapping that is chosen where so much is said; None where none fits."""
    strategy = complete(group, said, device)
    return None if obstacles(group, strategy, device) else mapping_of(group, strategy)


def bundle_seconds(bundle: Bundle, device: Device, said: Strategy) -> float | None:
    """How long a bundle takes, roughly; None where it fits no core."""
    group = group_of_bundle(bundle)
    mapping = best_mapping(group, device, said)
    if mapping is None or not program_fits(bundle, mapping, device):
        return None
    return Estimate(group, device).seconds(mapping)
