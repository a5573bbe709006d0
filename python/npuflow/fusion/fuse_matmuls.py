"""npuflow-fuse-matmuls: two matmuls in a row, as attention's, on one tile of a core where that is faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import shape_of, tensor_bytes
from npuflow.core.copies import erase_unused
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.fusion.copy_chain import ChainCopy, copies_of
from npuflow.fusion.homes import Homes
from npuflow.fusion.mapped_alike import Mapped, MappedAlike
from npuflow.fusion.seconds_apart import mapped_apart
from npuflow.network.groups import FusionGroup, groups_of, names_of
from npuflow.ops.bundle import free_numbers, make_bundle, mark_bundle
from npuflow.ops.chains import Chain, chains_of
from npuflow.ops.contraction import STRATEGY, is_elementwise, is_parallel, producer
from npuflow.ops.estimated import Estimates, Names, note_estimated, together_of
from npuflow.ops.linear import input_count
from npuflow.ops.once import described_once
from npuflow.ops.outline import outline_of
from npuflow.ops.refused import mark_made_of, refusal, refused_of
from npuflow.ops.reshapes import readers, unreshaped
from npuflow.strategy.bundle_times import GrowthOn, MappedGroup, mapped_bundle
from npuflow.strategy.change_seconds import change_among, change_between
from npuflow.strategy.describe_group import Numbers
from npuflow.strategy.phase_times import against_more, seconds_in_a_row
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device


@register_pass
@dataclass(frozen=True)
class FuseMatmuls(Pass):
    """Makes two matmuls in a row, with what is between them, one bundle, where that is estimated to be faster.

    What the first makes then never leaves L1: a piece of it is made and used up at once. A softmax between them runs
    piece by piece as well: its division moves behind the second matmul, and the maximum and the sums are running ones.
    Where there are fewer rows than cores, as of one token, rows may come in parts that cores share, each with a maximum
    and sums of its own, which ops behind the bundle merge. Matmuls that somebody gave a strategy stay as they are, and
    so do groups that the function's `npu.refused` names: as one, a schedule refused them. What is decided, and by what
    numbers, is a remark.

        %s = linalg.batch_matmul ins(%q, %k : ...) outs(...)
        %p = ... softmax of %s ...
        %r = linalg.batch_matmul ins(%p, %v : ...) outs(...)

    becomes

        %s = linalg.generic ... ins(%q, %k : ...) ... attrs = {npu.bundle = 0, npu.made_of = ["f_0", "f_1", "f_2"]}
        %m = linalg.generic ... ins(%s : ...) ... attrs = {npu.bundle = 0, npu.running, ...} { arith.maximumf }
        ...
        %r = linalg.generic ... ins(%o, %l : ...) ... attrs = {npu.bundle = 0, ...} { arith.divf }
    """

    name = "npuflow-fuse-matmuls"
    group = "fusion"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")
    bundle_matmuls: bool = option(False, "matmuls that stay apart may be mapped as other ops are")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        for function in ops_of(op, "func.func"):
            with described_once():
                chains = [c for c in chains_of(function) if not any(STRATEGY in op.attributes for op in c.ops)]
                if not chains:
                    continue
                among = _Among(function, device, Strategy(depth_between=self.depth_between), self.bundle_matmuls)
            found = [(chain, among.names(chain)) for chain in chains]
            decided = [_decided(chain, groups, among, context) for chain, groups in found]
            for (chain, groups), way in zip(found, decided):
                if way is not None:
                    _fuse(chain, groups, way, among)
                    context.count("matmuls fused", 2)


class _Among:
    """The groups of a function, as they are while none is fused, and what is said of the strategies of all."""

    def __init__(self, function: ir.Operation, device: Device, said: Strategy, bundles: bool) -> None:
        self.function, self.device, self.said = function, device, said
        self.groups = groups_of(function, GrowthOn(device, depth_between=said.depth_between))
        self.owner = {op.results[0]: number for number, group in enumerate(self.groups) for op in group.ops}
        self.named, self.refused = names_of(function, self.groups), refused_of(function)
        self.together = together_of(function)

        def mapped(group: FusionGroup, numbers: Numbers) -> Mapped:
            return mapped_apart(group, device, said, bundles=bundles, numbers=numbers)

        self.homes = Homes(self.groups, mapped, change_between(self.groups, device))
        self.started = self.homes.started()

    def members(self, chain: Chain) -> list[int]:
        """The groups that a chain's ops are in."""
        return sorted({self.owner[op.results[0]] for op in chain.ops if op.results[0] in self.owner})

    def names(self, chain: Chain) -> tuple[str, ...]:
        """What the groups of a chain's ops are called."""
        return tuple(name for number in self.members(chain) for name in self.named[number])

    def seconds_apart(self, chain: Chain) -> float:
        """How long the groups of a chain's ops take one after the other."""
        return self.seconds_in_place(chain, map(self._times_apart, self.members(chain)))

    def seconds_in_place(self, chain: Chain, times: Iterable[Estimates]) -> float:
        """How long parts take one after the other in a chain's place, behind the group in front of it."""
        members = self.members(chain)
        first = min(members, default=0)
        before = self.started.seconds_apart(first - 1) if first else None
        change = change_among([op for number in members for op in self.groups[number].ops], self.device)
        return seconds_in_a_row(times, max(0.0, change - self.homes.change_seconds), before)

    def _times_apart(self, number: int) -> Estimates:
        return self.homes.seconds_apart(number), self.started.seconds_apart(number)

    def note(self, chain: Chain, times: Estimates) -> None:
        """Says how long a copy and the groups of a chain's ops are estimated to take, and what these are called."""
        members = self.members(chain)
        found: dict[Names, Estimates] = {frozenset(self.named[n]): self._times_apart(n) for n in members}
        if members:
            found[frozenset(self.names(chain))] = times
        note_estimated(self.function, found)
        self.name(chain)

    def name(self, chain: Chain) -> None:
        """Says what the groups of a chain's ops are called, for those that stay apart."""
        for number in self.members(chain):
            mark_made_of(self.groups[number].ops, self.named[number])

    def copies(self, chain: Chain) -> list[ChainCopy]:
        """What may take a chain's place."""
        cores = self.device.rows * self.device.columns
        return list(copies_of(chain, one_engine=not self.device.has_two_engines, cores=cores))

    def mapped(self, chain: Chain, way: ChainCopy) -> MappedGroup | None:
        """What a copy is mapped as in a chain's place, as one bundle; None where it fits no core."""
        bundle, numbers = make_bundle(way.ops), self.homes.numbers
        if not bundle.space:
            return None
        if not way.behind:
            numbers = {**numbers, bundle.root.results[0]: self.members(chain)[-1]}

        def find(numbers: Numbers) -> Mapped:
            found = mapped_bundle(bundle, self.device, self.said, numbers)
            return () if found is None else (found,)

        alike = MappedAlike(outline_of(bundle.ops), numbers).mapped((self.device, self.said), find)
        return next(iter(alike), None)

    def times_fused(self, chain: Chain, way: ChainCopy, mapped: MappedGroup) -> list[Estimates]:
        """How long a copy takes in a chain's place, roughly, part by part.

        What groups have beside the chain, as what computes something of each factor, is then made by itself, unless it
        is computed where what it reads is made: as a sum's tail, or with a result (`npuflow-fuse-readers`).
        """
        members, behind = self.members(chain), [FusionGroup(way.behind)] if way.behind else []
        beside = [op for number in members for op in self.groups[number].ops if op not in chain.ops and not _rides(op)]

        def times(seconds: Callable[[Homes], float]) -> Estimates:
            return seconds(self.homes), seconds(self.started)

        def times_beside(group: FusionGroup) -> Estimates:
            return times(lambda homes: homes.seconds_beside(group))

        before = [times_beside(FusionGroup((op,))) for op in beside]
        return [*before, times(lambda homes: homes.seconds_as_one(members, mapped)), *map(times_beside, behind)]


def _rides(op: ir.Operation) -> bool:
    """Whether an op computes something of each element of a sum that it alone reads, or of one result alone."""
    inputs = [unreshaped(value) for value in list(op.operands)[: input_count(op)]] if is_elementwise(op) else []
    made = [each for value in inputs if (each := producer(value)) is not None and each.name.startswith("linalg.")]
    sums = [each.results[0] for each in made if each.name != "linalg.fill" and not is_parallel(each)]
    alone = [value for value in sums if readers(value) == [op]]
    count = prod(shape_of(op.results[0]))
    return any(prod(shape_of(value)) == count for value in alone) or (len(inputs) == 1 and bool(made))


def _decided(chain: Chain, groups: Sequence[str], among: _Among, context: PassContext) -> int | None:
    """Which copy of a chain is the fastest that fits, if the chain isn't clearly faster, of more parts."""
    why = refusal(among.refused, groups)
    if why is not None:
        context.remark(chain.root, f"groups {', '.join(groups)} stay apart: as one, {why}")
        among.name(chain)
        return None
    apart = among.seconds_apart(chain)
    ways = among.copies(chain)
    fitting = [(number, way, mapped) for number, way in enumerate(ways) if (mapped := among.mapped(chain, way))]
    times = [among.times_fused(chain, way, mapped) for _, way, mapped in fitting]
    fused = [among.seconds_in_place(chain, each) for each in times]
    best = min(fused, default=None)
    number, parts, is_faster = None, 1, False
    if best is not None:
        place = fused.index(best)
        number, way, _ = fitting[place]
        parts = way.parts
        is_faster = against_more(best, len(times[place]), len(among.members(chain))) < apart
        alone, begun = zip(*times[place])
        among.note(chain, (sum(alone), sum(begun)))
    for way in ways:
        way.erase()
    context.remark(chain.root, _said(chain, best, apart, parts, is_faster))
    return number if is_faster or frozenset(groups) in among.together else None


def _said(chain: Chain, best: float | None, apart: float, parts: int, is_faster: bool) -> str:
    between = sum(map(tensor_bytes, chain.between))
    what = f"two matmuls in a row hand over {between} bytes"
    if best is None:
        return f"{what} in L3: as one they don't fit a core"
    where = "in L1" if is_faster else "in L3"
    split = f" in {parts} parts of rows" if parts > 1 else ""
    return f"{what} {where}{split}: as one they take an estimated {best / apart:.2f} of the time that they take apart"


def _fuse(chain: Chain, groups: Sequence[str], chosen: int, among: _Among) -> None:
    """Puts the copy of that number in place of a chain, marked as a bundle."""
    for number, way in enumerate(among.copies(chain)):
        if number != chosen:
            way.erase()
            continue
        mark_made_of(way.ops, groups)
        mark_bundle(way.ops, next(free_numbers(among.function)))
        chain.root.results[0].replace_all_uses_with(way.root.results[0])
    erase_unused([chain.root])
