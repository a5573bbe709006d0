"""IR to a schedule: the inverse of `emit`, for schedules of ours and hand-written ones."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.build import element_bytes
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import fail, ops_of
from npuflow.dialect.verify import COORDINATES, strings
from npuflow.errors import unknown_name
from npuflow.schedule.data import model
from npuflow.schedule.data.model import Address, Schedule
from npuflow.schedule.ir.emit import CLASS, ENGINE, EXTENTS, LOCKS, RESULTS, VALUE
from npuflow.schedule.ir.fields import integer, numbers, string, symbol
from npuflow.schedule.ir.read_engine import EngineReader
from npuflow.target import Device, KernelClass

_MOST_PLACES = 1024


def schedules_of(root: ir.Operation) -> list[ir.Operation]:
    """The modules below `root` (or `root` itself) that are schedules."""
    return [op for op in [root.operation, *ops_of(root, "builtin.module")] if EXTENTS in op.attributes]


def read_schedule(module: ir.Operation, device: Device) -> Schedule:
    """The schedule that a module holds for a device; raises InputError, located, for what doesn't fit together."""
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
    for name, function in kernel_functions_of(module).items():
        if CLASS in function.attributes:
            schedule.classes[name] = _class(function)
    for function in functions:
        engine = EngineReader(schedule, device.ways).read(function)
        schedule.engines[engine.name] = engine
    return schedule


def _class(function: ir.Operation) -> KernelClass:
    attribute, known = function.attributes[CLASS], {kernels.value: kernels for kernels in KernelClass}
    text = str(attribute.value) if isinstance(attribute, ir.StringAttr) else str(attribute)
    if text not in known:
        raise fail(function, unknown_name(CLASS, text, known))
    return known[text]


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
    return {string(op, "sym_name"): op for op in children if op.name == "func.func" and ENGINE not in op.attributes}


def constant_values_of(module: ir.Operation) -> dict[str, ir.Operation]:
    """What a schedule's constant buffers hold, by the buffers' names: a memref.global each."""
    children = [child.operation for child in module.regions[0].blocks[0].operations]
    values = {string(op, "sym_name"): op for op in children if op.name == "memref.global"}
    found = {}
    for op in children:
        if op.name != "npu.buffer" or string(op, "role") != "constant":
            continue
        name = str(ir.FlatSymbolRefAttr(op.attributes[VALUE]).value) if VALUE in op.attributes else ""
        if name not in values:
            what = f"constant buffer '{string(op, 'sym_name')}' has no value"
            raise fail(op, what, f"name a memref.global of the schedule's module in {VALUE}")
        found[string(op, "sym_name")] = values[name]
    return found


def _read_buffer(op: ir.Operation, schedule: Schedule) -> None:
    contents = ir.MemRefType(ir.TypeAttr(op.attributes["contents"]).value)
    name, role = string(op, "sym_name"), string(op, "role")
    span = tuple(strings(op.attributes["span"]))
    schedule.buffers[name] = model.Buffer(
        name,
        integer(op, "level"),
        span,
        tuple(contents.shape),
        str(contents.element_type),
        element_bytes(contents.element_type),
        integer(op, "depth"),
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
    name, span = string(op, "sym_name"), tuple(strings(op.attributes["span"]))
    initial, maximum = integer(op, "initial"), integer(op, "maximum")
    locks = numbers(op, LOCKS, op.attributes[LOCKS]) if LOCKS in op.attributes else ()
    schedule.semaphores[name] = model.Semaphore(
        name, span, initial, maximum, string(op, "cause"), location_of(op), locks
    )


def _read_stream(op: ir.Operation, schedule: Schedule) -> None:
    name, span = string(op, "sym_name"), tuple(strings(op.attributes["span"]))
    ends = (symbol(op, "sender"), symbol(op, "receiver"))
    schedule.streams[name] = model.Stream(
        name, span, *ends, tuple(strings(op.attributes["multicast"])), location_of(op)
    )


_THINGS = {"npu.buffer": _read_buffer, "npu.semaphore": _read_semaphore, "npu.stream": _read_stream}
