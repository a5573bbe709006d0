"""A function's schedule, in IR, to a program that can be timed and executed.

The one place that knows the way there: everything behind it (reports, the command line, the Python API) sees a
`CompiledFunction`. What is timed and executed is what the schedule's IR says, whoever wrote it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil

import numpy as np

from npuflow.bindings import ir
from npuflow.core.passes import fail, ops_of
from npuflow.errors import Diagnostic, InputError, Severity, UsageError, with_hint
from npuflow.execute.arrays import Array, ArraySpec, Signature, is_float
from npuflow.ops.allowed_ops import ELEMENT_TYPES
from npuflow.schedule.assign.more_slots import with_slots
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.ir.emit import computes
from npuflow.schedule.ir.read_schedule import kernel_functions_of, read_schedule
from npuflow.schedule.kernels.describe_kernels import describe_kernel
from npuflow.schedule.kernels.kernel_cycles import KernelShape, Reshape, kernel_cycles, reshape_of
from npuflow.simulate.at_home import AtHome
from npuflow.simulate.constants import constant_contents
from npuflow.simulate.flatten import flatten
from npuflow.simulate.home_ports import HomeChain, NearTensor
from npuflow.simulate.in_clusters import from_windows, in_windows
from npuflow.simulate.kernel_functions import compile_schedule_kernels
from npuflow.simulate.platform import Platform
from npuflow.simulate.prefetch import NOTHING_AHEAD, Ahead, ahead_name
from npuflow.simulate.program import LAUNCH, FlatControl, Program
from npuflow.simulate.read_in_place import home_of
from npuflow.simulate.results import RunResults
from npuflow.simulate.run import POISON, execute, simulate
from npuflow.simulate.table_tasks import with_table_tasks
from npuflow.simulate.tasks_ahead import TasksAhead, descriptors_left
from npuflow.simulate.walk import counted
from npuflow.target import Device

_OTHER = "other"
# Ops that say what an op of linalg does.
_PARTS = ("linalg.yield", "linalg.index")

# Bytes that one phase brought for a later one, by the memory's number and their address there.
Landed = Mapping[tuple[int, int], Array]
NOTHING_LANDED: Landed = {}
NOTHING_BROUGHT: Mapping[int, Array] = {}


@dataclass(frozen=True)
class CompiledFunction:
    """A function's program for a device. `shapes` are those of its kernels, by the kernels' names.

    `modelled` names the kernels whose times are the model's; those of others are the user's, calls included. `op` is
    the schedule's module, which holds the kernels; `module` keeps it alive. `keeps_names` says that results are called
    what the schedule calls them. Of tensors that are on the chip in the program, `homes` are chains that move them, and
    `near` those that need none; `ahead` is what is brought for the next phase, or was; `tasks` are set up when it
    begins. That with all in DRAM, and nothing set up, is
    `in_dram` then.
    """

    signature: Signature
    device: Device
    program: Program
    schedule: Schedule
    shapes: Mapping[str, KernelShape]
    op: ir.Operation = field(repr=False, compare=False)
    module: ir.Module = field(repr=False, compare=False)
    modelled: frozenset[str] = frozenset()
    keeps_names: bool = False
    homes: tuple[HomeChain, ...] = ()
    near: tuple[NearTensor, ...] = ()
    ahead: Ahead = NOTHING_AHEAD
    tasks: TasksAhead | None = field(default=None, repr=False, compare=False)
    in_dram: Program | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, object]:
        """What of it is data: another process gets it without its IR, and adds its own (`with_ir`)."""
        return {name: value for name, value in vars(self).items() if name not in ("op", "module", "run")}

    def with_ir(self, op: ir.Operation, module: ir.Module) -> CompiledFunction:
        return replace(self, op=op, module=module)

    def at_home(self, moved: AtHome) -> CompiledFunction:
        """The function with a program that has tensors at home."""
        kept = self.in_dram or self.program
        return replace(self, program=moved.program, homes=moved.chains, near=moved.near, in_dram=kept)

    def with_ahead(self, program: Program, ahead: Ahead) -> CompiledFunction:
        """The function with a program that brings what later phases begin with, and finds what was brought."""
        homes, kept = (*self.homes, *ahead.chains), self.in_dram or self.program
        return replace(self, program=program, ahead=ahead, homes=homes, in_dram=kept)

    def with_table_tasks(self, tables: Collection[str]) -> CompiledFunction:
        """The function with a program that reads memories which are tables in fewer tasks, where it can."""
        program = with_table_tasks(self.program, self.device, tables)
        return self if program is self.program else replace(self, program=program, in_dram=self.in_dram or self.program)

    def begun(self, tasks: TasksAhead) -> CompiledFunction:
        """The function with a program whose first tasks are set up."""
        return replace(self, program=tasks.program, tasks=tasks, in_dram=self.in_dram or self.program)

    def away(self) -> CompiledFunction:
        """The function with all of its tensors in DRAM, and nothing set up."""
        if self.in_dram is None:
            return self
        return replace(self, program=self.in_dram, homes=(), near=(), ahead=NOTHING_AHEAD, tasks=None, in_dram=None)

    def memory_names(self, level: int | None) -> list[str]:
        """The memories of a level as its program calls them, by number; none of no level."""
        return [] if level is None else Platform(self.device.arranged(*self.grid)).memory_names(level)

    @property
    def set_up(self) -> Schedule:
        """The schedule with as many slots as buffers have in the program."""
        return with_slots(self.schedule, dict(self.ahead.depths))

    @property
    def descriptors_left(self) -> Mapping[int, int]:
        """The descriptors beside DRAM that it doesn't need, by column."""
        return descriptors_left(self.program, self.device) if self.tasks is None else self.tasks.left

    @cached_property
    def run(self) -> RunResults:
        """How long it takes, and why, found once."""
        return simulate(self.program)

    @cached_property
    def launch_cycles(self) -> int:
        """What the control processor spends on launching."""
        engines = (engine for engine in self.program.engines if FlatControl in engine.step_kinds)
        steps = (one for engine in engines for one in counted(engine.body))
        own = ((step, times) for step, times in steps if isinstance(step, FlatControl) and step.name == LAUNCH)
        return sum(step.cycles * times for step, times in own)

    @property
    def launch_us(self) -> float:
        return self.launch_cycles / self.program.clock_hz * 1e6

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def arguments(self) -> Sequence[str]:
        """The memories that hold the arguments, in order."""
        return self.schedule.arguments

    @property
    def results(self) -> Sequence[str]:
        """The memories that hold the results, in order."""
        return self.schedule.results

    @property
    def updated(self) -> frozenset[str]:
        """The memories of arguments that become results, with something written into them."""
        return frozenset(self.arguments) & frozenset(self.results)

    @property
    def has_floats(self) -> bool:
        """Whether any of its buffers holds floats."""
        return any(is_float(buffer.element_type) for buffer in self.schedule.buffers.values())

    @property
    def labels(self) -> Mapping[str, str]:
        """What reports call the memories of tensors in DRAM, where that isn't their own name."""
        if self.keeps_names:
            return {}
        return {name: f"result{i}" for i, name in enumerate(self.results) if name not in self.arguments}

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of cores in use."""
        return self.schedule.extents["row"], self.schedule.extents["column"]

    def modelled_cycles(self, device: Device) -> Mapping[str, int]:
        """What a call of each kernel that is timed by the model would take on a device."""
        return {name: kernel_cycles(self.shapes[name], device) for name in sorted(self.modelled)}

    def reshapes(self) -> Mapping[str, Reshape]:
        """The kernels, of those that are timed by the model, whose pixels are reshaped to fill patches."""
        found = {name: reshape_of(self.shapes[name], self.device) for name in sorted(self.modelled)}
        return {name: reshape for name, reshape in found.items() if reshape is not None}


@dataclass(frozen=True)
class FunctionalRun:
    """What a functional run leaves: results, what the simulator saw, and arguments that are brought to the chip.

    `landed` is what it brought for later ones.
    """

    outputs: tuple[Array, ...]
    results: RunResults
    brought: Mapping[int, Array] = field(default_factory=dict)
    landed: Landed = field(default_factory=dict)


def compile_schedule(
    module: ir.Module,
    op: ir.Operation,
    device: Device,
    signature: Signature | None = None,
    kernel_macs_per_cycle: float | None = None,
) -> CompiledFunction:
    """The program of a schedule in `module`; `signature` is that of the function it was made of, if it was."""
    schedule = read_schedule(op, device)
    functions = kernel_functions_of(op)
    said = {call.kernel: call.cycles for engine in schedule.engines.values() for call in computes(engine.program)}
    shapes = {name: _shape(functions[name]) for name in said}
    rate = kernel_macs_per_cycle
    given = {name: ceil(shape.macs / rate) for name, shape in shapes.items() if shape.macs and rate is not None}
    modelled = (n for n, c in said.items() if n not in given and _is_modelled(shapes[n], c, device))
    program = flatten(schedule, device, given)
    is_own = signature is None
    signature = signature or _signature(schedule, op)
    return CompiledFunction(signature, device, program, schedule, shapes, op, module, frozenset(modelled), is_own)


def _is_modelled(shape: KernelShape, cycles: int, device: Device) -> bool:
    return shape.kind != _OTHER and kernel_cycles(shape, device) == cycles


def _signature(schedule: Schedule, op: ir.Operation) -> Signature:
    """A schedule's arguments and results as arrays."""
    sides = []
    for names in (schedule.arguments, schedule.results):
        buffers = [schedule.buffers[name] for name in names]
        for buffer in buffers:
            if buffer.element_type not in ELEMENT_TYPES:
                what = f"'{buffer.name}' of {buffer.element_type} is not supported"
                hint = f"arrays of {', '.join(ELEMENT_TYPES)} can be executed"
                raise InputError(Diagnostic(Severity.ERROR, with_hint(what, hint), buffer.location))
        sides.append(tuple(ArraySpec(buffer.element_type, buffer.shape) for buffer in buffers))
    if not schedule.results:
        raise fail(op, f"schedule @{schedule.name} has no result", 'give a buffer in L3 the role "result"')
    return Signature(schedule.name, sides[0], sides[1], (False,) * len(sides[0]))


def _shape(function: ir.Operation) -> KernelShape:
    """What a kernel works on; one of several ops, or of none of linalg, has no model, and takes what its call says."""
    work = [op for op in ops_of(function) if op.name.startswith("linalg.") and op.name not in _PARTS]
    return describe_kernel(work[0]) if len(work) == 1 else KernelShape(_OTHER, (), 0, 1)


def execute_function(
    function: CompiledFunction,
    inputs: Sequence[Array],
    brought: Mapping[int, Array] = NOTHING_BROUGHT,
    landed: Landed = NOTHING_LANDED,
) -> FunctionalRun:
    """Runs the function on arrays, through the array's memories, DMA engines and kernels, in a child process.

    What it brings for later phases is `brought`, by number; what those before brought for it has `landed`.
    """
    check_inputs(function.signature, inputs)
    kernels = compile_schedule_kernels(function.op, function.program)
    memories = {**constant_contents(function.op), **dict(zip(function.arguments, inputs))}
    memories |= {ahead_name(one.number): brought[one.number] for one in function.ahead.brings}
    memories |= _found_there(function, landed)
    spread = {near.name: near.spread for near in function.near if near.spread is not None}
    for name in [name for name in function.arguments if name in spread]:
        memories |= in_windows(name, spread[name], memories.pop(name))
    what = f"the functional run of @{function.name}"
    executed = execute(function.program, memories, kernels, what=what)
    specs = function.signature.outputs
    made = dict(executed.memories)
    made |= {name: from_windows(name, spread[name], made) for name in function.results if name in spread}
    outputs = [_typed(made[name], spec) for name, spec in zip(function.results, specs, strict=True)]
    homes = {n: executed.memories.get(home_of(name)) for n, name in enumerate(function.arguments)}
    arrived = {n: _typed(own, function.signature.inputs[n]) for n, own in homes.items() if own is not None}
    names = function.memory_names(function.device.home_level)
    left = {
        (number, place.start): executed.memories[names[number]][place].copy()
        for one in function.ahead.brings
        for number, place in one.prefetch.places
    }
    return FunctionalRun(tuple(outputs), executed.results, arrived, left)


def _found_there(function: CompiledFunction, landed: Landed) -> dict[str, Array]:
    """The memories in which something is when a function begins."""
    names = function.memory_names(function.device.home_level)
    sizes = {memory.name: memory.bytes for memory in function.program.memories}
    found: dict[str, Array] = {}
    for number, place in (place for one in function.ahead.finds for place in one.places):
        name = names[number]
        found.setdefault(name, np.full(sizes[name], POISON, np.uint8))[place] = landed[number, place.start]
    return found


def _typed(memory: Array, spec: ArraySpec) -> Array:
    return memory.view(spec.dtype).reshape(spec.shape).copy()  # all memories are one piece, which is large


def check_inputs(signature: Signature, inputs: Sequence[Array]) -> None:
    """Raises where arrays are not what a function takes."""
    if len(inputs) != len(signature.inputs):
        arrays = "1 array" if len(signature.inputs) == 1 else f"{len(signature.inputs)} arrays"
        what = f"{signature} takes {arrays}, got {len(inputs)}"
        raise UsageError(with_hint(what, "give one per argument"))
    for position, (array, spec) in enumerate(zip(inputs, signature.inputs)):
        if not isinstance(array, np.ndarray) or array.dtype != spec.dtype or array.shape != spec.shape:
            got = f"{array.dtype}{list(array.shape)}" if isinstance(array, np.ndarray) else type(array).__name__
            what = f"argument {position} of @{signature.name} is {got}, expected {spec.dtype}{list(spec.shape)}"
            raise UsageError(with_hint(what, "convert it with numpy's astype and reshape"))
