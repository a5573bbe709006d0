"""npuflow-spread-phases: which parts of a function keep what they make in their clusters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes, element_type_of, shape_of
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.network.between import between
from npuflow.network.calls import CallList, callee, calls_of, read_calls
from npuflow.network.parts import body_of
from npuflow.ops.grown import find_bundles
from npuflow.ops.reshapes import unreshaped
from npuflow.strategy.bundle_times import GrowthOn, PartOfFunction, best_by_rows, best_of_bundle
from npuflow.strategy.describe_group import group_of_bundle
from npuflow.strategy.estimate import Estimate
from npuflow.strategy.group import Group
from npuflow.strategy.in_clusters import ClusterRows, exchange_seconds, rows_of, seconds_by_rows
from npuflow.strategy.mapping import Mapping as GroupMapping
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.open_groups import open_bundle
from npuflow.strategy.rows_attribute import note_rows
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# By how much more than a part in its own way one by rows is taken to last: estimates tell so much less of what it takes
# where its tensors begin and end, and a MobileNetV2 became 4 % slower by what they said alone.
_UNSURE = 1.15


@register_pass
@dataclass(frozen=True)
class SpreadPhases(Pass):
    """Has parts of a function keep what they hand over in the clusters that make it, where that is faster in all.

    A part is spread in the way that is best for it alone, or by rows (`strategy/in_clusters`), which its neighbours
    have the same of. What is handed over by parts that all are spread by rows needn't be moved, but for what clusters
    lack of it, halos, and what they have less of than they read. By the estimates of parts with that and without it,
    the ways of all parts are chosen together: from all by rows, and from none, one part or two neighbours change as
    long as that makes the whole faster. A part says which loop clusters follow, and how much of it each has.

        func.func @f_1(...) attributes {npu.between = {...}}

    becomes

        func.func @f_1(...) attributes {npu.between = {...}, npu.rows = {loop = 2, tile = 10}}
    """

    name = "npuflow-spread-phases"
    group = "strategy"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    fuse: bool = option(True, "let groups grow around sums of products")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        if device.home_level != device.kernel_level:
            return
        functions = {str(f.opview.name.value): f for f in ops_of(op, "func.func") if not f.opview.is_external}
        for function in functions.values():
            calls = read_calls(function)
            if calls is None:
                continue
            names = {call.name: callee(one) for call, one in zip(calls.calls, calls_of(function), strict=True)}
            parts = {name: self._part(functions[names[name]], device) for name in names}
            spreading = _Spreading(calls, {n: p for n, p in parts.items() if p is not None}, device)
            chosen = spreading.chosen()
            for name in sorted(chosen):
                part = parts[name]
                assert part is not None, "what is chosen has a way by rows"
                note_rows(functions[names[name]], part.rows)
            context.count("parts by rows", len(chosen))
            said = f"{len(chosen)} of {len(parts)} parts keep what they make in clusters"
            times = " and ".join(f"{spreading.seconds(one) * 1e6:.1f} us" for one in (chosen, frozenset[str]()))
            context.remark(function, f"{said}; what could be spread so takes {times} with and without that")

    def _part(self, function: ir.Operation, device: Device) -> SpreadPart | None:
        """A part that could be spread by rows; None of another one."""
        numbers = between(function)
        bundles = find_bundles(function, GrowthOn(device, self.fuse, self.depth_between))
        if not numbers or len(bundles) != 1:
            return None
        bundle, said = bundles[0], Strategy(depth_between=self.depth_between)
        opened = open_bundle(bundle, said)
        if opened.given != said:
            return None
        group = group_of_bundle(bundle, numbers)
        rows = rows_of(group, set(_pitches(numbers)), device)
        if rows is None:
            return None
        found = best_by_rows(bundle, group, device, said, rows)
        if found is None:
            return None
        best = best_of_bundle(bundle, opened.group, device, said, (), PartOfFunction(numbers))
        arguments, results = list(function.regions[0].blocks[0].arguments), body_of(function)[-1].operands
        handed = tuple(numbers.get(v) for v in arguments), tuple(numbers.get(unreshaped(v)) for v in results)
        return SpreadPart(group, rows, found[1], mapping_of(group, best), *handed, device)


def _pitches(values: Mapping[ir.Value, int]) -> Iterator[int]:
    """The bytes by which dimensions of some tensors go on."""
    for value in values:
        shape = shape_of(value)
        yield from (prod(shape[n + 1 :]) * element_bytes(element_type_of(value)) for n in range(len(shape)))


@dataclass(frozen=True)
class SpreadPart:
    """A part by rows, and by its own best way; its arguments and results by numbers, where they are handed over."""

    group: Group
    rows: ClusterRows
    by_rows: GroupMapping
    best: GroupMapping
    arguments: tuple[int | None, ...]
    results: tuple[int | None, ...]
    device: Device
    known: dict[frozenset[int] | None, float] = field(default_factory=dict, compare=False)

    def seconds(self, kept: frozenset[int] | None) -> float:
        """How long it takes by rows, with some tensors kept in clusters; in its own way where nothing is said."""
        if kept not in self.known:
            self.known[kept] = (
                seconds_by_rows(self.group, self.by_rows, kept, self.device) if kept is not None else self._alone
            )
        return self.known[kept]

    @property
    def _alone(self) -> float:
        return Estimate(self.group.at_home(self.group.numbers), self.device).seconds(self.best)

    def made_bytes(self, number: int) -> int:
        """What a cluster makes of a tensor, along a period of it."""
        (tensor,) = (one for one in self.group.outputs if one.number == number)
        return self.rows.tile * tensor.strides[self.rows.loop]


@dataclass(frozen=True)
class _Spreading:
    """The parts of a function's calls that could be spread by rows, by name."""

    calls: CallList
    parts: Mapping[str, SpreadPart]
    device: Device
    exchanges: dict[tuple[int, int], float] = field(default_factory=dict, compare=False)

    def chosen(self) -> frozenset[str]:
        """The parts by rows that make the least sum of times that is found."""
        found = [self._descended(begin) for begin in (frozenset(self.parts), frozenset[str]())]
        return min(found, key=self.seconds)

    def _descended(self, chosen: frozenset[str]) -> frozenset[str]:
        now = self.seconds(chosen)
        while True:
            changed = [(self.seconds(chosen ^ moved), chosen ^ moved) for moved in self._moves]
            least, best = min(changed, key=lambda one: one[0], default=(now, chosen))
            if least >= now:
                return chosen
            now, chosen = least, best

    @cached_property
    def _moves(self) -> Sequence[frozenset[str]]:
        """What changes at once: a part, or two of which one reads what the other makes."""
        pairs = (
            frozenset({self.calls.calls[maker].name, self.calls.calls[reader].name})
            for maker, readers in self._users.values()
            for reader in readers
        )
        own = (frozenset({name}) for name in self.parts)
        return [one for one in dict.fromkeys([*own, *pairs]) if one <= self.parts.keys()]

    @cached_property
    def _users(self) -> Mapping[int, tuple[int, tuple[int, ...]]]:
        """Of what parts hand over, the phase that makes it, and those that read it."""
        made = {value: phase for phase, call in enumerate(self.calls.calls) for value in call.outputs}
        reads = {value: tuple(n for n, call in enumerate(self.calls.calls) if value in call.inputs) for value in made}
        return {value: (made[value], readers) for value, readers in reads.items() if readers}

    def seconds(self, chosen: frozenset[str]) -> float:
        """How long parts take with these by rows."""
        kept = {value for value, users in self._users.items() if self._stays(value, users, chosen)}
        return sum(self._phase_seconds(phase, chosen, kept) for phase in range(len(self.calls.calls)))

    def _stays(self, value: int, users: tuple[int, tuple[int, ...]], chosen: frozenset[str]) -> bool:
        maker, readers = users
        phases = (maker, *readers)
        return all(
            self.calls.calls[phase].name in chosen and self._number(phase, value) is not None for phase in phases
        )

    def _number(self, phase: int, value: int) -> int | None:
        """What a phase's part calls a tensor."""
        return self._numbers[phase].get(value)

    @cached_property
    def _numbers(self) -> Sequence[Mapping[int, int | None]]:
        """Of each phase, what its part calls the tensors that it reads and makes."""
        found = []
        for call in self.calls.calls:
            part = self.parts.get(call.name)
            own = (*part.arguments, *part.results) if part is not None else ()
            found.append(dict(zip((*call.inputs, *call.outputs), own)))
        return found

    def _phase_seconds(self, phase: int, chosen: frozenset[str], kept: set[int]) -> float:
        call = self.calls.calls[phase]
        part = self.parts.get(call.name)
        if part is None:
            return 0.0
        if call.name not in chosen:
            return part.seconds(None)
        own = {value: self._number(phase, value) for value in (*call.inputs, *call.outputs) if value in kept}
        numbers = frozenset(number for number in own.values() if number is not None)
        lacking = sum(self._exchange(phase, value) for value in call.inputs if value in own)
        return (part.seconds(numbers) + lacking) * _UNSURE

    def _exchange(self, phase: int, value: int) -> float:
        """How long ports bring what a phase's clusters lack of a tensor, found once."""
        if (phase, value) not in self.exchanges:
            self.exchanges[phase, value] = self._exchange_seconds(phase, value)
        return self.exchanges[phase, value]

    def _exchange_seconds(self, phase: int, value: int) -> float:
        part, (maker, _) = self.parts[self.calls.calls[phase].name], self._users[value]
        number, made = self._number(phase, value), self._number(maker, value)
        assert number is not None, "what stays is handed over by who reads it"
        assert made is not None, "and by who makes it"
        from_ = self.parts[self.calls.calls[maker].name].made_bytes(made)
        tensors = [one for one in part.group.inputs if one.number == number]
        return max((exchange_seconds(one, part.group, part.rows, from_, self.device) for one in tensors), default=0.0)
