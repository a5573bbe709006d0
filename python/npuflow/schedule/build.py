"""From a bufferized function to its schedule: read, reroll, hoist, project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from npuflow.bindings import ir
from npuflow.network.between import BETWEEN
from npuflow.ops.contraction import BUNDLE, LHS, RHS, STRATEGY
from npuflow.schedule.assign.assign_numbers import descriptors_taken, numbered
from npuflow.schedule.assign.descriptors import descriptors_set_up
from npuflow.schedule.check.capacity import lacks_locks
from npuflow.schedule.check.legality import lacks_descriptors
from npuflow.schedule.data.addresses import assign_addresses
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.kernels.describe_kernels import describe_kernel
from npuflow.schedule.kernels.kernel_cycles import KernelShape, kernel_cycles
from npuflow.schedule.kernels.kernel_groups import kernel_classes, with_neighbours
from npuflow.schedule.kernels.unify_kernels import unify_kernels
from npuflow.schedule.nest.folds import fold_blocks
from npuflow.schedule.nest.hoist import hoist
from npuflow.schedule.nest.load_first import load_first
from npuflow.schedule.nest.nest import L3, BufferInfo, Kernel, Nest, Transfer, walk
from npuflow.schedule.nest.read_nest import read_nest
from npuflow.schedule.nest.reroll import reroll
from npuflow.schedule.project.bypass import bypass_l2
from npuflow.schedule.project.lanes import Lanes, even_lanes, other_lanes
from npuflow.schedule.project.project import kernel_name, project
from npuflow.schedule.project.rings import Rings
from npuflow.schedule.project.routes import Routes
from npuflow.schedule.project.tasks import Tasks
from npuflow.strategy.group import MatmulOperand
from npuflow.strategy.lane_descriptors import TileDma
from npuflow.strategy.mapping import slots_of
from npuflow.strategy.strategy import said_of
from npuflow.target import Device, KernelClass


@dataclass(frozen=True)
class Scheduled:
    """A function's schedule; `kernels[key]` is the linalg op that a Compute step with that key stands for."""

    schedule: Schedule
    nest: Nest
    kernels: tuple[ir.Operation, ...]
    shapes: tuple[KernelShape, ...]
    device: Device
    kernel_kind: str = ""

    def kernel_cycles(self) -> dict[str, int]:
        """The predicted time of one call of each kernel."""
        return {
            kernel_name(key): kernel_cycles(shape, self.device, self.kernel_kind)
            for key, shape in enumerate(self.shapes)
        }


def build_schedule(
    function: ir.Operation,
    device: Device,
    kernel_kind: str = "",
    *,
    together: tuple[int, int] | None = None,
    folded: int = 0,
    hoisted: bool = True,
) -> Scheduled:
    """The schedule of a bufferized function; raises InputError, located, for what cannot be scheduled.

    `kernel_kind` is one of the device's, and says how well its kernels do; default: the device's first for a matmul's
    types. With `together`, so many rows and columns of blocks are set up ahead; the next only when these are written.
    With `folded`, so many blocks are one task for each channel, and the next are set up only when these are written;
    what all of them read alike comes for each.
    Not `hoisted`, what all blocks need alike is moved for each of them.
    """
    nest, kernels = read_nest(function)
    device = device.arranged(*nest.grid)
    reroll(nest)
    if not device.has_level(2):
        bypass_l2(nest)
    if hoisted:
        hoist(nest)
    shapes = with_neighbours(nest, tuple(map(describe_kernel, kernels)), device)
    cycles = {key: kernel_cycles(shape, device, kernel_kind) for key, shape in enumerate(shapes)}
    calls = _Calls(cycles, kernel_classes(nest, shapes, device))
    depths = _depths(nest, kernels) | _depths_between(nest, kernels, calls.classes)
    unify_kernels(nest, shapes, calls.classes)
    waits = fold_blocks(nest, folded) if folded else frozenset[str]()
    tasks = partial(Tasks, device.dma(device.dram_level), together, waits=waits)
    ahead = _queued(device) if BETWEEN in function.attributes else 0
    schedule = _project(nest, depths, calls, device, tasks, ahead)
    if lacks_locks(schedule, device):
        load_first(nest)
        schedule = _project(nest, depths, calls, device, tasks, ahead)
    if not assign_addresses(schedule, device):
        in_turn = _project(nest, depths, calls, device, partial(tasks, in_turn=True), ahead)
        schedule = in_turn if assign_addresses(in_turn, device) else schedule
    return Scheduled(schedule, nest, tuple(kernels), shapes, device, kernel_kind)


@dataclass(frozen=True)
class _Calls:
    """Of each kernel, by its key: how long a call takes, and the class of engines that runs it."""

    cycles: Mapping[int, int]
    classes: Mapping[int, KernelClass]


def _project(
    nest: Nest, depths: Mapping[str, int], calls: _Calls, device: Device, tasks: Callable[[], Tasks], ahead: int
) -> Schedule:
    """The first schedule that has enough descriptors, if any does; buffers share locks where there are too few.

    Lanes that spare descriptors come before zeros in L2, for which there may be no room; those of buffers that would be
    mostly zeros come last, since what is between them leaves DRAM in runs that are short. Tensors that take turns on a
    lane are set up one by one: where these are more than are set up `ahead`, any lanes are taken that need fewer. Else
    descriptors of memory tiles are worth more, which what stays there may need.
    """

    def projected(clips: int | None, lanes: Lanes | None = None) -> tuple[Routes, Schedule]:
        routes = Routes(nest, device, calls.classes, clips, lanes)
        for are_shared in (False, True):
            rings = Rings(nest, routes, depths, are_shared)
            schedule = project(nest, routes, tasks(), rings, calls.cycles)
            if not lacks_locks(schedule, device):
                break
        return routes, numbered(schedule, device)

    if not device.has_level(2):
        return projected(None)[1]
    for clips in (1, 2, None) if device.dma(2).pads_with_zeros else (None,):
        routes, schedule = projected(clips)
        if lacks_descriptors(schedule, device):
            even = even_lanes(nest, routes.lanes, descriptors_taken(schedule), device)
            routes, schedule = projected(clips, even)
            if not lacks_descriptors(schedule, device) and descriptors_set_up(schedule) > ahead:
                ways = other_lanes(nest, routes.parts, even, TileDma.of(device, nest.grid[0]))
                tried = [
                    way for way in (projected(clips, lanes) for lanes in ways) if not lacks_descriptors(way[1], device)
                ]
                routes, schedule = min([(routes, schedule), *tried], key=lambda way: descriptors_set_up(way[1]))
        if not routes.has_clips or not lacks_descriptors(schedule, device):
            break
    return schedule


def _queued(device: Device) -> int:
    """The tasks that wait in the queues of all channels beside DRAM: of phases, these may be set up ahead."""
    dma = device.dma(device.dram_level)
    return (dma.channels_in + dma.channels_out) * dma.queue_depth * dma.shared_by.instances(device.rows, device.columns)


_OPERANDS = {LHS: MatmulOperand.LHS, RHS: MatmulOperand.RHS}


def _depths(nest: Nest, kernels: list[ir.Operation]) -> dict[str, int]:
    """Slots of the buffers in L1 and L2, as the strategies on kernels' ops say.

    What is moved to a kernel has depth_l1, what that is moved from depth_l2, and everything on the way of its results
    out depth_result. What a matmul's tail reads beside the sum has depth_tail in both. What stays in L1 between kernels
    of one engine has one slot.
    """
    depths: dict[str, int] = {}
    transfers = [s for s, _ in walk(nest.body) if isinstance(s, Transfer)]
    for statement, _ in walk(nest.body):
        if not isinstance(statement, Kernel) or STRATEGY not in kernels[statement.key].attributes:
            continue
        op = kernels[statement.key]
        slots, is_matmul = slots_of(said_of(op)), BUNDLE not in op.attributes
        for index, buffer in enumerate(statement.reads):
            l2, l1 = slots.of(_OPERANDS.get(index) if is_matmul else None)
            feeders = [t for t in transfers if t.target.buffer is buffer and buffer not in statement.writes]
            for feeder in feeders:
                depths |= {buffer.name: l1, feeder.source.buffer.name: l2}
        depths |= dict.fromkeys(_result_buffers(nest, statement), slots.result)
        if is_matmul:
            read = _tail_buffers(nest, statement)
            fed_from = {t.source.buffer.name for t in transfers if t.target.buffer.name in read}
            depths |= dict.fromkeys(read | fed_from, slots.tail)
    return depths


def _depths_between(nest: Nest, kernels: list[ir.Operation], classes: Mapping[int, KernelClass]) -> dict[str, int]:
    """Slots of what kernels of different classes hand to each other, as the strategies on their ops say."""
    statements = [statement for statement, _ in walk(nest.body)]
    moved = {b for s in statements if isinstance(s, Transfer) for b in (s.source.buffer, s.target.buffer)}
    users: dict[BufferInfo, list[int]] = {}
    for kernel in (statement for statement in statements if isinstance(statement, Kernel)):
        for buffer in (*kernel.reads, *kernel.writes):
            users.setdefault(buffer, []).append(kernel.key)
    depths: dict[str, int] = {}
    for buffer, keys in users.items():
        if buffer not in moved and len({classes[key] for key in keys}) > 1:
            said = (slots_of(said_of(kernels[key])).between for key in keys if STRATEGY in kernels[key].attributes)
            depths[buffer.name] = max(said, default=1)
    return depths


def _tail_buffers(nest: Nest, matmul: Kernel) -> set[str]:
    """What kernels that read a matmul's sum read beside it, in L1."""
    made = {buffer.name for buffer in matmul.writes}
    tails = [s for s, _ in walk(nest.body) if isinstance(s, Kernel) and s is not matmul]
    return {
        buffer.name
        for tail in tails
        if made & {buffer.name for buffer in tail.reads}
        for buffer in tail.reads
        if buffer.name not in made
    }


def _result_buffers(nest: Nest, kernel: Kernel) -> set[str]:
    """What a kernel's results go through on their way out, in L1 (the last one) and L2."""
    touched = {buffer.name for buffer in kernel.writes}
    moved: set[str] = set()
    for statement, _ in walk(nest.body):
        if isinstance(statement, Kernel) and touched & {buffer.name for buffer in statement.reads}:
            touched |= {buffer.name for buffer in statement.writes}
        elif isinstance(statement, Transfer) and statement.source.buffer.name in touched | moved:
            moved |= {end.buffer.name for end in (statement.source, statement.target) if end.buffer.space != L3}
    return moved
