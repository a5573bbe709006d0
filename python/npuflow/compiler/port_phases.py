"""Phases with tensors at home where DMA engines beside DRAM reach them, which move them as they move what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.compiler.home_phases import HomePhases, HomeSlabs, TensorWay, Ways
from npuflow.network.plan import PlannedValue
from npuflow.simulate.at_home import AtHome
from npuflow.simulate.by_ports import by_ports
from npuflow.simulate.home_ports import NearTensor
from npuflow.simulate.platform import Side


class PortPhases(HomePhases):
    """A slab takes no channel, and descriptors only where a transfer is in several."""

    def columns(self, value: PlannedValue) -> list[int]:
        return sorted(
            range(self.memories), key=lambda number: (-self.free_bytes(value.first, value.last, number), number)
        )

    def in_place(self, value: PlannedValue) -> HomeSlabs | None:
        return None

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
            TensorWay(tensor, side, slabs.columns, slabs.piece_bytes)
            for number, slabs in homes.items()
            for at, tensor, side in self.ports[number]
            if at == phase
        )
        return tuple({way.tensor: way for way in own}.values())

    def made(self, name: str, ways: Ways) -> AtHome:
        near = [NearTensor(way.tensor, way.piece_bytes) for way in ways]
        return by_ports(self.parts[name].program, self.device, near)

    def change_seconds(self, moved: Mapping[int, AtHome]) -> float:
        return 0.0
