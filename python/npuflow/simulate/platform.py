"""A device's engines and shared rates as a program's: what turns a device file into cycles.

Engines get their names here, so that everything that builds or reads programs agrees on them: `core (0,1)`,
`core dma (0,1) in 0`, `memory tile dma 2 out 3`, `control`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from npuflow.simulate.program import CORE_TILE, FlatEngine, FlatSend, FlatStep, Program, Resource
from npuflow.simulate.walk import leaves
from npuflow.target import Device, DmaEngine, Link, SharedBy

DRAM_READ, DRAM_WRITE, DRAM_TOTAL = "dram read", "dram write", "dram"


class Side(Enum):
    """Which way data moves: into the memory that a channel stands beside or out of it, over links inward or outward."""

    IN = "in"
    OUT = "out"


@dataclass(frozen=True)
class Platform:
    """The parts of a device, as programs name them."""

    device: Device

    def cycles(self, seconds: float) -> int:
        """Whole device cycles; a cycle that has begun counts, up to rounding of the numbers in the file."""
        return math.ceil(seconds * self.device.clock_hz - 1e-6)

    def resources(self) -> tuple[Resource, ...]:
        """Everything that transfers share: DRAM's rates, DMA engines' ports and the links between levels."""
        dram, clock = self.device.dram, self.device.clock_hz
        rates = (
            Resource(DRAM_READ, dram.read_bytes_per_second / clock),
            Resource(DRAM_WRITE, dram.write_bytes_per_second / clock),
            Resource(DRAM_TOTAL, dram.total_bytes_per_second / clock),
        )
        ports = tuple(
            Resource(self._port_name(dma, side, instance), dma.port_bytes_per_cycle)
            for dma in self.device.dmas
            if dma.port_bytes_per_cycle
            for side in Side
            for instance in range(dma.shared_by.instances(self.device.rows, self.device.columns))
        )
        links = tuple(
            Resource(self._link_name(link, side, instance), link.lanes * link.bytes_per_cycle)
            for link in self.device.links
            for side in Side
            for instance in range(link.shared_by.instances(self.device.rows, self.device.columns))
        )
        return rates + ports + links

    def memory_name(self, level: int, tile: tuple[int, int]) -> str:
        """The memory of a level at a tile (outside the cores: of its column)."""
        memory = self.device.level(level)
        names = {SharedBy.CORE: f" ({tile[0]},{tile[1]})", SharedBy.COLUMN: f" {tile[1]}", SharedBy.ARRAY: ""}
        return f"{memory.name}{names[memory.shared_by]}"

    def memory_names(self, level: int) -> list[str]:
        """All memories of a level, those of a row of tiles one after the other."""
        tiles = ((row, column) for row in range(self.device.rows) for column in range(self.device.columns))
        return list(dict.fromkeys(self.memory_name(level, tile) for tile in tiles))

    def link(self, from_level: int, to_level: int, tile: tuple[int, int]) -> str:
        """The name of the link that reaches `tile` between two levels, this way: lanes are wires for one way each."""
        link = self.device.link(max(from_level, to_level), min(from_level, to_level))
        side = Side.IN if from_level > to_level else Side.OUT
        return self._link_name(link, side, self._instance(link.shared_by, tile))

    def core(self, kind: str, tile: tuple[int, int], body: tuple[FlatStep, ...]) -> FlatEngine:
        """The compute engine of a kind in the device's file, at a tile."""
        return FlatEngine(f"{kind} ({tile[0]},{tile[1]})", body, kind=kind, tile=tile, place=CORE_TILE)

    def control(self, body: tuple[FlatStep, ...]) -> FlatEngine:
        """The processor that hands tasks to the outermost DMA engines."""
        return FlatEngine("control", body, kind="control", place="control")

    def channel_name(self, level: int, side: Side, tile: tuple[int, int], number: int) -> str:
        dma = self.device.dma(level)
        place = f"({tile[0]},{tile[1]})" if dma.shared_by is SharedBy.CORE else str(tile[1])
        return f"{dma.name} {place} {side.value} {number}"

    def channels_beside(self, level: int, side: Side, column: int) -> dict[str, int]:
        """The channels beside a column's memory of a level, by name."""
        dma = self.device.dma(level)
        count = dma.channels_in if side is Side.IN else dma.channels_out
        return {self.channel_name(level, side, (0, column), number): number for number in range(count)}

    def free_channels(self, program: Program, level: int, side: Side, column: int) -> tuple[int, ...]:
        """Those of them that a program leaves alone."""
        taken = {engine.name for engine in program.engines}
        names = self.channels_beside(level, side, column)
        return tuple(number for name, number in names.items() if name not in taken)

    def channel(
        self, level: int, side: Side, tile: tuple[int, int], number: int, body: tuple[FlatStep, ...]
    ) -> FlatEngine:
        """One channel of the DMA engine beside the memory of `level` at `tile` (outside the cores: of its column)."""
        dma = self.device.dma(level)
        is_dram = level == self.device.dram_level
        return FlatEngine(
            self.channel_name(level, side, tile, number),
            body,
            kind=f"{dma.name} {side.value}",
            tile=tile,
            bytes_per_cycle=dma.bytes_per_cycle,
            ports=self._ports(dma, side, tile) + (_dram_ports(side) if is_dram else ()),
            start_cycles=dma.start_cycles,
            latency_cycles=self._latency(dma, body) if is_dram and side is Side.OUT else 0,
            place=CORE_TILE if dma.shared_by is SharedBy.CORE else dma.place,
        )

    def _ports(self, dma: DmaEngine, side: Side, tile: tuple[int, int]) -> tuple[str, ...]:
        """What a channel shares with the others of its engine and direction, where the device says that."""
        if not dma.port_bytes_per_cycle:
            return ()
        return (self._port_name(dma, side, self._instance(dma.shared_by, tile)),)

    def _port_name(self, dma: DmaEngine, side: Side, instance: int) -> str:
        return f"{dma.name} port {instance} {side.value}"

    def _latency(self, dma: DmaEngine, body: tuple[FlatStep, ...]) -> int:
        """From asking DRAM to the first byte: what is gathered first has come by then."""
        dram = self.device.dram
        moved = (step.access.bytes for step in leaves(body) if isinstance(step, FlatSend))
        first = min(dram.gathered_bytes, max(moved, default=0))
        return self.cycles(dram.latency_seconds) + math.ceil(first / dma.bytes_per_cycle)

    def _instance(self, shared_by: SharedBy, tile: tuple[int, int]) -> int:
        row, column = tile
        core = row * self.device.columns + column
        return {SharedBy.CORE: core, SharedBy.COLUMN: column, SharedBy.ARRAY: 0}[shared_by]

    def _link_name(self, link: Link, side: Side, instance: int) -> str:
        return f"{link.name} {instance} {side.value}"


def _dram_ports(side: Side) -> tuple[str, ...]:
    return (DRAM_READ if side is Side.OUT else DRAM_WRITE, DRAM_TOTAL)
