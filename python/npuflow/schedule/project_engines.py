"""npuflow-project-engines: bufferized functions to schedules."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext, fail, ops_of
from npuflow.core.registry import register_pass
from npuflow.dialect.device import chosen_device
from npuflow.errors import InputError
from npuflow.execute.arrays import may_run
from npuflow.strategy.work import keep_work
from npuflow.target import Device

_CONSTANT = ("linalg.fill", "linalg.yield")


@register_pass
@dataclass(frozen=True)
class ProjectEngines(Pass):
    """Replaces each public bufferized function by its schedule: the program as each engine of the device sees it.

    A schedule is a module of buffers, semaphores, streams and kernels, with one function per kind of engine; like
    engines share a function that takes their coordinates. Its size depends on the number of distinct transfers and
    kernels, not on sizes or the array. Channels, descriptors and locks have numbers: of like ones beside one memory a
    list, in the order of their coordinates. `npu.class` says of a kernel which class of engines runs it.

        scf.for %k ... {
          memref.copy %a_l3, %a_l2 : memref<64x256xi32, ...> to memref<64x256xi32, 1>

    becomes

        func.func @shim_out0(%tile: index) attributes {npu.engine = #npu.engine<{channels = [0], ...}>} {
          scf.for %k = ... {
            "npu.send"(%k, %tile) {buffer = @arg0, sizes = [32, 256], strides = [2048, 1],
              npu.descriptors = {count = 4, first = [0]}, ...}
        func.func @memory_in0(%tile: index) ... {
          scf.for %k = ... {
            "npu.acquire"(%tile) {semaphore = @l2_1_memory_out0_to_memory_in0, ...}
            "npu.receive"(%k, %tile) {buffer = @l2_1, sizes = [32, 256], strides = [256, 1], ...}
            "npu.release"(%tile) {semaphore = @l2_1_memory_in0_to_memory_out0, ...}
    """

    name = "npuflow-project-engines"
    group = "schedule"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        # What schedules are made of is for those who make one, not for every start of a command line.
        from npuflow.schedule.ir.emit import ENGINE
        from npuflow.schedule.ir.read_schedule import schedules_of

        device = chosen_device(op, self.device)
        inside = {f for schedule in schedules_of(op) for f in ops_of(schedule, "func.func")}
        for function in ops_of(op, "func.func"):
            if function in inside or ENGINE in function.attributes or not may_run(function):
                continue
            try:
                replace_by_schedule(function, device)
            except InputError as error:
                context.report(error)
                continue
            context.count("functions scheduled")


def replace_by_schedule(function: ir.Operation, device: Device) -> ir.Operation:
    """A bufferized function's schedule, in its place; raises InputError, located, and leaves it if it has none."""
    from npuflow.schedule.build import build_schedule
    from npuflow.schedule.ir.emit import emit_schedule
    from npuflow.schedule.project.project import kernel_name

    _check_bufferized(function)
    scheduled = build_schedule(function, device)
    kernels = {kernel_name(key): kernel for key, kernel in enumerate(scheduled.kernels)}
    module = emit_schedule(scheduled.schedule, kernels, function)
    keep_work(function, module)
    function.erase()
    return module


def _check_bufferized(function: ir.Operation) -> None:
    """A schedule is made of one block of ops on memrefs, on chip ones among them where anything is computed."""
    name, blocks = function.opview.name.value, list(function.regions[0].blocks)
    if len(blocks) > 1:
        what = f"@{name} has {len(blocks)} blocks of ops, which branches lead to"
        raise fail(function, what, "use scf.for and scf.if instead of branches")
    values = [*blocks[0].arguments, *(result for op in ops_of(function) for result in op.results)]
    tensors = sorted({str(value.type) for value in values if isinstance(value.type, ir.RankedTensorType)})
    if tensors:
        what = f"@{name} still works on {tensors[0]}, and schedules are made of memrefs"
        raise fail(function, what, "use a pipeline that ends in memrefs, as npuflow-stream-k")
    for index, argument in enumerate(blocks[0].arguments):
        if not isinstance(argument.type, ir.MemRefType):
            what = f"argument {index} of @{name} is a scalar ({argument.type}), and schedules are made of memrefs"
            raise fail(function, what, "make it a memref of one element")
    computes = any(op.name.startswith("linalg.") and op.name not in _CONSTANT for op in ops_of(function))
    if computes and not any(op.name == "memref.alloc" and _is_on_chip(op) for op in ops_of(function)):
        what = f"@{name} has no buffer in L1 or L2 where the pipeline ends"
        raise fail(function, what, "use a pipeline that moves data into the array, as npuflow-stream-k")


def _is_on_chip(allocation: ir.Operation) -> bool:
    return ir.MemRefType(allocation.results[0].type).memory_space is not None
