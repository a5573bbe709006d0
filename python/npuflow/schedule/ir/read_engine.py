"""A function of a schedule's module to the program of an engine."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import prod

from npuflow.bindings import ir
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import fail
from npuflow.dialect.npu import EngineAttr
from npuflow.dialect.verify import PATTERN, integers, pattern_problems, strings
from npuflow.errors import unknown_name
from npuflow.schedule.data import model
from npuflow.schedule.data.affine import Affine
from npuflow.schedule.data.model import Descriptors, Ref, Schedule
from npuflow.schedule.ir.emit import COORDINATE, DESCRIPTORS, ENGINE, PADDING
from npuflow.schedule.ir.fields import MOST_NUMBER, integer, numbers, string, symbol
from npuflow.schedule.nest.indices import evaluate_affine
from npuflow.target import Stage, Ways

_SEMAPHORE, _STREAM, _BUFFER = "semaphore", "stream", "buffer"


def _engine_fields(function: ir.Operation, ways: Ways) -> tuple[Stage, int, tuple[str, ...], tuple[int, ...]]:
    """A function's stage, lane, span and channels, as its npu.engine says."""
    attribute = function.attributes[ENGINE]
    if not isinstance(attribute, EngineAttr):
        raise fail(function, f"npu.engine is {attribute}", 'write #npu.engine<{stage = "core", lane = 0 : i64, ...}>')
    fields = {a.name: a.attr for a in ir.DictAttr(ir.DynamicAttr(attribute).params[0])}
    missing = [name for name in ("stage", "lane", "span") if name not in fields]
    if missing:
        raise fail(function, f"npu.engine lacks {', '.join(missing)}")
    stage, lane, span = (fields[name] for name in ("stage", "lane", "span"))
    known = ways.stages
    if not isinstance(stage, ir.StringAttr) or str(stage.value) not in known:
        raise fail(function, unknown_name("stage", str(stage).strip('"'), known))
    if not isinstance(lane, ir.IntegerAttr) or int(lane.value) < 0:
        raise fail(function, f"npu.engine has lane {lane}", "lanes are 0 and 1")
    if not isinstance(span, ir.ArrayAttr) or not all(isinstance(name, ir.StringAttr) for name in span):
        raise fail(function, f"npu.engine has span {span}", 'write names of coordinates, as ["row", "column"]')
    channels = numbers(function, "channels of npu.engine", fields["channels"]) if "channels" in fields else ()
    return known[str(stage.value)], int(lane.value), tuple(strings(span)), channels


@dataclass
class EngineReader:
    """Reads functions as engines of a schedule whose buffers, semaphores and streams are known."""

    schedule: Schedule
    ways: Ways
    loops: int = 0

    def read(self, function: ir.Operation) -> model.Engine:
        stage, lane, span, channels = _engine_fields(function, self.ways)
        block = function.regions[0].blocks[0]
        if len(block.arguments) != len(span):
            raise fail(function, f"has {len(block.arguments)} arguments for the {len(span)} coordinates it spans")
        names = {value: Affine.counter(name) for value, name in zip(block.arguments, span)}
        steps = self._steps(block, names)
        name = string(function, "sym_name")
        return model.Engine(name, stage, lane, span, steps, location_of(function), channels)

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
            name = string(op, COORDINATE)
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
            return kind_of_end(stream, access, location_of(op), _descriptors(op))
        if op.name == "npu.compute":
            return self._compute(op, values)
        if op.name == "npu.configure":
            return model.Configure(integer(op, "descriptors"))
        raise fail(op, f"{op.name} has no place in an engine's program")

    def _ref(self, op: ir.Operation, kind: str, at: str, values: list[Affine]) -> Ref:
        name = symbol(op, kind)
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
        buffer, slot = self._ref(op, _BUFFER, "buffer_at", values), self._sums(op, "slot", values)[0]
        fields = {name: op.attributes[name] for name in PATTERN}
        return replace(_pattern(op, fields, buffer, slot, values), zeros=bool(integer(op, "zeros")))

    def _compute(self, op: ir.Operation, values: list[Affine]) -> model.Step:
        at = self._sums(op, "at", values)
        operands = []
        lists = [list(ir.ArrayAttr(op.attributes[name])) for name in ("buffers", "slots")]
        paddings = _paddings(op, len(lists[0]), len(values))
        for buffer, slot, padding, effect in zip(*lists, paddings, strings(op.attributes["effects"])):
            name = str(ir.FlatSymbolRefAttr(buffer).value)
            self._check_name(op, _BUFFER, name)
            elements, turn = prod(self.schedule.buffers[name].shape), _evaluate(op, slot, values)[0]
            access = model.Access(Ref(name, at), turn, Affine(), (elements,), (1,))
            if padding:
                access = replace(_pattern(op, padding, access.buffer, turn, values), zeros=True)
            operands.append(model.Operand(access, "r" in effect, "w" in effect))
        kernel, kind = symbol(op, "kernel"), string(op, "kind")
        return model.Compute(kernel, kind, integer(op, "cycles"), tuple(operands), location_of(op))


def _descriptors(op: ir.Operation) -> Descriptors | None:
    if DESCRIPTORS not in op.attributes:
        return None
    attribute = op.attributes[DESCRIPTORS]
    fields = {named.name: named.attr for named in attribute} if isinstance(attribute, ir.DictAttr) else {}
    count = fields.get("count")
    number = int(count.value) if isinstance(count, ir.IntegerAttr) else 0
    if set(fields) != {"first", "count"} or not 1 <= number <= MOST_NUMBER:
        raise fail(op, f"{DESCRIPTORS} is {attribute}", "write {first = [0], count = 1 : i64}, or leave it out")
    return Descriptors(numbers(op, f"first of {DESCRIPTORS}", fields["first"]), number)


def _pattern(
    op: ir.Operation, fields: Mapping[str, ir.Attribute], buffer: Ref, slot: Affine, values: list[Affine]
) -> model.Access:
    """How an access goes through a slot of a buffer."""
    limits = []
    for limit in ir.ArrayAttr(fields["limits"]):
        weights, bound = ir.ArrayAttr(limit)
        limits.append(model.Limit(tuple(integers(weights)), _evaluate(op, bound, values)[0]))
    sizes, strides = (tuple(integers(fields[name])) for name in ("sizes", "strides"))
    return model.Access(buffer, slot, _evaluate(op, fields["offset"], values)[0], sizes, strides, tuple(limits))


def _paddings(op: ir.Operation, count: int, indices: int) -> list[dict[str, ir.Attribute]]:
    """What a kernel's engine reads of each buffer with zeros around it; nothing of those that it reads as they are."""
    if PADDING not in op.attributes:
        return [{}] * count
    attribute = op.attributes[PADDING]
    items = list(attribute) if isinstance(attribute, ir.ArrayAttr) else []
    found = [{named.name: named.attr for named in item} for item in items if isinstance(item, ir.DictAttr)]
    wrong = [fields for fields in found if fields and not _is_pattern(fields, indices)]
    if len(found) != count or len(items) != count or wrong:
        what = f"{PADDING} is {attribute}"
        raise fail(op, what, f"give {', '.join(PATTERN)} for each of {count} buffers, or {{}} where nothing is padded")
    return found


def _is_pattern(fields: Mapping[str, ir.Attribute], indices: int) -> bool:
    kinds = {"offset": ir.AffineMapAttr} | dict.fromkeys(("sizes", "strides", "limits"), ir.ArrayAttr)
    if set(fields) != set(PATTERN) or any(not isinstance(fields[name], kind) for name, kind in kinds.items()):
        return False
    return not pattern_problems(fields, indices)


def _constant(op: ir.Operation) -> Affine:
    value = op.attributes["value"]
    if not isinstance(value, ir.IntegerAttr):
        raise fail(op, f"arith.constant {value} is no index", "engines compute with indices only")
    return Affine(int(ir.IntegerAttr(value).value))


def _evaluate(op: ir.Operation, attribute: ir.Attribute, values: list[Affine]) -> tuple[Affine, ...]:
    value = ir.AffineMapAttr(attribute).value
    found = [evaluate_affine(op, expression, values, value.n_dims) for expression in value.results]
    return tuple(total for total in found if isinstance(total, Affine))
