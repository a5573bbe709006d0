"""`#npu.device` on a module: which device it is compiled for, read and written in one place."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.target import DEFAULT_DEVICE, Device, load_device

DEVICE = "npu.device"


def chosen_device(op: ir.Operation, option: str) -> Device:
    """The device a pass works for: its option, else what the module says, else the default."""
    return load_device(option or recorded_device(op) or DEFAULT_DEVICE)


def recorded_device(op: ir.Operation) -> str | None:
    """The name in the `npu.device` of `op` or of the nearest op around it."""
    at: ir.Operation | None = op.operation
    while at is not None:
        if DEVICE in at.attributes and str(at.attributes[DEVICE]).startswith("#npu.device<"):
            return str(ir.StringAttr(ir.DynamicAttr(at.attributes[DEVICE]).params[0]).value)
        at = at.parent.operation if at.parent is not None else None
    return None


def record_device(op: ir.Operation, device: Device, option: str) -> None:
    """Notes on `op` what it is compiled for: by the name or file that was asked for, else by the device's own name."""
    text = f'#npu.device<"{option or device.name}", {{columns = {device.columns} : i64, rows = {device.rows} : i64}}>'
    op.attributes[DEVICE] = ir.Attribute.parse(text, op.context)
