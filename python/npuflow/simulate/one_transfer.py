"""A program of a single contiguous transfer, from one memory of a device to another one or to itself."""

from __future__ import annotations

from dataclasses import dataclass, replace

from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.program import (
    FlatBuffer,
    FlatEngine,
    FlatMemory,
    FlatReceive,
    FlatSend,
    FlatStream,
    Program,
    contiguous,
)
from npuflow.target import Device

_TILE = (0, 0)


@dataclass(frozen=True)
class OneTransfer:
    """So many bytes from the memory of one level to that of another, or of the same."""

    from_level: int
    to_level: int
    bytes: int

    def program(self, device: Device) -> Program:
        platform, ends = Platform(device), (("source", self.from_level), ("target", self.to_level))
        source, target = (contiguous(name, (self.bytes,), 1) for name, _ in ends)
        sent = (FlatSend("way", source),)
        received = (FlatReceive("way", target),)
        sender = platform.channel(self.from_level, Side.OUT, _TILE, 0, sent)
        receiver = platform.channel(self.to_level, Side.IN, _TILE, 0, received)
        if self.from_level == self.to_level:
            sender, receiver = (self._local(device, end) for end in (sender, receiver))
        return Program(
            engines=(sender, receiver),
            memories=tuple(FlatMemory(name, level, self.bytes) for name, level in ends),
            buffers=tuple(FlatBuffer(name, name, self.bytes) for name, _ in ends),
            resources=platform.resources(),
            streams=(self._stream(device, platform, sender.name, receiver.name),),
            clock_hz=device.clock_hz,
        )

    def _local(self, device: Device, end: FlatEngine) -> FlatEngine:
        """An end of a transfer that stays in one memory: nothing is gathered for another one."""
        latency = Platform(device).cycles(device.dram.latency_seconds) if end.latency_cycles else 0
        rate = device.dma(self.from_level).local_bytes_per_cycle or end.bytes_per_cycle
        return replace(end, bytes_per_cycle=rate, latency_cycles=latency)

    def _stream(self, device: Device, platform: Platform, sender: str, receiver: str) -> FlatStream:
        if self.from_level == self.to_level:
            return FlatStream("way", sender, (receiver,))
        outer, inner = max(self.from_level, self.to_level), min(self.from_level, self.to_level)
        link = platform.link(self.from_level, self.to_level, _TILE)
        return FlatStream("way", sender, (receiver,), (link,), device.link(outer, inner).latency_cycles)
