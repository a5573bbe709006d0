"""Projection: the schedule is the program as each engine sees it. Pure.

Every engine's program is the nest with only its statements left. A buffer is handed around a ring of engines (`rings`).
An iteration of the body that allocates a buffer uses one slot of it, so double buffering is nothing but a depth of two.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import pairwise

from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import (
    Access,
    Acquire,
    Buffer,
    Compute,
    Each,
    Engine,
    Operand,
    Receive,
    Ref,
    Release,
    Repeat,
    Schedule,
    Send,
    Step,
    Stream,
    substitute_access,
)
from npuflow.schedule.nest.nest import (
    L2,
    ROW,
    Allocate,
    BufferInfo,
    Kernel,
    Loop,
    Nest,
    Statement,
    Transfer,
    walk,
)
from npuflow.schedule.project.accesses import accesses
from npuflow.schedule.project.control import control_program
from npuflow.schedule.project.rings import Rings
from npuflow.schedule.project.routes import TILE, EngineKey, Routes
from npuflow.schedule.project.side_by_side import later_parts, skewed, turning_body
from npuflow.schedule.project.tasks import Tasks
from npuflow.target import Work


@dataclass
class _Projection:
    nest: Nest
    routes: Routes
    tasks: Tasks
    rings: Rings
    cycles: Mapping[int, int]
    schedule: Schedule

    # Things

    def add_buffers(self) -> None:
        nest = self.nest
        moved = {end.buffer for s, _ in walk(nest.body) if isinstance(s, Transfer) for end in (s.source, s.target)}
        intermediates = [buffer for buffer in nest.intermediates if buffer in moved]
        for buffer in (*nest.arguments, *nest.constants, *nest.results, *intermediates):
            self.schedule.add_buffer(self._buffer(buffer, 3, (), buffer.shape, 1))
        for statement, _ in walk(self.nest.body):
            if not isinstance(statement, Allocate) or statement.buffer not in self.rings.of:
                continue
            buffer, depth = statement.buffer, self.rings.depth(statement.buffer)
            shape = self.routes.shape(buffer)
            if buffer.space == L2:
                part = self.routes.part(buffer)
                self.schedule.add_buffer(self._buffer(buffer, 2, (part.coordinate,), shape, depth))
            else:
                self.schedule.add_buffer(self._buffer(buffer, 1, self.routes.inner_span, shape, depth))
            span = self.schedule.buffers[buffer.name].span
            self.schedule.semaphores |= {s.name: s for s in self.rings.semaphores(buffer, span)}

    def _buffer(
        self, buffer: BufferInfo, level: int, span: tuple[str, ...], shape: tuple[int, ...], depth: int
    ) -> Buffer:
        return Buffer(
            buffer.name,
            level,
            span,
            shape,
            buffer.element_type,
            buffer.element_bytes,
            depth,
            location=buffer.location,
        )

    # Programs

    def engine(self, key: EngineKey) -> Engine:
        steps = self._body(self.nest.body, key)
        return Engine(key.name, key.stage, key.lane, self.routes.span(key), tuple(steps))

    def _body(self, body: list[Statement], key: EngineKey) -> list[Step]:
        """An engine's share of a body."""
        return [step for steps in self._pieces(body, key) for step in steps]

    def _pieces(self, body: list[Statement], key: EngineKey) -> list[list[Step]]:
        """An engine's share of each statement of a body, which has a buffer from its first step with it to its last."""
        pieces = [self._statement(statement, key) for statement in body]
        allocated = [statement.buffer for statement in body if isinstance(statement, Allocate)]
        for group in self.rings.handed_over(allocated):
            for stay in self.rings.stays(group, key, body):
                names = {buffer.name for buffer in group}
                first, last = pieces[stay.first], pieces[stay.last]
                place = next(place for place, step in enumerate(first) if _uses(step, names))
                first[place:place] = [step for name in stay.waits_for for step in self._handover(Acquire, name, key)]
                place = next(place for place in range(len(last), 0, -1) if _uses(last[place - 1], names))
                last[place:place] = [step for name in stay.gives for step in self._handover(Release, name, key)]
        return pieces

    def _statement(self, statement: Statement, key: EngineKey) -> list[Step]:
        if isinstance(statement, Allocate):
            return []
        if isinstance(statement, Loop):
            if key.stage.work is Work.COMPUTE and not statement.grid:
                return self._turns(statement, key)
            steps = self._body(statement.body, key)
            if not steps or statement.grid:
                return steps
            repeated: list[Step] = [Repeat(statement.counter, statement.trips, tuple(steps))]
            return self.tasks.around_loop(statement, key, self.routes, repeated)
        if isinstance(statement, Kernel):
            return [self._compute(statement)] if key == self.routes.engine_of(statement) else []
        assert isinstance(statement, Transfer)
        return self._transfer(statement, key)

    def _turns(self, loop: Loop, key: EngineKey) -> list[Step]:
        """A computing engine's share of a loop in time."""
        body = turning_body(loop)
        pieces = self._pieces(body, key)
        places = [0, *later_parts(body, key, self.routes, self.rings), len(body)]
        parts = [[step for its in pieces[first:end] for step in its] for first, end in pairwise(places)]
        if len(parts) > 1:
            return skewed(loop, parts)
        return [Repeat(loop.counter, loop.trips, tuple(parts[0]))] if parts[0] else []

    def _compute(self, kernel: Kernel) -> Step:
        operands = []
        buffers = [*kernel.reads, *(b for b in kernel.writes if b not in kernel.reads)]
        for buffer in buffers:
            ref = self._ref(self.routes.engine_of(kernel), buffer)[0]
            access = self.routes.read_by_kernel(buffer, ref, self.rings.slot(buffer))
            operands.append(Operand(access, buffer in kernel.reads, buffer in kernel.writes))
        name = kernel_name(kernel.key)
        return Compute(name, kernel.kind, self.cycles[kernel.key], tuple(operands), kernel.location)

    def _transfer(self, statement: Transfer, key: EngineKey) -> list[Step]:
        route = self.routes.of(statement)
        if key not in (route.sender, route.receiver):
            return []
        moved = self.tasks.moved(statement, self.routes)
        sends = key == route.sender
        own = moved.source if sends else moved.target
        refs = [self._ref(key, end.buffer)[0] for end in (moved.source, moved.target)]
        slots = [self.rings.slot(end.buffer) for end in (moved.source, moved.target)]
        read, written = accesses(moved, refs[0], slots[0], refs[1], slots[1])
        stream = self.schedule.streams[route.stream]
        at, each = self._at(key, stream.span)
        each = (*each, *(name for name in self._ref(key, own.buffer)[1] if name not in each))
        values = {}
        if TILE in self.routes.span(key):
            values[ROW], parts = self.routes.address(key, ROW)
            each = (*each, *(name for name in parts if name not in each))
        step: Step
        if sends:
            step = Send(Ref(stream.name, at), _with(read, values), moved.location)
        else:
            step = Receive(Ref(stream.name, at), _with(written, values), moved.location)
        steps = self._each([step], each)
        steps = self.tasks.around_transfer(statement, key, self.routes, steps)
        return self.tasks.repeated(statement, steps)

    # Names and places

    def _ref(self, key: EngineKey, buffer: BufferInfo) -> tuple[Ref, tuple[str, ...]]:
        at, through = self._at(key, self.schedule.buffers[buffer.name].span)
        return Ref(buffer.name, at), through

    def _at(self, key: EngineKey, span: tuple[str, ...]) -> tuple[tuple[Affine, ...], tuple[str, ...]]:
        addresses = [
            self.routes.address(key, name) if name != "tile" else (Affine.counter("tile"), ()) for name in span
        ]
        return tuple(a for a, _ in addresses), tuple(name for _, names in addresses for name in names)

    def _handover(self, kind: type[Acquire | Release], semaphore: str, key: EngineKey) -> list[Step]:
        at, through = self._at(key, self.schedule.semaphores[semaphore].span)
        return self._each([kind(Ref(semaphore, at))], through)

    def _each(self, steps: list[Step], names: tuple[str, ...]) -> list[Step]:
        extents = self.routes.extents()
        for name in reversed(names):
            steps = [Each(name, extents[name], tuple(steps))]
        return steps


def _uses(step: Step, buffers: Set[str]) -> bool:
    """Whether a step, or one inside of it, works on one of the buffers."""
    if isinstance(step, Repeat | Each):
        return any(_uses(inner, buffers) for inner in step.body)
    if isinstance(step, Compute):
        return any(operand.access.buffer.name in buffers for operand in step.operands)
    return isinstance(step, Send | Receive) and step.access.buffer.name in buffers


def kernel_name(key: int) -> str:
    return f"kernel{key}"


def _with(access: Access, values: dict[str, Affine]) -> Access:
    return substitute_access(access, values) if values else access


def project(nest: Nest, routes: Routes, tasks: Tasks, rings: Rings, cycles: Mapping[int, int]) -> Schedule:
    """The schedule of a nest whose transfers take the given routes; `cycles` gives each kernel's time per call."""
    schedule = Schedule(nest.name, routes.extents())
    projection = _Projection(nest, routes, tasks, rings, cycles, schedule)
    transfers = [s for s, _ in walk(nest.body) if isinstance(s, Transfer)]
    keys: list[EngineKey] = []
    for route in map(routes.of, transfers):
        keys += [key for key in (route.sender, route.receiver) if key not in keys]
        span = routes.stream_span(route)
        others = tuple(name for name in routes.span(route.receiver) if name not in span and name != "tile")
        schedule.streams[route.stream] = Stream(route.stream, span, route.sender.name, route.receiver.name, others)
    kernels = (s for s, _ in walk(nest.body) if isinstance(s, Kernel))
    keys += dict.fromkeys(routes.engine_of(kernel) for kernel in kernels)
    projection.add_buffers()
    tasks.plan(nest, routes, schedule)
    for key in sorted(keys, key=lambda k: (k.stage.order, k.lane)):
        schedule.engines[key.name] = projection.engine(key)
    control = control_program(nest, routes, tasks)
    schedule.engines[control.name] = control
    schedule.arguments = [buffer.name for buffer in nest.arguments]
    schedule.results = [buffer.name for buffer in nest.results]
    schedule.classes = {kernel_name(key): routes.classes[key] for key in routes.classes}
    schedule.constants = [buffer.name for buffer in nest.constants]
    return schedule
