"""IR to a schedule: the inverse of `emit`, for schedules of ours and hand-written ones."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import prod

from npuflow.bindings import ir
from npuflow.core.build import element_bytes
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import fail, ops_of
from npuflow.dialect.verify import COORDINATES, integers, strings
from npuflow.errors import unknown_name
from npuflow.schedule.data import model
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Address, Ref, Schedule, Stage
from npuflow.schedule.ir.emit import COORDINATE, ENGINE, EXTENTS, RESULTS, VALUE
from npuflow.schedule.nest.indices import evaluate_affine

_MOST_PLACES = 1024

_SEMAPHORE, _STREAM, _BUFFER = "semaphore", "stream", "buffer"


def schedules_of(root: ir.Operation) -> list[ir.Operation]:
    """The modules below `root` (or `root` itself) that are schedules."""
    return [op for op in [root.operation, *ops_of(root, "builtin.module")] if EXTENTS in op.attributes]


def read_schedule(module: ir.Operation) -> Schedule:
    """The schedule that a module holds; raises InputError, located, for what doesn't fit together."""
    extents = _extents(module)
    name = str(ir.StringAttr(module.attributes["sym_name"]).value) if "sym_name" in module.attributes else "schedule"
    schedule = Schedule(name, {**dict.fromkeys(COORDINATES, 1), **extents})
    functions = []
    for child in module.regions[0].blocks[0].operations:
        op = child.operation
        if op.name == "func.func" and ENGINE in op.attributes:
            functions.append(op)
        elif op.name in _THINGS:
            _THINGS[op.name](op, schedule)
    if RESULTS in module.attributes:
        schedule.results = _results(module, schedule)
    for function in functions:
        engine = _EngineReader(schedule).read(function)
        schedule.engines[engine.name] = engine
    return schedule


def _results(module: ir.Operation, schedule: Schedule) -> list[str]:
    """The results in order, where roles alone don't say it: an argument handed back, a result that is one twice."""
    attribute = module.attributes[RESULTS]
    names = list(attribute) if isinstance(attribute, ir.ArrayAttr) else []
    if not names or not all(isinstance(name, ir.StringAttr) for name in names):
        raise fail(module, f"{RESULTS} is {attribute}", 'write names of buffers in L3, as ["c", "c"]')
    known = [buffer.name for buffer in schedule.buffers.values() if buffer.level == 3]
    results = [str(ir.StringAttr(name).value) for name in names]
    for name in results:
        if name not in known:
            raise fail(module, unknown_name(f"result in {RESULTS}", name, known))
    return results


def _extents(module: ir.Operation) -> dict[str, int]:
    """How many there are of each coordinate; no array is so large that more than _MOST_PLACES makes sense."""
    extents: dict[str, int] = {}
    if not isinstance(module.attributes[EXTENTS], ir.DictAttr):
        raise fail(module, f"{EXTENTS} is {module.attributes[EXTENTS]}", "write {row = 4 : i64, column = 4 : i64}")
    for named in ir.DictAttr(module.attributes[EXTENTS]):
        value = int(ir.IntegerAttr(named.attr).value) if isinstance(named.attr, ir.IntegerAttr) else 0
        if not 1 <= value <= _MOST_PLACES:
            what = f"{EXTENTS} has {named.name} = {named.attr}"
            raise fail(module, what, f"give how many there are, from 1 to {_MOST_PLACES}")
        if named.name not in COORDINATES:
            raise fail(module, unknown_name(f"coordinate in {EXTENTS}", named.name, COORDINATES))
        extents[named.name] = value
    return extents


def kernel_functions_of(module: ir.Operation) -> dict[str, ir.Operation]:
    """The kernels of a schedule's module by name."""
    children = [child.operation for child in module.regions[0].blocks[0].operations]
    return {_string(op, "sym_name"): op for op in children if op.name == "func.func" and ENGINE not in op.attributes}


def constant_values_of(module: ir.Operation) -> dict[str, ir.Operation]:
    """What a schedule's constant buffers hold, by the buffers' names: a memref.global each."""
    children = [child.operation for child in module.regions[0].blocks[0].operations]
    values = {_string(op, "sym_name"): op for op in children if op.name == "memref.global"}
    found = {}
    for op in children:
        if op.name != "npu.buffer" or _string(op, "role") != "constant":
            continue
        name = str(ir.FlatSymbolRefAttr(op.attributes[VALUE]).value) if VALUE in op.attributes else ""
        if name not in values:
            what = f"constant buffer '{_string(op, 'sym_name')}' has no value"
            raise fail(op, what, f"name a memref.global of the schedule's module in {VALUE}")
        found[_string(op, "sym_name")] = values[name]
    return found


def _read_buffer(op: ir.Operation, schedule: Schedule) -> None:
    contents = ir.MemRefType(ir.TypeAttr(op.attributes["contents"]).value)
    name, role = _string(op, "sym_name"), _string(op, "role")
    span = tuple(strings(op.attributes["span"]))
    schedule.buffers[name] = model.Buffer(
        name,
        _integer(op, "level"),
        span,
        tuple(contents.shape),
        str(contents.element_type),
        element_bytes(contents.element_type),
        _integer(op, "depth"),
        _address(op, schedule),
        location_of(op),
    )
    roles = {"argument": schedule.arguments, "result": schedule.results, "constant": schedule.constants}
    if role in roles:
        roles[role].append(name)


def _address(op: ir.Operation, schedule: Schedule) -> Address:
    """base + step * (coordinate floordiv divisor), from the map's values."""
    expression = ir.AffineMapAttr(op.attributes["address"]).value.results[0]
    span = strings(op.attributes["span"])
    values = [_at(op, expression, value) for value in range(schedule.extents[span[0]] if span else 1)]
    base = values[0]
    changes = [index for index in range(1, len(values)) if values[index] != values[index - 1]]
    if not changes:
        return Address(base)
    address = Address(base, values[changes[0]] - base, changes[0])
    if any(address.at(index) != value for index, value in enumerate(values)):
        raise fail(op, f"the addresses {values} are no steps of one size", "use base + step * (coordinate floordiv n)")
    return address


def _at(op: ir.Operation, expression: ir.AffineExpr, value: int) -> int:
    """What an expression of a buffer's first coordinate gives for a value of it."""
    if isinstance(expression, ir.AffineConstantExpr):
        return int(expression.value)
    if isinstance(expression, ir.AffineDimExpr):
        return value if expression.position == 0 else 0
    left, right = _at(op, expression.lhs, value), _at(op, expression.rhs, value)
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr):
        return left * right
    if isinstance(expression, ir.AffineFloorDivExpr) and right > 0:
        return left // right
    raise fail(op, f"the address {expression} is no sum of steps", "use base + step * (coordinate floordiv n)")


def _read_semaphore(op: ir.Operation, schedule: Schedule) -> None:
    name, span = _string(op, "sym_name"), tuple(strings(op.attributes["span"]))
    initial, maximum = _integer(op, "initial"), _integer(op, "maximum")
    schedule.semaphores[name] = model.Semaphore(name, span, initial, maximum, _string(op, "cause"), location_of(op))


def _read_stream(op: ir.Operation, schedule: Schedule) -> None:
    name, span = _string(op, "sym_name"), tuple(strings(op.attributes["span"]))
    ends = (_symbol(op, "sender"), _symbol(op, "receiver"))
    schedule.streams[name] = model.Stream(
        name, span, *ends, tuple(strings(op.attributes["multicast"])), location_of(op)
    )


_THINGS = {"npu.buffer": _read_buffer, "npu.semaphore": _read_semaphore, "npu.stream": _read_stream}


def _engine_fields(function: ir.Operation) -> tuple[Stage, int, tuple[str, ...]]:
    """A function's stage, lane and span, as its npu.engine says."""
    attribute = function.attributes[ENGINE]
    if not str(attribute).startswith("#npu.engine<"):
        raise fail(function, f"npu.engine is {attribute}", 'write #npu.engine<{stage = "core", lane = 0 : i64, ...}>')
    fields = {a.name: a.attr for a in ir.DictAttr(ir.DynamicAttr(attribute).params[0])}
    missing = [name for name in ("stage", "lane", "span") if name not in fields]
    if missing:
        raise fail(function, f"npu.engine lacks {', '.join(missing)}")
    stage, lane, span = (fields[name] for name in ("stage", "lane", "span"))
    known = {stage.value: stage for stage in Stage}
    if not isinstance(stage, ir.StringAttr) or str(stage.value) not in known:
        raise fail(function, unknown_name("stage", str(stage).strip('"'), known))
    if not isinstance(lane, ir.IntegerAttr) or int(lane.value) < 0:
        raise fail(function, f"npu.engine has lane {lane}", "lanes are 0 and 1")
    if not isinstance(span, ir.ArrayAttr) or not all(isinstance(name, ir.StringAttr) for name in span):
        raise fail(function, f"npu.engine has span {span}", 'write names of coordinates, as ["row", "column"]')
    return known[str(stage.value)], int(lane.value), tuple(strings(span))


@dataclass
class _EngineReader:
    schedule: Schedule
    loops: int = 0

    def read(self, function: ir.Operation) -> model.Engine:
        stage, lane, span = _engine_fields(function)
        block = function.regions[0].blocks[0]
        if len(block.arguments) != len(span):
            raise fail(function, f"has {len(block.arguments)} arguments for the {len(span)} coordinates it spans")
        names = {value: Affine.counter(name) for value, name in zip(block.arguments, span)}
        steps = self._steps(block, names)
        return model.Engine(_string(function, "sym_name"), stage, lane, span, steps, location_of(function))

    def _steps(self, block: ir.Block, names: dict[ir.Value, Affine]) -> tuple[model.Step, ...]:
        steps: list[model.Step] = []
        for child in block.operations:
            op = child.operation
            if op.name == "arith.constant":
                names[op.results[0]] = _constant(op)
            elif op.name == "scf.for":
                steps.append(self._loop(op, names))
            elif op.name.startswith("npu."):
                steps.append(self._step(op, names))
            elif op.name not in ("func.return", "scf.yield"):
                raise fail(op, f"{op.name} has no place in an engine's program", "use scf.for and the steps of npu")
        return tuple(steps)

    def _loop(self, op: ir.Operation, names: dict[ir.Value, Affine]) -> model.Step:
        bounds = [names.get(value) for value in list(op.operands)[:3]]
        if any(bound is None or not bound.is_constant for bound in bounds):
            raise fail(op, "the bounds of a loop are not constant")
        lower, upper, step = (bound.constant for bound in bounds if bound is not None)
        if step < 1:
            raise fail(op, f"a loop has step {step}", "steps are positive")
        trips = max(0, -(-(upper - lower) // step))
        block = op.regions[0].blocks[0]
        if COORDINATE in op.attributes:
            if (lower, step) != (0, 1):
                raise fail(
                    op, f"a loop over coordinates goes from {lower} in steps of {step}", "go from 0 in steps of 1"
                )
            if not isinstance(op.attributes[COORDINATE], ir.StringAttr):
                raise fail(op, f"{COORDINATE} is {op.attributes[COORDINATE]}", 'write a coordinate\'s name, as "row"')
            name = _string(op, COORDINATE)
            body = self._steps(block, {**names, block.arguments[0]: Affine.counter(name)})
            return model.Each(name, trips, body, location_of(op))
        name = f"t{self.loops}"
        self.loops += 1
        body = self._steps(block, {**names, block.arguments[0]: Affine.counter(name, step, lower)})
        return model.Repeat(name, trips, body)

    def _step(self, op: ir.Operation, names: dict[ir.Value, Affine]) -> model.Step:
        values = [names[value] for value in op.operands]
        if op.name in ("npu.acquire", "npu.release"):
            kind = model.Acquire if op.name == "npu.acquire" else model.Release
            return kind(self._ref(op, _SEMAPHORE, "at", values), location_of(op))
        if op.name in ("npu.send", "npu.receive"):
            sends = op.name == "npu.send"
            stream = self._ref(op, _STREAM, "stream_at", values)
            access = self._access(op, values)
            kind_of_end = model.Send if sends else model.Receive
            return kind_of_end(stream, access, location_of(op))
        if op.name == "npu.compute":
            return self._compute(op, values)
        if op.name == "npu.configure":
            return model.Configure(_integer(op, "descriptors"))
        raise fail(op, f"{op.name} has no place in an engine's program")

    def _ref(self, op: ir.Operation, kind: str, at: str, values: list[Affine]) -> Ref:
        name = _symbol(op, kind)
        self._check_name(op, kind, name)
        return Ref(name, self._sums(op, at, values))

    def _check_name(self, op: ir.Operation, kind: str, name: str) -> None:
        known: dict[str, Collection[str]] = {
            _SEMAPHORE: self.schedule.semaphores,
            _STREAM: self.schedule.streams,
            _BUFFER: self.schedule.buffers,
        }
        if name not in known[kind]:
            raise fail(op, unknown_name(kind, name, known[kind]))

    def _sums(self, op: ir.Operation, attribute: str, values: list[Affine]) -> tuple[Affine, ...]:
        return _evaluate(op, op.attributes[attribute], values)

    def _access(self, op: ir.Operation, values: list[Affine]) -> model.Access:
        limits = []
        for limit in ir.ArrayAttr(op.attributes["limits"]):
            weights, bound = ir.ArrayAttr(limit)
            limits.append(model.Limit(tuple(integers(weights)), _evaluate(op, bound, values)[0]))
        return model.Access(
            self._ref(op, _BUFFER, "buffer_at", values),
            self._sums(op, "slot", values)[0],
            self._sums(op, "offset", values)[0],
            tuple(integers(op.attributes["sizes"])),
            tuple(integers(op.attributes["strides"])),
            tuple(limits),
            bool(_integer(op, "zeros")),
        )

    def _compute(self, op: ir.Operation, values: list[Affine]) -> model.Step:
        at = self._sums(op, "at", values)
        operands = []
        lists = [list(ir.ArrayAttr(op.attributes[name])) for name in ("buffers", "slots")]
        for symbol, slot, effect in zip(*lists, strings(op.attributes["effects"])):
            name = str(ir.FlatSymbolRefAttr(symbol).value)
            self._check_name(op, _BUFFER, name)
            elements = prod(self.schedule.buffers[name].shape)
            access = model.Access(Ref(name, at), _evaluate(op, slot, values)[0], Affine(), (elements,), (1,))
            operands.append(model.Operand(access, "r" in effect, "w" in effect))
        kernel, kind = _symbol(op, "kernel"), _string(op, "kind")
        return model.Compute(kernel, kind, _integer(op, "cycles"), tuple(operands), location_of(op))


def _constant(op: ir.Operation) -> Affine:
    value = op.attributes["value"]
    if not isinstance(value, ir.IntegerAttr):
        raise fail(op, f"arith.constant {value} is no index", "engines compute with indices only")
    return Affine(int(ir.IntegerAttr(value).value))


def _evaluate(op: ir.Operation, attribute: ir.Attribute, values: list[Affine]) -> tuple[Affine, ...]:
    value = ir.AffineMapAttr(attribute).value
    found = [evaluate_affine(op, expression, values, value.n_dims) for expression in value.results]
    return tuple(total for total in found if isinstance(total, Affine))


def _string(op: ir.Operation, name: str) -> str:
    return str(ir.StringAttr(op.attributes[name]).value)


def _symbol(op: ir.Operation, name: str) -> str:
    return str(ir.FlatSymbolRefAttr(op.attributes[name]).value)


def _integer(op: ir.Operation, name: str) -> int:
    return int(ir.IntegerAttr(op.attributes[name]).value)
