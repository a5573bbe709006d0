"""Whether the parts of a schedule fit together: names, coordinates, ends of streams, and what accesses reach. Pure.

Schedules of ours do by construction; those written by hand need telling. Everything else about a schedule may be asked
only once nothing is wrong here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from npuflow.errors import SourceLocation, unknown_name
from npuflow.schedule.check.numbers import unlisted
from npuflow.schedule.check.violations import Violation
from npuflow.schedule.data import model
from npuflow.schedule.data.kernel_interface import KernelInterface
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.data.placed import PlacedStep, placed_steps
from npuflow.target import Device, KernelClass, SharedBy, Work

_SPANS = {
    SharedBy.CORE: (("row", "column"),),
    SharedBy.COLUMN: (("row",), ("column",), ("tile",)),
    SharedBy.ARRAY: ((),),
}
_MOST_ELEMENTS = 1 << 40
_MOST_CYCLES = 1 << 48  # what the simulator counts to in one step
_MOST_DESCRIPTORS = 1 << 20


def ill_formed(schedule: Schedule, device: Device, kernels: Mapping[str, KernelInterface]) -> list[Violation]:
    """Everything that doesn't fit together."""
    found = list(_grid(schedule, device))
    if not schedule.engines:
        found.append(Violation(f"schedule '{schedule.name}' has no engines", "give functions an npu.engine", None))
    for buffer in schedule.buffers.values():
        found += _buffer(buffer, device)
    for stream in schedule.streams.values():
        found += _stream(stream, schedule, device)
    for engine in schedule.engines.values():
        found += _span(engine.span, schedule, engine.name, engine.location)
        found += _lane(engine, device)
        checker = _EngineChecker(schedule, device, engine, kernels)
        for placed in placed_steps(engine, schedule.extents):
            found += checker.problems(placed)
    return found or unlisted(schedule)


def _grid(schedule: Schedule, device: Device) -> Iterator[Violation]:
    """The extents, against the array."""
    first = next((engine.location for engine in schedule.engines.values()), None)
    device = device.arranged(schedule.extents["row"], schedule.extents["column"])
    most = {"row": device.rows, "column": device.columns, "tile": device.columns}
    for name, have in most.items():
        need = schedule.extents[name]
        if need > have:
            what = f"the schedule needs {need} of coordinate '{name}', device '{device.name}' has {have}"
            yield Violation(what, f"use a grid of at most {device.rows}x{device.columns}, or a larger device", first)
    rows, tiles, parts = (schedule.extents[name] for name in ("row", "tile", "part"))
    if tiles * parts < rows:
        places = device.ways.places.values()
        name = next(
            (p.name for p in places if p.shared_by is SharedBy.COLUMN and p.level < device.dram_level), "memory"
        )
        what = f"{tiles} {name}s of {parts} parts each don't serve {rows} rows"
        yield Violation(what, "choose tile * part = row in npu.extents", first)


def _buffer(buffer: model.Buffer, device: Device) -> Iterator[Violation]:
    spans = _SPANS[device.level(buffer.level).shared_by] if device.has_level(buffer.level) else ()
    if not spans:
        what = f"buffer '{buffer.name}' is in level {buffer.level}, which device '{device.name}' lacks"
        yield Violation(what, f"it has {', '.join(str(level.number) for level in device.levels)}", buffer.location)
    elif buffer.span not in spans:
        known = " or ".join(str(list(span)) for span in spans)
        what = f"buffer '{buffer.name}' in level {buffer.level} spans {list(buffer.span)}"
        yield Violation(what, f"let it span {known}", buffer.location)
    if buffer.level == device.dram_level and buffer.depth != 1:
        what = f"buffer '{buffer.name}' has {buffer.depth} slots in level {buffer.level}"
        yield Violation(what, "tensors have one", buffer.location)
    if min(buffer.address.at(0), buffer.address.base) < 0:
        yield Violation(f"buffer '{buffer.name}' is at {buffer.address.base}", "addresses begin at 0", buffer.location)


def _span(
    span: model.Coordinates, schedule: Schedule, name: str, location: SourceLocation | None
) -> Iterator[Violation]:
    for coordinate in span:
        if coordinate not in schedule.extents:
            text, _, hint = unknown_name("coordinate", coordinate, schedule.extents).partition("; hint: ")
            yield Violation(f"'{name}' spans {text}", hint, location)


def _lane(engine: model.Engine, device: Device) -> Iterator[Violation]:
    """A lane is a channel's number, but where stages have one engine; DMA engines' other channels are counted later."""
    stage = engine.stage
    if engine.lane and (not stage.is_channel or (stage.lanes == 1 and stage.first)):
        what = f"'{engine.name}' of stage {stage.name} has lane {engine.lane}"
        yield Violation(what, "there is lane 0 only", engine.location)
    elif stage.place and stage.spreads and engine.lane >= device.dma(stage.place.level).channels_out:
        have = device.dma(stage.place.level).channels_out
        what = f"'{engine.name}' has lane {engine.lane}, a {stage.place.name} {have} out-channels"
        yield Violation(what, "number lanes from 0", engine.location)


def _stream(stream: model.Stream, schedule: Schedule, device: Device) -> Iterator[Violation]:
    yield from _span((*stream.span, *stream.multicast), schedule, stream.name, stream.location)
    reaches = {"sender": stream.span, "receiver": (*stream.span, *stream.multicast)}
    for end, name in (("sender", stream.sender), ("receiver", stream.receiver)):
        engine = schedule.engines.get(name)
        if engine is None:
            text, _, hint = unknown_name("engine", name, schedule.engines).partition("; hint: ")
            yield Violation(f"the {end} of stream '{stream.name}' is an {text}", hint, stream.location)
        elif not engine.stage.is_channel:
            compute = device.ways.computing[0]
            movers = [s.name for s in device.ways.stages.values() if s.is_channel and s.level == compute.level]
            what = f"the {end} of stream '{stream.name}' is '{name}', which has no DMA channel"
            yield Violation(what, f"let {' and '.join(movers)} move a {compute.name}'s data", stream.location)
        elif set(engine.span) - set(reaches[end]):
            missing = sorted(set(engine.span) - set(reaches[end]))
            what = f"stream '{stream.name}' doesn't say which '{name}' is its {end}: {', '.join(missing)} is open"
            yield Violation(what, "add it to the stream's span, or to multicast for all of them", stream.location)


@dataclass(frozen=True)
class _EngineChecker:
    schedule: Schedule
    device: Device
    engine: model.Engine
    kernels: Mapping[str, KernelInterface]

    def problems(self, placed: PlacedStep) -> list[Violation]:
        step = placed.step
        if isinstance(step, model.Each):
            return self._each(step)
        if isinstance(step, (model.Acquire, model.Release)):
            return self._semaphore(step, placed)
        if isinstance(step, (model.Send, model.Receive)):
            return self._transfer(step, placed)
        if isinstance(step, model.Configure) and not 1 <= step.descriptors <= _MOST_DESCRIPTORS:
            what = f"sets up {step.descriptors} descriptors"
            return [self._problem(what, f"from 1 to {_MOST_DESCRIPTORS} make sense", None)]
        return self._compute(step, placed) if isinstance(step, model.Compute) else []

    def _problem(self, what: str, hint: str, location: SourceLocation | None) -> Violation:
        return Violation(f"'{self.engine.name}' {what}", hint, location or self.engine.location)

    def _each(self, step: model.Each) -> list[Violation]:
        extent = self.schedule.extents.get(step.coordinate)
        if extent == step.count:
            return []
        what = f"goes through {step.count} of coordinate '{step.coordinate}', of which there are {extent or 'none'}"
        return [self._problem(what, "run the loop from 0 to the coordinate's extent", step.location)]

    def _semaphore(self, step: model.Acquire | model.Release, placed: PlacedStep) -> list[Violation]:
        semaphore = self.schedule.semaphores[step.semaphore.name]
        found = self._ref(step.semaphore, semaphore.span, placed)
        stage = self.engine.stage
        if semaphore.cause == "task" and stage.work is not Work.CONTROL and not stage.at_dram:
            shims = f"{self.device.ways.places[self.device.dram_level].name}s"
            what = f"uses semaphore '{semaphore.name}', which counts tasks"
            found.append(self._problem(what, f"tasks go from the control processor to {shims}", step.location))
        return found

    def _ref(self, ref: model.Ref, span: model.Coordinates, placed: PlacedStep) -> list[Violation]:
        if len(ref.at) != len(span):
            what = f"gives {len(ref.at)} coordinates for '{ref.name}', which spans {list(span)}"
            return [self._problem(what, "give one per coordinate", placed.location)]
        found = []
        for index, name in zip(ref.at, span):
            counters = index.counters - placed.coordinates.keys()
            if counters:
                what = f"lets a loop choose the {name} of '{ref.name}'"
                found.append(self._problem(what, "only coordinates say where things are", placed.location))
                continue
            low, high = index.minimum(placed.ranges), index.maximum(placed.ranges)
            extent = self.schedule.extents.get(name, 1)
            if low < 0 or high >= extent:
                what = f"reaches {name} {low} to {high} of '{ref.name}', of which there are {extent}"
                found.append(self._problem(what, "keep it inside the extent", placed.location))
        return found

    def _transfer(self, step: model.Send | model.Receive, placed: PlacedStep) -> list[Violation]:
        stream = self.schedule.streams[step.stream.name]
        sends = isinstance(step, model.Send)
        found = self._ref(step.stream, stream.span, placed)
        if (stream.sender if sends else stream.receiver) != self.engine.name:
            verb, end = ("sends to", stream.sender) if sends else ("receives from", stream.receiver)
            what = f"{verb} stream '{stream.name}', whose end it isn't: that is '{end}'"
            found.append(self._problem(what, "use the engine's own streams", step.location))
        buffer = self.schedule.buffers[step.access.buffer.name]
        found += self._ref(step.access.buffer, buffer.span, placed)
        level = self.engine.stage.level if self.engine.stage.is_channel else None
        if level != buffer.level:
            where = f"is beside level {level}" if level else "has no DMA channel"
            what = f"{where} and can't reach '{buffer.name}' in level {buffer.level}"
            found.append(self._problem(what, "let an engine of that level's stage move it", step.location))
        return found + self._access(step.access, buffer, placed)

    def _access(self, access: model.Access, buffer: model.Buffer, placed: PlacedStep) -> list[Violation]:
        """Strides, sizes and bounds; what limits cut off is for the simulator to follow."""
        if prod(access.sizes) > _MOST_ELEMENTS:
            what = f"moves {prod(access.sizes)} elements at once, more than {_MOST_ELEMENTS}"
            return [self._problem(what, "make it a loop over smaller transfers", placed.location)]
        still = [stride for size, stride in zip(access.sizes, access.strides) if size > 1 and stride < 1]
        if still:
            what = f"moves with strides {list(access.strides)}, and descriptors only step forward"
            return [self._problem(what, "use strides of at least 1", placed.location)]
        if access.slot.minimum(placed.ranges) < 0:
            what = f"uses slot {access.slot.minimum(placed.ranges)} of '{buffer.name}'"
            return [self._problem(what, "count slots from 0; they are taken in turn", placed.location)]
        if access.limits:
            return []
        low = access.offset.minimum(placed.ranges)
        last = sum((size - 1) * stride for size, stride in zip(access.sizes, access.strides))
        high = access.offset.maximum(placed.ranges) + last
        elements = prod(buffer.shape)
        if low >= 0 and high < elements:
            return []
        what = f"reaches elements {low} to {high} of '{buffer.name}', a slot of which has {elements}"
        return [self._problem(what, "check the offset, the sizes and the strides", placed.location)]

    def _compute(self, step: model.Compute, placed: PlacedStep) -> list[Violation]:
        if step.kernel not in self.kernels:
            text, _, hint = unknown_name("kernel", step.kernel, self.kernels).partition("; hint: ")
            return [self._problem(f"calls an {text}", hint, step.location)]
        found = []
        stage = self.engine.stage
        if stage.work is not Work.COMPUTE:
            name = " or ".join(stage.name for stage in self.device.ways.computing)
            what = f"calls '{step.kernel}' but is no {name}"
            found.append(self._problem(what, f"use stage {name}", step.location))
        kernels = self.schedule.classes.get(step.kernel)
        if kernels is not None and stage.runs is not None and not stage.runs.includes(kernels):
            what = f"calls '{step.kernel}', which is for engines of class '{kernels.value}'"
            hint = f"let stage {self.device.ways.runner(kernels).name} call it"
            found.append(self._problem(what, hint, step.location))
        if not 0 <= step.cycles <= _MOST_CYCLES:
            what = f"says that '{step.kernel}' takes {step.cycles} cycles"
            found.append(self._problem(what, f"a call takes from 0 to {_MOST_CYCLES}", step.location))
        found += self._arguments(step, self.kernels[step.kernel])
        for operand in step.operands:
            buffer = self.schedule.buffers[operand.access.buffer.name]
            found += self._ref(operand.access.buffer, buffer.span, placed)
            found += self._padding(operand.access, buffer, step, placed)
            low = operand.access.slot.minimum(placed.ranges)
            if low < 0:
                what = f"uses slot {low} of '{buffer.name}'"
                found.append(self._problem(what, "count slots from 0; they are taken in turn", step.location))
            level = stage.level
            if stage.work is Work.COMPUTE and buffer.level != level:
                what = f"works on '{buffer.name}' in level {buffer.level}"
                found.append(self._problem(what, f"kernels work on level {level}", step.location))
        return found

    def _padding(
        self, access: model.Access, buffer: model.Buffer, step: model.Compute, placed: PlacedStep
    ) -> list[Violation]:
        """What is read with zeros around it: whether the device has a register for them, and the pattern."""
        if not access.zeros:
            return []
        if not self.device.patch_engine.padding_share or step.kernel in self._not_for_matrix:
            what = f"lets '{step.kernel}' make up zeros around '{buffer.name}', and no register holds them"
            hint = "insert them by a transfer, or use a device with padding_share for a kernel of its patch engine"
            return [self._problem(what, hint, step.location)]
        return self._access(access, buffer, placed)

    @property
    def _not_for_matrix(self) -> set[str]:
        return {name for name, kind in self.schedule.classes.items() if kind is not KernelClass.MATRIX}

    def _arguments(self, step: model.Compute, kernel: KernelInterface) -> list[Violation]:
        """What a call gives, against what the kernel's function takes."""
        if kernel.results or not kernel.is_defined:
            what = f"calls '{step.kernel}', which {'returns something' if kernel.results else 'has no body'}"
            return [self._problem(what, "let it be a function that writes its results to buffers", step.location)]
        if len(kernel.arguments) != len(step.operands):
            what = f"gives '{step.kernel}' {len(step.operands)} buffers, it takes {len(kernel.arguments)}"
            return [self._problem(what, "give one per argument", step.location)]
        found = []
        for number, (operand, taken) in enumerate(zip(step.operands, kernel.arguments)):
            buffer = self.schedule.buffers[operand.access.buffer.name]
            is_padded = operand.access.zeros
            shape = _given_sizes(operand.access, taken) if is_padded else buffer.shape
            given = f"memref<{'x'.join(map(str, (*shape, buffer.element_type)))}, 2>"
            if buffer.level == 1 and given != taken:
                what = f"gives '{step.kernel}' '{buffer.name}', {given}, for argument {number}, which is {taken}"
                found.append(self._problem(what, "let them be of one shape and type, in memory space 2", step.location))
        return found


def _given_sizes(access: model.Access, taken: str) -> tuple[int, ...]:
    """What an access with zeros goes through, as a kernel's argument has it, with dimensions of 1 as there."""
    *dims, _ = taken.removeprefix("memref<").split(",")[0].split("x")
    sizes = [size for size in access.sizes if size > 1]
    wanted = [int(dim) for dim in dims if dim.isdigit()]
    return tuple(wanted) if [dim for dim in wanted if dim > 1] == sizes else access.sizes
