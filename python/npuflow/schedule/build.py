"""From a bufferized function to its schedule: read, reroll, hoist, project."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.frontend.contraction import STRATEGY
from npuflow.schedule.addresses import assign_addresses
from npuflow.schedule.describe_kernels import describe_kernel
from npuflow.schedule.hoist import hoist
from npuflow.schedule.kernel_cycles import KernelShape, kernel_cycles
from npuflow.schedule.kernel_groups import with_neighbours
from npuflow.schedule.legality import lacks_descriptors
from npuflow.schedule.model import Schedule
from npuflow.schedule.nest import L3, Kernel, Nest, Transfer, walk
from npuflow.schedule.project import kernel_name, project
from npuflow.schedule.read_nest import read_nest
from npuflow.schedule.reroll import reroll
from npuflow.schedule.routes import Routes
from npuflow.schedule.tasks import Tasks
from npuflow.strategy.bundle_strategy import depths_of
from npuflow.target import Device


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
    hoisted: bool = True,
) -> Scheduled:
    """The schedule of a bufferized function; raises InputError, located, for what cannot be scheduled.

    `kernel_kind` is one of the device's, and says how well its kernels do; default: the device's first for a matmul's
    types. With `together`, so many rows and columns of blocks are set up ahead; the next only when these are written.
    Not `hoisted`, what all blocks need alike is moved for each of them.
    """
    nest, kernels = read_nest(function)
    reroll(nest)
    if hoisted:
        hoist(nest)
    shapes = with_neighbours(nest, tuple(map(describe_kernel, kernels)), device)
    cycles = {key: kernel_cycles(shape, device, kernel_kind) for key, shape in enumerate(shapes)}
    depths = _depths(nest, kernels)
    routes = Routes(nest, device.columns, device.dma(2).channels_out, device.dma(2).pads_with_zeros)
    schedule = project(nest, routes, Tasks(device.dma(3), together), depths, cycles)
    if routes.has_clips and lacks_descriptors(schedule, device):
        routes = Routes(nest, device.columns, device.dma(2).channels_out)
        schedule = project(nest, routes, Tasks(device.dma(3), together), depths, cycles)
    assign_addresses(schedule, device)
    return Scheduled(schedule, nest, tuple(kernels), shapes, device, kernel_kind)


def _depths(nest: Nest, kernels: list[ir.Operation]) -> dict[str, int]:
    """Slots of the buffers in L1 and L2, as the strategies on kernels' ops say.

    What is moved to a kernel has depth_l1, what that is moved from depth_l2, and everything on the way of its results
    out depth_result. What stays in L1 between kernels has one slot.
    """
    depths: dict[str, int] = {}
    transfers = [s for s, _ in walk(nest.body) if isinstance(s, Transfer)]
    for statement, _ in walk(nest.body):
        if not isinstance(statement, Kernel) or STRATEGY not in kernels[statement.key].attributes:
            continue
        op = kernels[statement.key]
        for index, buffer in enumerate(statement.reads):
            said = depths_of(op, index)
            feeders = [t for t in transfers if t.target.buffer is buffer and buffer not in statement.writes]
            for feeder in feeders:
                depths |= {buffer.name: said.l1, feeder.source.buffer.name: said.l2}
        depths |= dict.fromkeys(_result_buffers(nest, statement), depths_of(op).result)
    return depths


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
