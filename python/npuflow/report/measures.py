"""What is measured of one function, as plain data: traffic, engines, rates, losses, memories, its ops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from npuflow.schedule.kernels.kernel_cycles import Reshape


class Bottleneck(Enum):
    """What a function's time is bound by: what would save most if it cost nothing."""

    COMPUTE = "compute"
    DRAM = "dram"
    DMA = "dma"
    CONTROL = "control"
    LAUNCH = "launch"


@dataclass(frozen=True)
class TensorTraffic:
    """What crosses from a level inward, and back out to it, for one tensor."""

    tensor: str
    read_bytes: int
    write_bytes: int
    compulsory_bytes: int


@dataclass(frozen=True)
class OpBound:
    """What an op moves at least between two levels; None where its best blocks are not known."""

    name: str
    compulsory_bytes: int
    lower_bound_bytes: int
    attainable_bytes: int | None


@dataclass(frozen=True)
class LevelTraffic:
    """Traffic between a memory level and the one inside of it.

    Compulsory is each operand once inward and each result once outward; no order of the computation moves less than
    the lower bound with the memory that lies inside. None where the function's ops are not known; `ops` has each.
    """

    level: str
    tensors: tuple[TensorTraffic, ...]
    compulsory_bytes: int
    lower_bound_bytes: int | None
    ops: tuple[OpBound, ...] = ()

    @property
    def read_bytes(self) -> int:
        return sum(tensor.read_bytes for tensor in self.tensors)

    @property
    def write_bytes(self) -> int:
        return sum(tensor.write_bytes for tensor in self.tensors)


@dataclass(frozen=True)
class EngineClass:
    """Like engines: the mean share of the run that they spent on each cause, idleness after their end included."""

    kind: str
    count: int
    shares: Mapping[str, float]
    busy_share: float
    busiest: str
    busiest_share: float


@dataclass(frozen=True)
class ResourceUse:
    """A shared rate: DRAM, or the link between two levels."""

    name: str
    share: float
    bytes: float


@dataclass(frozen=True)
class Loss:
    """A cost, and what a run without it saves. Savings overlap: they do not add up.

    `explained_by` names a narrower cost that alone accounts for nearly all of a broader one.
    """

    name: str
    what: str
    saved_us: float
    saved_share: float
    explained_by: str | None = None


@dataclass(frozen=True)
class Occupancy:
    """The fullest memory of a level."""

    level: str
    memory: str
    used_bytes: int
    usable_bytes: int
    memories_used: int
    memories: int
    bank_bytes: int = 0

    @property
    def share(self) -> float:
        return self.used_bytes / self.usable_bytes


@dataclass(frozen=True)
class OpNeeds:
    """One op of a function: `extents` are m, n, k and the batch of a matmul, and () of a bundle."""

    name: str
    extents: tuple[int, ...]
    macs: int


@dataclass(frozen=True)
class DataflowEdge:
    """What is moved along an edge of a dataflow in a whole run; it `stays` on the core between two ops.

    With more than one of its `slots`, the one op may make the next of it while the other reads this one.
    """

    value: str
    bytes: int
    stays: bool = False
    slots: int = 1


@dataclass(frozen=True)
class DataflowNode:
    """A level, a loop or an op: what comes to it from further out or from siblings, and what goes back."""

    what: str
    reads: tuple[DataflowEdge, ...]
    writes: tuple[DataflowEdge, ...]
    children: tuple[DataflowNode, ...]


@dataclass(frozen=True)
class Reshapes:
    """What reshaping lines of pixels to images does: the same schedule's cycles before that, and its kernels."""

    cycles_before: int
    kernels: Mapping[str, Reshape]
