"""Phases with tensors at home where DMA engines beside DRAM reach them, which move them as they move what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from npuflow.compiler.home_phases import HomePhases, HomeSlabs, TensorWay, Ways
from npuflow.network.plan import PlannedValue
from npuflow.network.spread import TensorSpread
from npuflow.simulate.at_clusters import AtClusters
from npuflow.simulate.at_home import AtHome
from npuflow.simulate.by_ports import by_ports
from npuflow.simulate.home_ports import HomeChain, NearTensor
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.in_clusters import elements_at_clusters, in_clusters, spread_of
from npuflow.simulate.places import Places
from npuflow.simulate.platform import Side
from npuflow.simulate.program import Program

# Tensors that clusters keep, by name and as they are spread.
Spreads: TypeAlias = tuple[tuple[str, TensorSpread], ...]


@dataclass
class PortPhases(HomePhases):
    """A slab takes no channel, and descriptors only where a transfer is in several.

    `at_clusters` is what clusters have of tensors, by part and name, `in_parts` where programs have the one that is
    looked at, and `kept` are programs with tensors that clusters keep, one after the other.
    """

    spreads: bool = True
    at_clusters: dict[tuple[str, str], Mapping[int, Places]] = field(default_factory=dict)
    in_parts: dict[tuple[str, str], AtClusters] = field(default_factory=dict)
    kept: dict[tuple[str, Spreads], Program] = field(default_factory=dict)

    def columns(self, value: PlannedValue) -> list[int]:
        return sorted(
            range(self.memories), key=lambda number: (-self.free_bytes(value.first, value.last, number), number)
        )

    def in_place(self, value: PlannedValue) -> HomeSlabs | None:
        """The clusters that make it, if all that read it can do so where it is; ports bring what they lack of it."""
        if not self.spreads or value.number in self.calls.first_versions:
            return None
        self.in_parts.clear()
        shape, each = self._shape(value.number)
        made, *read = ((phase, tensor) for phase, tensor, _ in self.ports[value.number])
        try:
            spread = spread_of(self._elements(*made), [self._elements(*one) for one in read], shape, each)
        except NotAtHomeError:
            return None
        piece = max(map(spread.window_bytes, spread.windows))
        return HomeSlabs(tuple(spread.windows), piece, in_place=True, spread=spread)

    def _shape(self, number: int) -> tuple[Sequence[int], int]:
        """A tensor's sizes, and an element's bytes."""
        phase, tensor, _ = self.ports[number][0]
        part = self.parts[self.calls.calls[phase].name]
        made = part.signature.outputs[part.results.index(tensor)]
        return made.shape, made.dtype.itemsize

    def _elements(self, phase: int, tensor: str) -> Mapping[int, Places]:
        """What of a tensor each cluster makes, or reads, in a phase."""
        name = self.calls.calls[phase].name
        if (name, tensor) not in self.at_clusters:
            try:
                found = elements_at_clusters(self._tensor(name, (), tensor))
            except NotAtHomeError:
                found = {}
            self.at_clusters[name, tensor] = found
        if not self.at_clusters[name, tensor]:
            raise NotAtHomeError("kernels don't have it where it is")
        return self.at_clusters[name, tensor]

    def brought(self, value: PlannedValue) -> list[HomeSlabs]:
        return []

    def counts(self) -> Sequence[int]:
        return range(1, self.memories + 1)

    def pieces(self, value: PlannedValue, count: int) -> list[int]:
        alignment = self.device.level(self.level).alignment_bytes
        return [-(-value.bytes // (count * alignment)) * alignment]

    def moves(self, value: PlannedValue, slabs: HomeSlabs) -> tuple[tuple[int, bool], ...]:
        return ()

    def channels_left(self, phase: int, side: Side, column: int) -> int:
        return 0

    def ways(self, phase: int, homes: Mapping[int, HomeSlabs]) -> Ways:
        own = (
            TensorWay(tensor, side, slabs.columns, slabs.piece_bytes, slabs.in_place, spread=slabs.spread)
            for number, slabs in homes.items()
            for at, tensor, side in self.ports[number]
            if at == phase
        )
        return tuple({way.tensor: way for way in own}.values())

    def made(self, name: str, ways: Ways) -> AtHome:
        near = [NearTensor(way.tensor, way.piece_bytes, way.spread) for way in ways]
        spread = tuple((one.name, one.spread) for one in near if one.spread is not None)
        moved = by_ports(self._kept(name, spread), self.device, [one for one in near if one.spread is None])
        return replace(moved, near=tuple(near))

    def _kept(self, name: str, spreads: Spreads) -> Program:
        """A part's program with tensors in clusters, found once, as is that without the last of them."""
        if not spreads:
            return self.parts[name].program
        if (name, spreads) not in self.kept:
            *before, (tensor, spread) = spreads
            self.kept[name, spreads] = in_clusters(self._tensor(name, tuple(before), tensor), spread)
        return self.kept[name, spreads]

    def _tensor(self, name: str, spreads: Spreads, tensor: str) -> AtClusters:
        """A tensor in a part's program with others in clusters; without these it is asked for several times."""
        if spreads or (name, tensor) not in self.in_parts:
            found = AtClusters(self._kept(name, spreads), self.device.arranged(*self.parts[name].grid), tensor)
            if spreads:
                return found
            self.in_parts[name, tensor] = found
        return self.in_parts[name, tensor]

    def change_seconds(self, chains: Mapping[int, Sequence[HomeChain]]) -> float:
        return 0.0
