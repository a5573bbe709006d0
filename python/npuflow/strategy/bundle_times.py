"""What is chosen for groups, and how long they take by that. Reads IR and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping as NumberMapping
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from npuflow.errors import Shortage
from npuflow.network.groups import FusionGroup
from npuflow.ops.bundle import Bundle, bundle_of, make_bundle
from npuflow.ops.contraction import Contraction, is_parallel, match_contraction
from npuflow.ops.grown import taken_tails
from npuflow.ops.linear import input_count
from npuflow.ops.once import described_once
from npuflow.ops.products import match_products
from npuflow.ops.reshapes import readers
from npuflow.strategy.change_seconds import change_among
from npuflow.strategy.choose import complete, least, ranked_by_estimate, ranked_with_costs
from npuflow.strategy.describe_bundle import bundle_fits, program_fits
from npuflow.strategy.describe_group import Numbers, group_of_bundle, group_of_matmul, types_of
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.feasibility import obstacles
from npuflow.strategy.group import Group
from npuflow.strategy.in_clusters import ClusterRows, ways_by_rows
from npuflow.strategy.mapping import Mapping, mapping_of
from npuflow.strategy.phase_times import NEAR_WAYS, PhaseTimes, against_more, seconds_in_a_row, started
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device
from npuflow.target.planned import goes_around_l2

# Strategies that are looked at for one whose program fits: those that are alike in their costs are so in their loops.
_MOST_STRATEGIES = 256

# What a part costs beside its time, in locks and slots, say, isn't estimated: it has to save as much.
_FAR_LESS = 0.5


@dataclass(frozen=True)
class MappedGroup:
    """A group by the best strategy."""

    group: Group
    mapping: Mapping
    device: Device

    def numbered(self, numbers: NumberMapping[int, int]) -> MappedGroup:
        """The same whose tensors have other numbers."""
        return replace(self, group=self.group.numbered(numbers))

    def started(self) -> MappedGroup:
        """The same where all that it needs is set up ahead."""
        return replace(self, device=started(self.device))

    def seconds(self, home: Set[int] = frozenset()) -> float:
        """How long it takes, roughly, with tensors of these numbers at home on the chip."""
        numbers = home & {tensor.number for tensor in self.group.tensors}
        return Estimate(self.group.at_home(numbers) if numbers else self.group, self.device).seconds(self.mapping)


def group_seconds(group: FusionGroup, device: Device, said: Strategy) -> float:
    """How long a group takes by the best strategy, roughly; nothing where there is none, which others will say."""
    found = mapped_group(group, device, said)
    return 0.0 if found is None else found.seconds()


@described_once()
def mapped_group(
    group: FusionGroup, device: Device, said: Strategy, numbers: Numbers | None = None
) -> MappedGroup | None:
    """A group by the best strategy; None where there is none. Tensors between groups are numbered."""
    matmul = match_contraction(group.ops[0]) if group.is_matmul else None
    if matmul is not None and not device.has_instruction(types_of(matmul)):
        return mapped_bundle(bundle_of(matmul), device, said, numbers)

    found = group_of_bundle(make_bundle(group.ops), numbers) if matmul is None else group_of_matmul(matmul, numbers)
    mapping = _least(found.numbered({}), device, said)
    return None if mapping is None else MappedGroup(found, mapping, device)


def matmul_seconds(matmul: Contraction, device: Device, said: Strategy) -> float | None:
    """How long a matmul with its tail takes, roughly: as a bundle where no instruction multiplies its types."""
    if not device.has_instruction(types_of(matmul)):
        return bundle_seconds(bundle_of(matmul), device, said)
    return least_seconds(group_of_matmul(matmul), device, said)


def least_seconds(group: Group, device: Device, said: Strategy) -> float | None:
    """How long a group takes by the best strategy, roughly; None where there is none."""
    mapping = _least(group, device, said)
    return None if mapping is None else Estimate(group, device).seconds(mapping)


def _least(group: Group, device: Device, said: Strategy) -> Mapping | None:
    strategy = least(group, said, device)
    return None if obstacles(group, strategy, device) else mapping_of(group, strategy)


def played_matmul(group: Group, device: Device, said: Strategy) -> float | None:
    """What a matmul costs by the best strategy when its pipeline is played out; None where there is none."""
    return _played(group, complete(group, said, device), device)


def played_bundle(bundle: Bundle, device: Device, said: Strategy) -> float | None:
    """The same of a bundle; None where it fits no core."""
    group = group_of_bundle(bundle)
    strategy = _best_fitting(bundle, group, device, said)
    return None if strategy is None else _played(group, strategy, device)


def _played(group: Group, strategy: Strategy, device: Device) -> float | None:
    if obstacles(group, strategy, device):
        return None
    return Estimate(group, device).played_cost(mapping_of(group, strategy))


@dataclass(frozen=True)
class GrowthOn:
    """What bundles may grow to on a device; around sums of products, beyond a tail, only where ops are `fused`.

    `depth_between` is what is said of the slots between engines.
    """

    device: Device
    fused: bool = True
    depth_between: int | None = None

    def fits(self, bundle: Bundle) -> bool:
        is_fused = _is_around_product(bundle) or bool(taken_tails(bundle))
        return (self.fused or not is_fused) and bundle_fits(bundle, self.device)

    def weighs(self, grown: Bundle, apart: Sequence[Bundle]) -> bool:
        return _is_around_product(grown) or self._idles(grown, apart)

    def pays(self, made: Sequence[Bundle], others: Sequence[Bundle]) -> bool:
        seconds, most = self._compared(made, others)
        return seconds is not None and (most is None or against_more(seconds, len(made), len(others)) <= most)

    def _idles(self, grown: Bundle, apart: Sequence[Bundle]) -> bool:
        """Whether cores have nothing to do where sums are summed up further that have tiles for them: far slower so.

        A norm or a softmax of few rows stays one.
        """
        sums, cores = apart[0], self.device.rows * self.device.columns
        if all(map(is_parallel, sums.ops)) or grown.most_tiles >= min(cores, sums.most_tiles):
            return False
        seconds, others = self._compared([grown], apart)
        return seconds is None or (others is not None and others < seconds * _FAR_LESS)

    def _compared(self, made: Sequence[Bundle], others: Sequence[Bundle]) -> tuple[float | None, float | None]:
        """How long bundles take, and others that do the same; None where one fits no core."""
        change = change_among([op for each in others for op in each.ops], self.device)
        return self._seconds(made, change), self._seconds(others, change)

    def _seconds(self, bundles: Sequence[Bundle], change: float) -> float | None:
        """How long bundles take one after the other; None where one fits no core."""
        said = Strategy(depth_between=self.depth_between)
        times = [_least_times(group_of_bundle(each), self.device, said) for each in bundles]
        known = [each for each in times if each is not None]
        return seconds_in_a_row(known, change) if len(known) == len(times) else None


def _least_times(group: Group, device: Device, said: Strategy) -> tuple[float, float] | None:
    """How long a group takes by the best strategy, by itself and with all set up; None where there is none."""
    mapping = _least(group, device, said)
    mapped = None if mapping is None else MappedGroup(group, mapping, device)
    return None if mapped is None else (mapped.seconds(), mapped.started().seconds())


def _is_around_product(bundle: Bundle) -> bool:
    """Whether a bundle sums products, and something else, or makes what is multiplied."""
    products = [op for op in bundle.ops if match_products(op) is not None]
    sums = [op for op in bundle.ops if not is_parallel(op)]
    factors = [value for op in products for value in list(op.operands)[: input_count(op)]]
    return bool(products) and (len(sums) > 1 or any(map(bundle.is_internal, factors)))


@dataclass(frozen=True)
class PartOfFunction:
    """What the function of a group says of itself as a part of another one.

    Tensors `between` parts are numbered; `rows` are how clusters keep them. Each stream of packets that sets up tiles
    takes so many seconds in front of it.
    """

    between: Numbers | None = None
    rows: ClusterRows | None = None
    stream_seconds: float = 0.0


_NO_PART = PartOfFunction()


def best_of_bundle(
    bundle: Bundle,
    group: Group,
    device: Device,
    said: Strategy,
    lacked: tuple[Shortage, ...] = (),
    part: PartOfFunction = _NO_PART,
) -> Strategy:
    """The best strategy by which a bundle's program fits a core; the very best where none is found.

    Tensors between parts of a function may stay on the chip: of strategies that cost about as much in DRAM, one that
    is faster then is taken, or leaves them more; one by rows where clusters keep them.
    """
    between, rows = part.between, part.rows
    if rows is not None and between and not lacked and rows.loop < group.space:
        found = best_by_rows(bundle, group_of_bundle(bundle, between), device, said, rows)
        if found is not None:
            return found[0]
    if device.home_level is None:
        between = None
    best = _best_fitting(bundle, group, device, said, lacked, first=NEAR_WAYS if between else 1)
    if best is None:
        return complete(group, said, device, lacked=lacked)
    if not between:
        return best
    at_home = group_of_bundle(bundle, _with_slices(between)).at_home({*between.values()})
    times = PhaseTimes(at_home, device, part.stream_seconds)
    played = ranked_with_costs(group, said, device, NEAR_WAYS, lacked=lacked)
    ranked = sorted(played, key=lambda one: one.cost)[:NEAR_WAYS]
    group_at_home = times.at_home.numbered({})
    is_played = not goes_around_l2(device)  # by estimates alone, what homes make of it tells ways too little apart
    others = ranked_by_estimate(group_at_home, said, device, NEAR_WAYS, lacked=lacked) if is_played else ()
    better = times.better(best, ranked, others)
    return next((one for one in better if program_fits(bundle, group, mapping_of(group, one), device)), best)


def _with_slices(between: Numbers) -> Numbers:
    """The same, and slices of that, which stay where all of it does: keys and values that one matmul made, say."""
    found = dict(between)
    left = [*between]
    while left:
        value = left.pop()
        for cut in (reader for reader in readers(value) if reader.name == "tensor.extract_slice"):
            found[cut.results[0]] = found[value]
            left.append(cut.results[0])
    return found


def best_by_rows(
    bundle: Bundle, group: Group, device: Device, said: Strategy, rows: ClusterRows
) -> tuple[Strategy, Mapping] | None:
    """The best way by which clusters have these rows that a bundle's program fits; None where there is none."""
    ways = ways_by_rows(group, said, rows, device)
    return next((way for way in ways if program_fits(bundle, group, way[1], device)), None)


def _best_fitting(
    bundle: Bundle,
    group: Group,
    device: Device,
    said: Strategy,
    lacked: tuple[Shortage, ...] = (),
    *,
    first: int = 1,
    is_estimated: bool = False,
) -> Strategy | None:
    """Of the best, by what is played out or by the estimate alone, the first whose program fits.

    So many are looked at `first`, and more where none of them fits.
    """
    for count in (first, _MOST_STRATEGIES):
        ways = ranked_by_estimate if is_estimated else ranked_with_costs
        for one in ways(group, said, device, count, lacked=lacked):
            if program_fits(bundle, group, mapping_of(group, one.strategy), device):
                return one.strategy
    return None


def bundle_seconds(bundle: Bundle, device: Device, said: Strategy) -> float | None:
    """How long a bundle takes, roughly; None where it fits no core."""
    found = mapped_bundle(bundle, device, said)
    return None if found is None else found.seconds()


@described_once()
def mapped_bundle(bundle: Bundle, device: Device, said: Strategy, numbers: Numbers | None = None) -> MappedGroup | None:
    """A bundle by the least estimate; None where it fits no core. Tensors between groups are numbered."""
    found = group_of_bundle(bundle, numbers)
    group = found.numbered({})
    strategy = _best_fitting(bundle, group, device, said, is_estimated=True)
    if strategy is None or obstacles(group, strategy, device):
        return None
    return MappedGroup(found, mapping_of(group, strategy), device)
