"""npuflow-fuse-windows: ops that read each other through windows on one tile of a core where that is faster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, function_of_group, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import planned_device
from npuflow.errors import unknown_name
from npuflow.fusion.fuse import fuse_tiled
from npuflow.fusion.homes import Homes, readers_of
from npuflow.fusion.joins import written_in_place
from npuflow.fusion.mapped_alike import MAPPED_ALIKE, Mapped
from npuflow.fusion.seconds_apart import mapped_apart
from npuflow.fusion.window_chain import NO_WINDOW, WindowChain, chain_of
from npuflow.fusion.window_tiles import Halos, computed, computed_once, handed_over_bytes
from npuflow.fusion.window_ways import WINDOW_TILES, Cost, FusedWindows, WindowWays
from npuflow.network.groups import FusionGroup, groups_of, names_of
from npuflow.network.partition import Members, Price, best_partition, cones
from npuflow.ops.contraction import BUNDLE, STRATEGY
from npuflow.ops.estimated import Names, note_estimated, together_of
from npuflow.ops.once import described_once
from npuflow.ops.outline import outline_of
from npuflow.ops.refused import CACHED, TILED, mark_made_of, refusal, refused_of
from npuflow.strategy.bundle_times import GrowthOn
from npuflow.strategy.change_seconds import change_between
from npuflow.strategy.choose import CHOSEN
from npuflow.strategy.describe_group import Numbers
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device

# Groups that are tried as one.
_MOST_GROUPS = 4
# What tiles that are asked for divide costs nothing, and groups that are asked for less than anything.
_FOR_TILES, _FREE = Price(0.0), Price(-1.0)
# Sums side by side become one where they are estimated to take so much of the time: of a Llama's gate, 0.99 was 1.02.
_LESS_SIDE_BY_SIDE = 0.95


@register_pass
@dataclass(frozen=True)
class FuseWindows(Pass):
    """Makes convolutions, pools and what is between them one bundle, in tiles that overlap, where that is faster.

    What one op makes for the next then never leaves L1. Each computes what the next one's windows read, so that a few
    rows are computed by two neighbours. Padding between them is zeros that are selected where a tile has more than its
    op makes. Or a core goes through a tile in steps, and keeps rows (`npu.row_loop`) that another step has made. Of all
    ways to take a function apart, the one with the lowest sum of estimates is taken; groups that its `npu.refused`
    names don't become one, as a schedule refused them, and those that its `npu.together` names do. Sums side by side,
    as of a shortcut and of what it goes around, are one in tiles without halos, and go through what they sum up in step
    (`npu.step_loop`). Sums may begin with what one of the ops makes, as a bias, where another engine makes it than adds
    up.

        %s = linalg.generic ... ins(%x, %w : tensor<1x32x32x16xbf16>, ...) -> tensor<1x30x30x16xf32>
        %r = linalg.generic ... ins(%s, %v : tensor<1x30x30x16xf32>, ...) -> tensor<1x28x28x16xf32>

    becomes, in tiles of 7x7

        %s = linalg.generic ... (d1 * 7 + d2 + d6, d3 * 7 + d4 + d7, ...) ... -> tensor<1x4x9x4x9x16xf32>
        %t = linalg.generic ... (d1, d2 + d6, d3, d4 + d7, ...) ... -> tensor<1x4x7x4x7x16xf32>
        %r = tensor.collapse_shape %t [[0], [1, 2], [3, 4], [5]] : ... into tensor<1x28x28x16xf32>
    """

    name = "npuflow-fuse-windows"
    group = "fusion"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")
    tiles: tuple[int, ...] = option((), "rows, columns of tiles; what they divide is fused (default: what is fastest)")
    halos: Halos = option(
        Halos.CHEAPER, "what of a halo is made again: all of it, only what no step has made before, or what is faster"
    )
    rows: int | None = option(None, "rows that a step makes where halos are cached (default: what is fastest)")
    groups: tuple[str, ...] = option(
        (), "groups to be one, FUNCTION_NUMBER as remarks name them, whatever it takes", names_groups=True
    )
    depth_between: int | None = option(None, "slots of what matrix and vector engines hand to each other")
    bundle_matmuls: bool = option(False, "matmuls that stay apart may be mapped as other ops are")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        device = planned_device(op, self.device)
        functions = {str(function.opview.name.value): function for function in ops_of(op, "func.func")}
        self.require_functions(op, functions)
        for name, function in functions.items():
            wanted = frozenset(group for group in self.groups if function_of_group(group) == name)
            _WindowFusion(function, device, self, wanted, context).run()


class _WindowFusion:
    """The groups of one function, and which of them are fused."""

    def __init__(
        self,
        function: ir.Operation,
        device: Device,
        options: FuseWindows,
        wanted: frozenset[str],
        context: PassContext,
    ) -> None:
        self.function, self.device, self.wanted, self.context = function, device, wanted, context
        self.tiles, self.said = options.tiles, Strategy(depth_between=options.depth_between)
        self.ways = WindowWays(device, self.said, options.tiles, options.rows, options.halos)
        self.groups = groups_of(function, GrowthOn(device))
        self.names, self.refused = names_of(function, self.groups), refused_of(function)
        self.together = set(together_of(function))
        self.places = {op: number for number, op in enumerate(ops_of(function))}
        self.bundles = options.bundle_matmuls
        self.kept_apart = set[int]()

        def mapped(group: FusionGroup, numbers: Numbers) -> Mapped:
            return mapped_apart(group, device, self.said, bundles=self.bundles, numbers=numbers)

        self.homes = Homes(self.groups, mapped, change_between(self.groups, device))

    def run(self) -> None:
        chains = self._chains()
        if not chains and not self.wanted:
            self._name(self.kept_apart)
            return
        self._ask_ahead(chains)
        found = ((members, self._best_way(members, chain)) for members, chain in chains.items())
        ways = {members: way for members, way in found if way is not None}
        for members in chains.keys() - ways.keys():
            root = self.groups[max(members)].root
            self.context.remark(root, f"{self._named(members)} stay apart: no tile of them fits a core")
        involved = sorted({number for members in ways for number in members})
        joined = written_in_place(self.function, self.groups, self.device, bundles=self.bundles)
        apart = {
            number: 0.0 if self.groups[number].root.results[0] in joined else self.homes.seconds_apart(number)
            for number in involved
        }
        prices = {frozenset([number]): Price(seconds) for number, seconds in apart.items()}
        costs = {members: _FOR_TILES if self.tiles else way.price for members, way in ways.items()}
        ways = {members: way for members, way in ways.items() if len(members) > 1 or costs[members] < prices[members]}
        prices |= {members: costs[members] for members in ways if self._pays(ways[members], members, apart)}
        asked = self._asked_for(chains, ways) if self.wanted else None
        if self.context.failed:
            return
        prices |= {members: _FREE for members in ways if members == asked or self._names_in(members) in self.together}
        chosen = set(best_partition(len(self.groups), prices))
        self._note(apart, ways)
        for members, way in ways.items():
            self._say(members, way, sum(apart[number] for number in members), members in chosen)
        for members in sorted(ways.keys() & chosen, key=max, reverse=True):  # who reads a chain knows the result it had
            tiled = ways[members].tiled
            fuse_tiled(tiled, self._made_of(members, ways[members], is_asked=bool(self.tiles) or members == asked))
            self.context.count("windows fused", len(tiled.chain.images))
        self._name(self.kept_apart.union(involved).difference(*(ways.keys() & chosen)))

    def _name(self, apart: Iterable[int]) -> None:
        """Says what groups are called that stay apart."""
        for number in sorted(apart):
            mark_made_of(self.groups[number].ops, self.names[number])

    def _ask_ahead(self, chains: Mapping[Members, WindowChain]) -> None:
        """Asks how long groups take, one of those that are alike, and behind that, chains of them."""
        answers = MAPPED_ALIKE, CHOSEN, WINDOW_TILES
        alone = {outline_of(group.ops).key: number for number, group in enumerate(self.groups)}
        self.context.ahead.ask(
            [self._in_context(partial(self.homes.alone, number)) for number in alone.values()], answers
        )
        self.homes.settle()
        unlike = {chain.outline.key: members for members, chain in chains.items()}
        ways = (self._in_context(partial(self._way_of, members, chains[members])) for members in unlike.values())
        self.context.ahead.ask([*ways], answers)

    def _in_context(self, ask: Callable[[], object]) -> Callable[[], object]:
        """A question that any thread may ask: IR has a context in this one alone."""

        def answer() -> object:
            with self.function.context:
                return ask()

        return answer

    def _pays(self, way: FusedWindows, members: Members, apart: Mapping[int, float]) -> bool:
        """Whether groups may be one where that has the lowest sum: sums side by side must save more than a little."""
        if self.tiles or way.tiled.chain.axes or self._names_in(members) in (self.wanted, *self.together):
            return True
        return way.price.seconds < _LESS_SIDE_BY_SIDE * sum(apart[number] for number in members)

    @described_once()
    def _chains(self) -> dict[Members, WindowChain]:
        """What might be fused, with the groups that it is made of."""
        open_ = [
            not any(BUNDLE in op.attributes or STRATEGY in op.attributes for op in group.ops) for group in self.groups
        ]
        found = {}
        alone = (frozenset([number]) for number, group in enumerate(self.groups) if len(group.ops) > 1)
        for members in (*alone, *cones(self._readers(), _MOST_GROUPS)):
            if all(open_[number] for number in members):
                ops = self._ops(members)
                chain, why = self._chain_of(ops), refusal(self.refused, self._in_tiles(members))
                if isinstance(chain, WindowChain) and not chain.axes and len(members) == 1:
                    continue
                if isinstance(chain, WindowChain) and why is None:
                    found[members] = chain
                    continue
                if why is not None:
                    self.kept_apart |= members
                if chain != NO_WINDOW:
                    said = chain if isinstance(chain, str) else f"as one, {why}"
                    self.context.remark(ops[-1], f"{self._named(members)} stay apart: {said}")
        return found

    def _chain_of(self, ops: Sequence[ir.Operation]) -> WindowChain | str:
        """The chain that ops are; one of its sums begins with a tensor only where another engine writes that."""
        chain = chain_of(ops)
        if isinstance(chain, str) or not chain.begins_with_tensor or self.device.has_two_engines:
            return chain
        return "a sum begins with a tensor"

    def _asked_for(self, chains: Mapping[Members, WindowChain], ways: Mapping[Members, FusedWindows]) -> Members:
        """The groups that are to be one whatever it takes; reports what keeps them from it."""
        known = {name: number for number, names in enumerate(self.names) for name in names}
        for name in sorted(self.wanted - known.keys()):
            self.context.error(self.function, unknown_name("group", name, known))
        members = frozenset(known[name] for name in self.wanted if name in known)
        if self.wanted <= known.keys() and members not in ways:
            problem = self._problem(members) if members not in chains else "no tile of them fits a core"
            what = f"{self._named(members)} can't be one: {problem}"
            self.context.error(self.groups[max(members)].root, what, "name others, or leave --fuse out")
        return members

    def _problem(self, members: Members) -> str:
        if members not in set(cones(self._readers(), _MOST_GROUPS)):
            return f"they aren't up to {_MOST_GROUPS} in a row of which others read the last one alone"
        chain = self._chain_of(self._ops(members))
        return chain if isinstance(chain, str) else "a strategy or a bundle says how they are mapped"

    def _made_of(self, members: Members, way: FusedWindows, *, is_asked: bool) -> list[str]:
        """What of a chain was decided by estimates, by names; nothing of what was asked for."""
        is_choice = way.tiled.rows > 0 and way.other is not None
        if is_asked and not is_choice:
            return []
        return [*self._in_tiles(members), *([CACHED] if way.tiled.rows else [])]

    def _note(self, apart: Mapping[int, float], ways: Mapping[Members, FusedWindows]) -> None:
        """Says how long groups are estimated to take."""
        homes = self.homes.started()
        alone = {
            frozenset(self.names[number]): (seconds, homes.seconds_apart(number))
            for number, seconds in apart.items()
            if seconds
        }
        as_one = {
            self._names_in(members): (way.price.seconds, homes.seconds_as_one(members, way.mapped))
            for members, way in ways.items()
        }
        note_estimated(self.function, alone | as_one)

    def _in_tiles(self, members: Members) -> list[str]:
        """What is refused of a chain in tiles: of one group, not the group by itself."""
        return [*self._names(members), *([TILED] if len(members) == 1 else [])]

    def _names_in(self, members: Members) -> Names:
        return frozenset(self._names(members))

    def _names(self, members: Members) -> list[str]:
        return [name for number in sorted(members) for name in self.names[number]]

    def _named(self, members: Members) -> str:
        return f"groups {', '.join(self._names(members))}"

    def _ops(self, members: Members) -> list[ir.Operation]:
        ops = (op for number in members for op in self.groups[number].ops)
        return sorted(ops, key=lambda op: self.places[op])

    def _readers(self) -> list[frozenset[int]]:
        """For each group, those that read its result; what is no group's is one behind all."""
        owner = {op: number for number, group in enumerate(self.groups) for op in group.ops}
        return [
            frozenset(
                owner.get(reader, len(self.groups)) for value in group.root.results for reader in readers_of(value)
            )
            for group in self.groups
        ]

    def _best_way(self, members: Members, chain: WindowChain) -> FusedWindows | None:
        """The tiles that a chain takes least time in; None where none fits a core."""
        why = self._caches_not(members)
        if why is not None:
            self.context.remark(self.groups[max(members)].root, f"{self._named(members)} cache no halos: {why}")
        return self._way_of(members, chain)

    def _way_of(self, members: Members, chain: WindowChain) -> FusedWindows | None:
        return self.ways.best(chain, Cost(self.homes, members), may_cache=self._caches_not(members) is None)

    def _caches_not(self, members: Members) -> str | None:
        return refusal(self.refused, [*self._names(members), CACHED])

    def _say(self, members: Members, way: FusedWindows, apart: float, is_chosen: bool) -> None:
        tiled = way.tiled
        decided = f"{self._named(members)} {'are one' if is_chosen else 'stay apart'}"
        if is_chosen and self._names_in(members) in self.together:
            decided += ", as parts took less time so"
        twice = computed(tiled) / computed_once(tiled.chain) - 1
        costs = f"in {way} {handed_over_bytes(tiled.chain)} bytes stay in L1, {twice:.0%} more is computed"
        times = (
            [] if self.tiles or not apart else [f"they take an estimated {way.price.seconds / apart:.2f} of the time"]
        )
        if way.other is not None:
            times.append(f"{way.price.seconds / way.other.price.seconds:.2f} of that in {way.other}")
        said = f", and {', '.join(times)}" if times else ""
        self.context.remark(tiled.chain.images[-1].op, f"{decided}: {costs}{said}")
