"""A schedule as IR: a module of buffers, semaphores, streams, kernels, and one function per kind of engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from npuflow.bindings import arith, func, ir, scf
from npuflow.errors import SourceLocation
from npuflow.schedule.data import model
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Schedule
from npuflow.schedule.ir.outline_kernel import outline_kernel

ENGINE, EXTENTS, COORDINATE, VALUE = "npu.engine", "npu.extents", "npu.coordinate", "npu.value"
RESULTS, LOCKS, DESCRIPTORS, CLASS = "npu.results", "npu.locks", "npu.descriptors", "npu.class"
PADDING = "npu.padding"
Indices = Mapping[str, "ir.Value"]


def emit_schedule(schedule: Schedule, kernels: Mapping[str, ir.Operation], at: ir.Operation) -> ir.Operation:
    """Builds the schedule's module in front of `at`, at its location."""
    with ir.InsertionPoint(at), at.location:
        module = ir.Operation.create(
            "builtin.module", regions=1, attributes={"sym_name": ir.StringAttr.get(schedule.name)}
        )
    module.attributes[EXTENTS] = ir.DictAttr.get({k: _integer(v) for k, v in schedule.extents.items()}, at.context)
    if schedule.results != [name for name in schedule.buffers if _role(name, schedule) == "result"]:
        # An argument that is handed back as it came, or a result that is one several times.
        with at.context:
            module.attributes[RESULTS] = _texts(schedule.results)
    block = module.regions[0].blocks.append()
    with at.location, ir.InsertionPoint(block):
        _emit_things(schedule, _globals_around(at))
        used = _kernels_of(schedule)
        for name in used:
            function = outline_kernel(kernels[name], name)
            function.attributes[CLASS] = _text(schedule.classes[name].value)
        for engine in schedule.engines.values():
            _emit_engine(engine)
    return module


def _globals_around(function: ir.Operation) -> dict[str, ir.Operation]:
    siblings = [child.operation for child in function.parent.regions[0].blocks[0].operations]
    return {str(ir.StringAttr(op.attributes["sym_name"]).value): op for op in siblings if op.name == "memref.global"}


def _emit_things(schedule: Schedule, values: Mapping[str, ir.Operation]) -> None:
    for buffer in schedule.buffers.values():
        with _location(buffer.location):
            op = _emit_buffer(buffer, schedule)
        if buffer.name in schedule.constants:
            value = values[buffer.name].clone().operation
            value.attributes["sym_name"] = _text(f"{buffer.name}_value")
            op.attributes[VALUE] = ir.FlatSymbolRefAttr.get(f"{buffer.name}_value")
    for semaphore in schedule.semaphores.values():
        op = _build(
            "npu.semaphore",
            sym_name=_text(semaphore.name),
            span=_texts(semaphore.span),
            initial=_integer(semaphore.initial),
            maximum=_integer(semaphore.maximum),
            cause=_text(semaphore.cause),
        )
        if semaphore.locks:
            op.attributes[LOCKS] = _integers(semaphore.locks)
    for stream in schedule.streams.values():
        _build(
            "npu.stream",
            sym_name=_text(stream.name),
            span=_texts(stream.span),
            sender=ir.FlatSymbolRefAttr.get(stream.sender),
            receiver=ir.FlatSymbolRefAttr.get(stream.receiver),
            multicast=_texts(stream.multicast),
        )


def _emit_buffer(buffer: model.Buffer, schedule: Schedule) -> ir.Operation:
    space = None if buffer.level == 3 else ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 3 - buffer.level)
    contents = ir.MemRefType.get(buffer.shape, ir.Type.parse(buffer.element_type), memory_space=space)
    address = ir.AffineExpr.get_constant(buffer.address.base)
    if buffer.address.step:
        quotient = ir.AffineExpr.get_floor_div(ir.AffineExpr.get_dim(0), buffer.address.divisor)
        address = quotient * buffer.address.step + address
    return _build(
        "npu.buffer",
        sym_name=_text(buffer.name),
        contents=ir.TypeAttr.get(contents),
        level=_integer(buffer.level),
        span=_texts(buffer.span),
        depth=_integer(buffer.depth),
        address=ir.AffineMapAttr.get(ir.AffineMap.get(len(buffer.span), 0, [address])),
        role=_text(_role(buffer.name, schedule)),
    )


def _role(buffer: str, schedule: Schedule) -> str:
    roles = {"argument": schedule.arguments, "constant": schedule.constants, "result": schedule.results}
    return next((role for role, names in roles.items() if buffer in names), "internal")


def _kernels_of(schedule: Schedule) -> list[str]:
    return list(dict.fromkeys(step.kernel for engine in schedule.engines.values() for step in computes(engine.program)))


def computes(steps: Sequence[model.Step]) -> list[model.Compute]:
    """Every kernel call of a program, in order."""
    found: list[model.Compute] = []
    for step in steps:
        if isinstance(step, model.Compute):
            found.append(step)
        elif isinstance(step, (model.Repeat, model.Each)):
            found += computes(step.body)
    return found


# Engines


def _emit_engine(engine: model.Engine) -> None:
    index = ir.IndexType.get()
    function = func.FuncOp(engine.name, ([index] * len(engine.span), []))
    fields = {"stage": _text(engine.stage.name), "lane": _integer(engine.lane), "span": _texts(engine.span)}
    if engine.channels:
        fields["channels"] = _integers(engine.channels)
    function.attributes[ENGINE] = ir.Attribute.parse(f"#npu.engine<{ir.DictAttr.get(fields)}>")
    block = function.add_entry_block()
    with ir.InsertionPoint(block):
        _Emitter().steps(engine.program, dict(zip(engine.span, block.arguments)))
        func.ReturnOp([])


class _Emitter:
    """Emits the steps of one engine; loop bounds are constants in front of the outermost loop."""

    def __init__(self) -> None:
        self._point = ir.InsertionPoint.current
        self._constants: dict[int, ir.Value] = {}

    def _constant(self, value: int) -> ir.Value:
        if value not in self._constants:
            block = self._point.block
            with ir.InsertionPoint.at_block_begin(block):
                self._constants[value] = arith.ConstantOp.create_index(value).result
        return self._constants[value]

    def steps(self, steps: Sequence[model.Step], indices: Indices) -> None:
        for step in steps:
            self._step(step, indices)

    def _step(self, step: model.Step, indices: Indices) -> None:
        if isinstance(step, model.Repeat):
            self._loop(step.counter, step.trips, step.body, indices, coordinate=False)
        elif isinstance(step, model.Each):
            self._loop(step.coordinate, step.count, step.body, indices, coordinate=True)
        elif isinstance(step, (model.Acquire, model.Release)):
            self._synchronise(step, indices)
        elif isinstance(step, (model.Send, model.Receive)):
            with _location(step.location):
                self._transfer(step, indices)
        elif isinstance(step, model.Compute):
            with _location(step.location):
                self._compute(step, indices)
        else:
            _build("npu.configure", descriptors=_integer(step.descriptors))

    def _loop(self, name: str, trips: int, body: Sequence[model.Step], indices: Indices, *, coordinate: bool) -> None:
        loop = scf.ForOp(self._constant(0), self._constant(trips), self._constant(1))
        if coordinate:
            loop.operation.attributes[COORDINATE] = _text(name)
        with ir.InsertionPoint(loop.body):
            self.steps(body, {**indices, name: loop.induction_variable})
            scf.YieldOp([])

    def _synchronise(self, step: model.Acquire | model.Release, indices: Indices) -> None:
        names, values = _used(indices, step.semaphore.at)
        name = "npu.acquire" if isinstance(step, model.Acquire) else "npu.release"
        semaphore = ir.FlatSymbolRefAttr.get(step.semaphore.name)
        _build(name, values, semaphore=semaphore, at=_map(step.semaphore.at, names))

    def _transfer(self, step: model.Send | model.Receive, indices: Indices) -> None:
        access = step.access
        sums = (*step.stream.at, *access.buffer.at, access.slot, *_pattern_sums(access))
        names, values = _used(indices, sums)
        op = _build(
            "npu.send" if isinstance(step, model.Send) else "npu.receive",
            values,
            stream=ir.FlatSymbolRefAttr.get(step.stream.name),
            stream_at=_map(step.stream.at, names),
            buffer=ir.FlatSymbolRefAttr.get(access.buffer.name),
            buffer_at=_map(access.buffer.at, names),
            slot=_map((access.slot,), names),
            **_pattern(access, names),
            zeros=ir.BoolAttr.get(access.zeros),
        )
        if step.descriptors is not None:
            numbers = {"first": _integers(step.descriptors.first), "count": _integer(step.descriptors.count)}
            op.attributes[DESCRIPTORS] = ir.DictAttr.get(numbers)

    def _compute(self, step: model.Compute, indices: Indices) -> None:
        at = step.operands[0].access.buffer.at if step.operands else ()
        padded = [operand.access for operand in step.operands if operand.access.zeros]
        bounds = (total for access in padded for total in _pattern_sums(access))
        sums = (*at, *(operand.access.slot for operand in step.operands), *bounds)
        names, values = _used(indices, sums)
        effects = ["r" * operand.reads + "w" * operand.writes for operand in step.operands]
        op = _build(
            "npu.compute",
            values,
            kernel=ir.FlatSymbolRefAttr.get(step.kernel),
            kind=_text(step.kind),
            cycles=_integer(step.cycles),
            buffers=ir.ArrayAttr.get([ir.FlatSymbolRefAttr.get(o.access.buffer.name) for o in step.operands]),
            at=_map(at, names),
            slots=ir.ArrayAttr.get([_map((o.access.slot,), names) for o in step.operands]),
            effects=_texts(effects),
        )
        if padded:
            patterns = (_pattern(o.access, names) if o.access.zeros else {} for o in step.operands)
            op.attributes[PADDING] = ir.ArrayAttr.get([ir.DictAttr.get(pattern) for pattern in patterns])


def _pattern_sums(access: model.Access) -> tuple[Affine, ...]:
    """The sums that say where an access begins and ends."""
    return (access.offset, *(limit.bound for limit in access.limits))


def _pattern(access: model.Access, names: Sequence[str]) -> dict[str, ir.Attribute]:
    """How an access goes through its slot."""
    limits = [ir.ArrayAttr.get([_integers(limit.weights), _map((limit.bound,), names)]) for limit in access.limits]
    return {
        "offset": _map((access.offset,), names),
        "sizes": _integers(access.sizes),
        "strides": _integers(access.strides),
        "limits": ir.ArrayAttr.get(limits),
    }


def _build(name: str, operands: Sequence[ir.Value] = (), **attributes: ir.Attribute) -> ir.Operation:
    """An op of the dialect. Its class's builder takes empty array attributes for missing ones, so it isn't used."""
    return ir.Operation.create(name, operands=list(operands), attributes=attributes)


def _used(indices: Indices, sums: Sequence[Affine]) -> tuple[list[str], list[ir.Value]]:
    """The indices that the sums depend on, outermost first."""
    wanted = {name for total in sums for name in total.counters}
    names = [name for name in indices if name in wanted]
    return names, [indices[name] for name in names]


def _map(sums: Sequence[Affine], names: Sequence[str]) -> ir.AffineMapAttr:
    results = [_expression(total, names) for total in sums]
    return ir.AffineMapAttr.get(ir.AffineMap.get(len(names), 0, results))


def _expression(total: Affine, names: Sequence[str]) -> ir.AffineExpr:
    expression = ir.AffineExpr.get_constant(total.constant)
    for name, coefficient in total.terms:
        expression = ir.AffineExpr.get_dim(names.index(name)) * coefficient + expression
    return expression


# Attributes


def _integer(value: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)


def _integers(values: Sequence[int]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([_integer(value) for value in values])


def _text(value: str) -> ir.StringAttr:
    return ir.StringAttr.get(value)


def _texts(values: Sequence[str]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get([_text(value) for value in values])


def _location(place: SourceLocation | None) -> ir.Location:
    if place is None:
        return ir.Location.current
    return ir.Location.file(place.file, place.line, place.column)
