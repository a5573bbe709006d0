"""From a bufferized function to its schedule: read, reroll, project."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.frontend.contraction import STRATEGY
from npuflow.schedule.addresses import assign_addresses
from npuflow.schedule.describe_kernels import describe_kernel
from npuflow.schedule.kernel_cycles import KernelShape, kernel_cycles
from npuflow.schedule.model import Schedule
from npuflow.schedule.nest import L3, Kernel, Nest, Transfer, walk
from npuflow.schedule.project import kernel_name, project
from npuflow.schedule.read_nest import read_nest
from npuflow.schedule.reroll import reroll
from npuflow.schedule.tasks import Tasks
from npuflow.strategy.strategy import strategy_fields
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
    function: ir.Operation, device: Device, kernel_kind: str = "", *, overlapped: bool = True
) -> Scheduled:
    """The schedule of a bufferized function; raises InputError, located, for what cannot be scheduled.

    `kernel_kind` is one of the device's, and says how well its matmul kernels do; default: the device's first. Without
    `overlapped`, a block's descriptors are set up only when the block before is written.
    """
    nest, kernels = read_nest(function)
    reroll(nest)
    tasks = Tasks(device.dma(3), overlapped)
    shapes = tuple(map(describe_kernel, kernels))
    cycles = {key: kernel_cycles(shape, device, kernel_kind) for key, shape in enumerate(shapes)}
    schedule = project(nest, device.columns, tasks, _depths(nest, kernels), cycles)
    assign_addresses(schedule, device)
    return Scheduled(schedule, nest, tuple(kernels), shapes, device, kernel_kind)


def _depths(nest: Nest, kernels: list[ir.Operation]) -> dict[str, int]:
    """Slots of the buffers in L1 and L2, as the strategy on each matmul says."""
    depths: dict[str, int] = {}
    for statement, _ in walk(nest.body):
        if not isinstance(statement, Kernel) or statement.kind != "matmul":
            continue
        fields = _fields(kernels[statement.key])
        for buffer in statement.reads[:2]:
            depths[buffer.name] = int(fields.get("depth_l1", 1))  # type: ignore[arg-type]
            for feeder, _ in walk(nest.body):
                if isinstance(feeder, Transfer) and feeder.target.buffer is buffer:
                    depths[feeder.source.buffer.name] = int(fields.get("depth_l2", 1))  # type: ignore[arg-type]
        depth_result = int(fields.get("depth_result", 1))  # type: ignore[arg-type]
        depths |= dict.fromkeys(_result_buffers(nest, statement), depth_result)
    return depths


def _result_buffers(nest: Nest, kernel: Kernel) -> set[str]:
    """What a matmul's sum goes through on its way out, in L1 and L2."""
    found = {buffer.name for buffer in kernel.writes}
    for statement, _ in walk(nest.body):
        if isinstance(statement, Kernel) and found & {buffer.name for buffer in statement.reads}:
            found |= {buffer.name for buffer in statement.writes}
        elif (
            isinstance(statement, Transfer)
            and statement.source.buffer.name in found
            and statement.target.buffer.space != L3
        ):
            found.add(statement.target.buffer.name)
    return found


def _fields(op: ir.Operation) -> dict[str, int | tuple[int, ...]]:
    return strategy_fields(op.attributes[STRATEGY]) if STRATEGY in op.attributes else {}
