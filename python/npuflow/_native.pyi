from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

_Affine = tuple[int, Sequence[int]]

def version() -> str: ...

_Demand = tuple[int, int, int, int]  # lower, upper, size, alignment

class PackingOutcome:
    @property
    def verdict(self) -> str: ...
    @property
    def offsets(self) -> list[int]: ...
    @property
    def steps(self) -> int: ...

def pack(demands: Sequence[_Demand], capacity: int, seconds: float) -> PackingOutcome: ...
def first_fit(demands: Sequence[_Demand], order: Sequence[int]) -> list[int]: ...

class Fault(RuntimeError): ...  # noqa: N818  (the C++ name)
class Deadlock(Fault): ...

class ProgramBuilder:
    def __init__(self) -> None: ...
    def add_memory(self, name: str, size: int, is_near: bool = ...) -> int: ...
    def add_buffer(self, name: str, memory: int, address_bytes: int, slot_bytes: int, depth: int, /) -> int: ...
    def add_semaphore(self, name: str, initial: int, maximum: int, cause: int, /) -> int: ...
    def add_resource(self, name: str, bytes_per_cycle: float, /) -> int: ...
    def add_kernel(self, name: str, /) -> int: ...
    def add_stream(
        self, name: str, sender: int, receivers: Sequence[int], links: Sequence[int], latency_cycles: int, /
    ) -> int: ...
    def add_access(
        self,
        buffer: int,
        element_bytes: int,
        offset: _Affine,
        slot: _Affine,
        sizes: Sequence[int],
        strides: Sequence[int],
        limits: Sequence[tuple[Sequence[int], _Affine]],
        zero_outside: bool,
        run_overhead_bytes: float,
        /,
    ) -> int: ...
    def add_engine(
        self,
        name: str,
        bytes_per_cycle: float,
        ports: Sequence[int],
        start_cycles: int,
        latency_cycles: int,
        /,
    ) -> int: ...
    def begin_loop(self, trips: int, /) -> None: ...
    def end_loop(self) -> None: ...
    def acquire(self, name: str, semaphore: int, count: int, /) -> None: ...
    def release(self, name: str, semaphore: int, count: int, /) -> None: ...
    def send(self, name: str, stream: int, access: int, /) -> None: ...
    def receive(self, name: str, stream: int, access: int, /) -> None: ...
    def compute(
        self, name: str, kernel: int, cycles: int, operands: Sequence[tuple[int, bool, bool, bool]], /
    ) -> None: ...
    def control(self, name: str, cycles: int, /) -> None: ...
    def link(self, engines: Sequence[ProgramBuilder], /) -> list[tuple[int, str, str]]: ...
    @property
    def kernels(self) -> list[str]: ...
    def watching_bytes(self) -> int: ...
    def problems(self) -> list[str]: ...
    def copied(self) -> ProgramBuilder: ...
    def set_memory(self, memory: int, size_bytes: int, /) -> None: ...
    def set_buffer(self, buffer: int, address_bytes: int, depth: int, /) -> None: ...
    def set_semaphore(self, semaphore: int, initial: int, maximum: int, /) -> None: ...
    def set_resource(self, resource: int, bytes_per_cycle: float, /) -> None: ...
    def set_stream(self, stream: int, latency_cycles: int, /) -> None: ...
    def set_engine(self, engine: int, bytes_per_cycle: float, start_cycles: int, latency_cycles: int, /) -> None: ...
    def set_cycles(self, engine: int, op: int, cycles: int, /) -> None: ...
    def set_run_overhead(self, engine: int, op: int, overhead_bytes: float, /) -> None: ...

class Data:
    def __init__(
        self,
        memories: Sequence[NDArray[np.uint8]],
        written: Sequence[bool],
        kernels: Sequence[tuple[int, bool]],
        done: NDArray[np.int64] | None = None,
    ) -> None: ...

class RawEngineTime:
    @property
    def spent(self) -> list[int]: ...
    @property
    def finished(self) -> int: ...

class RawTraffic:
    @property
    def read_bytes(self) -> int: ...
    @property
    def written_bytes(self) -> int: ...

class RawHazard:
    @property
    def kind(self) -> int: ...
    @property
    def op(self) -> int: ...
    @property
    def other(self) -> int: ...
    @property
    def memory(self) -> int: ...
    @property
    def low_byte(self) -> int: ...
    @property
    def high_byte(self) -> int: ...
    @property
    def cycle(self) -> int: ...

class RawResults:
    @property
    def cycles(self) -> int: ...
    @property
    def operations(self) -> int: ...
    @property
    def engines(self) -> list[RawEngineTime]: ...
    @property
    def resource_bytes(self) -> list[float]: ...
    @property
    def stream_bytes(self) -> list[int]: ...
    @property
    def buffers(self) -> list[RawTraffic]: ...
    @property
    def semaphore_waits(self) -> list[int]: ...
    @property
    def semaphore_values(self) -> list[int]: ...
    @property
    def trace_is_cut(self) -> bool: ...
    @property
    def hazards(self) -> list[RawHazard]: ...
    def trace(self) -> NDArray[np.int64]: ...

def simulate(
    program: ProgramBuilder,
    most_steps: int,
    most_trace_events: int,
    data: Data | None,
    skips_repeats: bool = True,
) -> RawResults: ...
def order_loads(
    rows: int, columns: int, capacity: int, is_lru: bool, order: Sequence[tuple[int, int]], /
) -> list[int]: ...
def search_order(
    rows: int, columns: int, capacity: int, is_lru: bool, known_loads: int, most_states: int, /
) -> tuple[int, list[tuple[int, int]]]: ...

# A way to stay, the time that it wins, and by how much longer its phases take.
_HomeOption = tuple[HomeWay, float, float]
# A tensor's number, that of its option and of the place of this, and an address for each slab.
_HomeNumbers = tuple[int, int, int, list[int]]

class SlabRoom:
    def __init__(
        self,
        tile_bytes: int,
        alignment_bytes: int,
        needed: Sequence[tuple[int, int, int]],
        channels: Sequence[tuple[int, int, bool, int]],
    ) -> None: ...

class HomeWay:
    def __init__(
        self,
        slab_bytes: int,
        first: int,
        last: int,
        places: Sequence[Sequence[int]],
        moves: Sequence[tuple[int, bool]],
    ) -> None: ...

def search_homes(
    tensors: Sequence[Sequence[_HomeOption]], room: SlabRoom, most_choices: int, most_orders: int, most_changes: int
) -> tuple[list[_HomeNumbers], int]: ...
def home_beside(
    way: HomeWay, others: Sequence[tuple[HomeWay, Sequence[int], Sequence[int]]], room: SlabRoom
) -> tuple[int, list[int]] | None: ...

# Of mapped groups: rows, columns, and the loops that these follow.
SpreadNumbers = tuple[int, int, int, int]
# Slots in L2 and L1, of results, of what a tail reads, of what engines hand to each other; whether L2 holds; operands'
# own slots.
_DepthNumbers = tuple[int, int, int, int, int, bool, Sequence[int] | None, Sequence[int] | None]
# Tiles, spread, depths, order, pieces in L2, and whether L2 has all of these at a time.
MappingNumbers = tuple[Sequence[int], SpreadNumbers, _DepthNumbers, Sequence[int], Sequence[int], bool]
# Role, operand, dimensions as terms and a size, bytes of an element, whether it is gathered, its first and last
# user, whether engines hand it to each other.
TensorNumbers = tuple[
    int, int, Sequence[tuple[Sequence[tuple[int, int]], int]], int, bool, tuple[int, int], bool, bool, bool
]
# A tensor's number, a slot's bytes, slots, and a slot's bytes in the fullest memory tile.
_BufferNumbers = tuple[int, float, int, float]
# What a mapping costs.
_RankedNumbers = tuple[float, MappingNumbers]
# Bytes, how often its part comes, channels, descriptors, DRAM's seconds, and whether it is set up first.
_TransferNumbers = tuple[float, float, int, float, float, bool]

# What an op takes for each result, the loops that make them, and loops of which instructions take multiples.
_ResultNumbers = tuple[float, Sequence[int], Sequence[tuple[Sequence[int], int]]]

class DescriptorLimits:
    def __init__(
        self, dims: int, granule_bytes: int, size_max: int, stride_max: int, length_max: int, iteration_max: int
    ) -> None: ...

def fit_pattern(dims: Sequence[tuple[int, int]], element_bytes: int, limits: DescriptorLimits) -> tuple[int, bool]: ...
def merged_pattern(dims: Sequence[tuple[int, int]]) -> list[tuple[int, int]]: ...

class DramRates:
    def __init__(
        self,
        read_rate: float,
        write_rate: float,
        total_rate: float,
        read_overhead: float,
        write_overhead: float,
        page_overhead: float,
        edge_overhead: float,
        page_bytes: int,
        burst_bytes: int,
        joins_runs: bool,
    ) -> None: ...

class CoreRoom:
    def __init__(
        self, bytes_per_second: float, capacity: float, alignment: int, descriptors: int, lock_max: int
    ) -> None: ...

class TileLanes:
    def __init__(self, channels_out: int, groups: int, lanes: int, leaving: int, pattern: DescriptorLimits) -> None: ...

class BlockRoom:
    def __init__(
        self,
        capacity: float,
        columns: int,
        descriptors: int,
        lock_max: int,
        lanes: TileLanes,
        pads_with_zeros: bool,
    ) -> None: ...

class DirectWays:
    def __init__(self, are_taken: bool, lanes: int, start_seconds: float) -> None: ...

class MachineRates:
    def __init__(
        self,
        clock_hz: float,
        descriptor_seconds: float,
        channel_rate: float,
        latency_seconds: float,
        begin_l2_seconds: float,
        begin_l1_seconds: float,
        link_rate: float,
        queue: int,
        outermost: DescriptorLimits,
        dram: DramRates,
        core: CoreRoom,
        tile: BlockRoom,
        direct: DirectWays,
    ) -> None: ...

class FlatGroup:
    def __init__(
        self,
        sizes: Sequence[int],
        space: int,
        streamed: Sequence[int],
        tensors: Sequence[TensorNumbers],
        work: Sequence[tuple[Sequence[int], bool, bool]],
        pads_streamed: bool,
        is_packed: bool,
    ) -> None: ...
    def l1_buffers(self, mapping: MappingNumbers) -> list[_BufferNumbers]: ...
    def l2_buffers(self, mapping: MappingNumbers, columns: int, clips: bool) -> list[_BufferNumbers]: ...
    def l1_descriptors(self, mapping: MappingNumbers) -> int: ...
    def l2_descriptors(self, mapping: MappingNumbers, serving: int, lanes: TileLanes, clips: bool) -> int: ...
    def fits_l1(self, mapping: MappingNumbers, machine: MachineRates) -> bool: ...
    def fits_l2(self, mapping: MappingNumbers, machine: MachineRates) -> bool: ...
    def fits(self, mapping: MappingNumbers, machine: MachineRates) -> bool: ...

class EstimateParts:
    @property
    def seconds(self) -> float: ...
    @property
    def core_seconds(self) -> float: ...
    @property
    def busy_dram_seconds(self) -> float: ...
    @property
    def setting_up_seconds(self) -> float: ...
    @property
    def cost(self) -> float: ...

class FlatSpace:
    def __init__(
        self,
        group: FlatGroup,
        start: MappingNumbers,
        spreads: Sequence[SpreadNumbers],
        parts: Sequence[SpreadNumbers],
        open_loops: Sequence[int],
        units: Sequence[int],
        slots: Sequence[int],
        opens_order: bool,
        opens_l2: bool,
        has_idle_cores: bool,
    ) -> None: ...

class Estimator:
    def __init__(
        self,
        group: FlatGroup,
        machine: MachineRates,
        cycles: Callable[[int, Sequence[int]], float],
        least_cycles: Sequence[tuple[float, float, bool]],
    ) -> None: ...
    def parts(self, mapping: MappingNumbers) -> EstimateParts: ...
    def played_cost(self, mapping: MappingNumbers) -> float: ...
    def transfers(self, mapping: MappingNumbers) -> list[_TransferNumbers]: ...
    def beside(self, space: FlatSpace, mapping: MappingNumbers) -> list[MappingNumbers]: ...
    def search(
        self, space: FlatSpace, keep: int, known: float, most: int
    ) -> tuple[list[_RankedNumbers], list[_RankedNumbers], int, bool]: ...
    def least_time(
        self, space: FlatSpace, results: Sequence[_ResultNumbers], most: int
    ) -> tuple[float, float, float, float, float, float, float, MappingNumbers] | None: ...

def row_tiles(rows: int, columns: int) -> int: ...
def evenest_lanes(
    moved: Sequence[tuple[int, int, bool]], results: tuple[int, int], rows: int, lanes: TileLanes
) -> tuple[list[int], list[bool]]: ...
def fullest_group(
    moved: Sequence[tuple[int, int, bool]],
    choice: tuple[Sequence[int], Sequence[bool]],
    results: tuple[int, int],
    rows: int,
    lanes: TileLanes,
) -> int: ...
