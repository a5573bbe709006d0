"""Schedules that come as such, written by hand or by npuflow-opt: told apart from functions, and for which device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.diagnostics import location_of
from npuflow.core.passes import fail, ops_of
from npuflow.dialect.device import recorded_device
from npuflow.errors import Diagnostic, InputError, Severity
from npuflow.execute.arrays import functions_of
from npuflow.ops.allowed_ops import problems_in
from npuflow.schedule.ir.emit import ENGINE, EXTENTS
from npuflow.schedule.ir.read_schedule import kernel_functions_of
from npuflow.target import load_device


@dataclass(frozen=True)
class Given:
    """What a module holds: `functions` to be compiled and `schedules`, each a module of its own unless there is none.

    `names` are those of both in the order they were written.
    """

    names: tuple[str, ...]
    functions: ir.Module | None
    schedules: ir.Module | None


def schedules_in(module: ir.Operation) -> list[ir.Operation]:
    """The module itself if it is a schedule, or those that stand in it."""
    if EXTENTS in module.attributes:
        return [module]
    children = [child.operation for child in module.regions[0].blocks[0].operations]
    return [op for op in children if op.name == "builtin.module" and EXTENTS in op.attributes]


def schedule_name(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes["sym_name"]).value) if "sym_name" in op.attributes else "schedule"


def take_apart(module: ir.Module) -> Given:
    """Functions and schedules of a module, which may lose its schedules; raises for what is a bit of both."""
    root = module.operation
    schedules = schedules_in(root)
    functions = [] if root in schedules else list(functions_of(root))
    problems = [d for error in _mixtures(root, schedules) for d in error.diagnostics]
    if problems:
        raise InputError(problems)
    if not schedules or not functions:
        names = [*map(schedule_name, schedules), *(str(f.opview.name.value) for f in functions)]
        return Given(tuple(names), None if schedules else module, module if schedules else None)
    children = (child.operation for child in root.regions[0].blocks[0].operations)
    ordered = [op for op in children if op in schedules or op in functions]
    names = [schedule_name(op) if op in schedules else str(op.opview.name.value) for op in ordered]
    with root.context, root.location:
        apart = ir.Module.create()
    for name, value in root.attributes.items():
        apart.operation.attributes[name] = value
    move(schedules, apart)
    return Given(tuple(names), module, apart)


def move(schedules: Sequence[ir.Operation], target: ir.Module) -> None:
    """Takes schedules out of their module and puts them at the end of another."""
    for op in schedules:
        op.detach_from_parent()
        ir.InsertionPoint(target.body).insert(op)


def _mixtures(root: ir.Operation, schedules: list[ir.Operation]) -> Iterator[InputError]:
    """Functions of which nobody can say whether they are to be compiled or are compiled already."""
    for schedule in schedules:
        kernels = kernel_functions_of(schedule).values()
        yield from (_no_kernel(f) for f in kernels if _has_tensors(f))
        yield from (problem.error() for f in kernels for problem in problems_in(f))
    if root in schedules:
        return
    for child in root.regions[0].blocks[0].operations:
        function = child.operation
        if function.name != "func.func":
            continue
        steps = [op for op in ops_of(function) if op.name.startswith("npu.")]
        if not steps and ENGINE not in function.attributes:
            continue
        name, hint = function.opview.name.value, f"put engines and what they use into a module with {EXTENTS}"
        work = next((op for op in ops_of(function) if op.name.startswith("linalg.")), None)
        if work is not None and steps:
            what = f"@{name} has {work.name} to be compiled and {steps[0].name} of a schedule"
            yield fail(
                steps[0], what, "keep functions and schedules apart; a kernel is a function that npu.compute names"
            )
        else:
            found = steps[0].name if steps else ENGINE
            yield fail(function, f"@{name} has {found}, but stands in no schedule", hint)


def _has_tensors(function: ir.Operation) -> bool:
    kinds = ir.FunctionType(function.opview.type)
    return any(isinstance(kind, ir.RankedTensorType) for kind in (*kinds.inputs, *kinds.results))


def _no_kernel(function: ir.Operation) -> InputError:
    what = f"@{function.opview.name.value} is on tensors, but stands in a schedule, whose kernels are on buffers in L1"
    return fail(function, what, "move it out of the schedule's module to have it compiled")


# Devices


def device_of(schedules: Sequence[ir.Operation], asked: str | None) -> str | None:
    """The device that schedules are for, by name or file; raises where they contradict each other or what is asked."""
    chosen = asked
    for op in schedules:
        recorded = _recorded(op)
        if recorded is None:
            continue
        if chosen is not None and load_device(chosen) != load_device(recorded):
            what = f"@{schedule_name(op)} is a schedule for {recorded}, but {chosen} is asked for"
            hint = f"run it with --device={recorded} and all columns, or schedule it for {chosen}"
            if asked is None:
                what = (
                    f"@{schedule_name(op)} is a schedule for {recorded}, but another one for {chosen} comes before it"
                )
                hint = "a run has one device: give them files of their own"
            raise fail(op, what, hint)
        chosen = chosen or recorded
    return chosen


def _recorded(op: ir.Operation) -> str | None:
    """The device that an op names, if any; what is wrong with the name is said at the op."""
    try:
        return recorded_device(op)
    except InputError as error:
        place = location_of(op)
        raise InputError(
            [Diagnostic(Severity.ERROR, d.message, d.location or place) for d in error.diagnostics]
        ) from None
