"""`#npu.device` on a module: which device it is compiled for, read and written in one place."""

from __future__ import annotations

from dataclasses import replace

from npuflow.bindings import ir
from npuflow.dialect.npu import DeviceAttr
from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, UsageError, with_hint
from npuflow.target import DEFAULT_DEVICE, Device, load_device, planned

DEVICE = "npu.device"


def chosen_device(op: ir.Operation, option: str, *, scheduled: bool = True) -> Device:
    """The device a pass works for: its option, else what the module says, else the default.

    It is one that programs can be `scheduled` for, where that is asked for.
    """
    return load_device(option or recorded_device(op) or DEFAULT_DEVICE, scheduled=scheduled)


def planned_device(op: ir.Operation, option: str) -> Device:
    """The same device, as what comes before schedules sees it."""
    return planned(chosen_device(op, option))


def recorded_device(op: ir.Operation) -> str | None:
    """The name in the `npu.device` of `op` or of the nearest op around it; raises InputError for an unknown one."""
    at: ir.Operation | None = op.operation
    while at is not None:
        if DEVICE in at.attributes:
            if not isinstance(at.attributes[DEVICE], DeviceAttr):
                what = with_hint(f"{DEVICE} is {at.attributes[DEVICE]}", 'write #npu.device<"npu1", {}>')
                raise InputError(Diagnostic(Severity.ERROR, what, _place(at)))
            return _known(str(ir.StringAttr(ir.DynamicAttr(at.attributes[DEVICE]).params[0]).value), at)
        at = at.parent.operation if at.parent is not None else None
    return None


def _known(name: str, op: ir.Operation) -> str:
    """A device's name as the IR gives it: if it is wrong, that is the input's fault, not the command's."""
    try:
        load_device(name)
    except UsageError as error:
        raise InputError([replace(d, location=_place(op)) for d in error.diagnostics]) from None
    return name


def _place(op: ir.Operation) -> SourceLocation | None:
    place = op.location
    if not isinstance(place, ir.FileLineColLoc):
        return None
    return SourceLocation(str(place.filename), max(place.start_line, 1), max(place.start_col, 1))


def record_device(op: ir.Operation, device: Device, option: str) -> None:
    """Notes on `op` what it is compiled for: by the name or file that was asked for, else by the device's own name."""
    name = ir.StringAttr.get(option or device.name, op.context)
    text = f"#npu.device<{name}, {{columns = {device.columns} : i64, rows = {device.rows} : i64}}>"
    op.attributes[DEVICE] = ir.Attribute.parse(text, op.context)
