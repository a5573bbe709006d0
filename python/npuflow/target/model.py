"""What a device is made of: memory levels, engines, links, hops, DRAM and control.

The classes mirror the tables of a device file one to one; `read` fills them. A field's bounds stand in its
declaration, so that the reader, the documentation and the type agree. Nothing here knows a vendor: an array with
memory tiles has levels 1, 2 and 3; a cluster machine whose cores share nothing but DRAM has levels 1 and 3.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from npuflow.target.fields import (
    LEAST_RATE,
    MOST_BYTES,
    MOST_CYCLES,
    MOST_RATE,
    MOST_SECONDS,
    between,
)
from npuflow.target.runs import DramRuns


class SharedBy(Enum):
    """One instance of a memory or an engine exists for each of these."""

    CORE = "core"
    COLUMN = "column"
    ARRAY = "array"

    def instances(self, rows: int, columns: int) -> int:
        """How many there are under a grid of `rows` x `columns` cores."""
        return {SharedBy.CORE: rows * columns, SharedBy.COLUMN: columns, SharedBy.ARRAY: 1}[self]


@dataclass(frozen=True, kw_only=True)
class MemoryLevel:
    """A kind of memory; number 1 is the cores' own, a larger number is further from them, the largest is DRAM."""

    name: str
    number: int = between(1, 3)
    bytes: int = between(1, MOST_BYTES)
    shared_by: SharedBy
    reserved_bytes: int = between(0, MOST_BYTES, default=0)
    banks: int = between(1, 1024, default=1)
    alignment_bytes: int = between(1, 65536, default=1)

    @property
    def usable_bytes(self) -> int:
        return self.bytes - self.reserved_bytes


@dataclass(frozen=True, kw_only=True)
class PatternLimits:
    """What one descriptor of a DMA engine can address.

    A pattern has up to `dims` dimensions, innermost contiguous or strided, and an outer iteration that steps its
    base address; sizes and strides count granules, the unit an engine moves.
    """

    dims: int = between(1, 16)
    granule_bytes: int = between(1, 4096)
    size_max: int = between(1, MOST_BYTES)
    stride_max: int = between(1, MOST_BYTES)
    length_max: int = between(1, MOST_BYTES)
    iteration_max: int = between(0, MOST_BYTES, default=0)


@dataclass(frozen=True, kw_only=True)
class DmaEngine:
    """The DMA engine beside each memory of a level: channels into that memory and channels out of it.

    There is one for each of `shared_by`, beside a `place`, as messages call it. All channels of an engine and direction
    together move `port_bytes_per_cycle`; 0 sets no limit beside their own. A transfer from a memory to itself, which
    reads and writes it at once, moves `local_bytes_per_cycle` (0: as any other). One beside DRAM may also move what is
    in the memories of the level that it `reaches`, on the chip (0: none).
    """

    name: str
    level: int = between(1, 3)
    place: str
    shared_by: SharedBy
    channels_in: int = between(0, 1024)
    channels_out: int = between(0, 1024)
    bytes_per_cycle: float = between(LEAST_RATE, MOST_RATE)
    descriptors: int = between(1, 10**6)
    locks: int = between(0, 10**6)
    lock_max: int = between(0, 10**9)
    queue_depth: int = between(1, 10**6)
    start_cycles: int = between(0, MOST_CYCLES)
    pattern: PatternLimits
    descriptor_groups: int = between(1, 64, default=1)
    neighbour_channels: int = between(0, 1024, default=0)
    pads_with_zeros: bool = False
    port_bytes_per_cycle: float = between(0, MOST_RATE, default=0.0)
    local_bytes_per_cycle: float = between(0, MOST_RATE, default=0.0)
    reaches: int = between(0, 3, default=0)


class KernelClass(Enum):
    """What kind of engine a kernel is for: one with matrix instructions, or one for everything else."""

    MATRIX = "matrix"
    VECTOR = "vector"


class Runs(Enum):
    """Which classes of kernels an engine runs."""

    MATRIX = "matrix"
    VECTOR = "vector"
    ALL = "all"

    def includes(self, kernels: KernelClass) -> bool:
        return self in (Runs.ALL, Runs(kernels.value))


@dataclass(frozen=True, kw_only=True)
class ComputeEngine:
    """An engine that runs kernels on what lies in `level`; rates of matrix work stand in the `matmul` tables."""

    name: str
    level: int = between(1, 3)
    runs: Runs
    shared_by: SharedBy
    count: int = between(1, 1024)
    vector_bytes: int = between(1, 65536)
    call_cycles: int = between(0, MOST_CYCLES)
    program_bytes: int = between(0, MOST_BYTES, default=0)
    instruction_bytes: int = between(1, 1024, default=16)
    clock_hz: float = between(0, 1e12, default=0.0)


@dataclass(frozen=True, kw_only=True)
class Link:
    """Wires between the memories of two levels; `lanes` of them per `shared_by`, each way."""

    name: str
    outer_level: int = between(1, 3)
    inner_level: int = between(1, 3)
    shared_by: SharedBy
    lanes: int = between(1, 1024)
    bytes_per_cycle: float = between(LEAST_RATE, MOST_RATE)
    latency_cycles: int = between(0, MOST_CYCLES)
    multicast: bool = False


@dataclass(frozen=True, kw_only=True)
class Hop:
    """A way from the memories of a level to those of another: its two ends as schedules name them, and its lanes.

    A lane is a channel of the receiver, with one of the sender that feeds it.
    """

    from_level: int = between(1, 3)
    to_level: int = between(1, 3)
    sender: str
    receiver: str
    lanes: int = between(1, 64, default=1)

    @property
    def levels(self) -> tuple[int, int]:
        return (self.from_level, self.to_level)


@dataclass(frozen=True, kw_only=True)
class Dram:
    """The outermost memory's rates; a contiguous run of r bytes costs the time of r + run_overhead_bytes.

    A run that begins in another page of `page_bytes` than the run before costs `page_overhead_bytes` more: of runs
    that begin p bytes apart, that is the share p / page_bytes, and all from p = page_bytes on.

    Memory moves bursts of `burst_bytes`: each end of a run that isn't at the edge of one costs `edge_overhead_bytes`.

    With `joins_runs`, runs of neighbouring channels that adjoin, as columns' parts of a row do, share one overhead.

    A read's first `gathered_bytes` are brought together before any of them goes on to another memory.

    What pays for runs is the port of the DMA engine that asks for them; where it has none of its own, the rate here.
    """

    read_bytes_per_second: float = between(1e3, 1e16)
    write_bytes_per_second: float = between(1e3, 1e16)
    total_bytes_per_second: float = between(1e3, 1e16)
    latency_seconds: float = between(0, MOST_SECONDS)
    read_run_overhead_bytes: float = between(0, MOST_RATE)
    write_run_overhead_bytes: float = between(0, MOST_RATE)
    joins_runs: bool = False
    page_bytes: int = between(1, MOST_BYTES, default=1)
    page_overhead_bytes: float = between(0, MOST_RATE, default=0.0)
    burst_bytes: int = between(1, MOST_BYTES, default=1)
    edge_overhead_bytes: float = between(0, MOST_RATE, default=0.0)
    gathered_bytes: int = between(0, MOST_BYTES, default=0)

    def run_overhead_bytes(self, runs: DramRuns, *, write: bool) -> float:
        """What each of these runs costs beside its bytes."""
        overhead = self.write_run_overhead_bytes if write else self.read_run_overhead_bytes
        opened = min(1.0, runs.pitch_bytes / self.page_bytes) * self.page_overhead_bytes
        return overhead + opened + runs.ends_off_bursts(self.burst_bytes) * self.edge_overhead_bytes


@dataclass(frozen=True, kw_only=True)
class Control:
    """The processor that sets up the outermost DMA engines' descriptors and waits for their tasks."""

    descriptor_seconds: float = between(0, MOST_SECONDS)
    launch_seconds: float = between(0, MOST_SECONDS)
    reconfigure_seconds: float = between(0, MOST_SECONDS)
    relaunch_seconds: float = between(0, MOST_SECONDS, default=0.0)
    program_seconds: float = between(0, MOST_SECONDS, default=0.0)
    start_seconds: float = between(0, MOST_SECONDS, default=0.0)
    packet_seconds: float = between(0, MOST_SECONDS, default=0.0)
    packet_bytes_per_second: float = between(1e3, 1e16, default=1e9)

    @property
    def loads_one_by_one(self) -> bool:
        """Whether each tile is loaded by itself between phases, as nothing is known of packets that bring it."""
        return self.program_seconds > 0 and not self.packet_seconds


@dataclass(frozen=True, kw_only=True)
class StackLaunch:
    """How long a launch takes with one stack of compiler and runtime, where that isn't `Control.launch_seconds`.

    `core_seconds` are for each core in use, where launches set these up as well.
    """

    stack: str
    seconds: float = between(0, MOST_SECONDS)
    core_seconds: float = between(0, MOST_SECONDS, default=0.0)


@dataclass(frozen=True, kw_only=True)
class Gear:
    """A setting of a device's clocks in which DRAM answers in another time, and its DMA engine starts in another."""

    name: str
    start_cycles: int = between(0, MOST_CYCLES)
    latency_seconds: float = between(0, MOST_SECONDS)
