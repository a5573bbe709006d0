"""npuflow-check-schedule: what a schedule needs, the device has."""

from __future__ import annotations

from dataclasses import dataclass, replace

from npuflow.bindings import ir
from npuflow.core.diagnostics import location_of
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.dialect.device import chosen_device
from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation
from npuflow.target import Device


@register_pass
@dataclass(frozen=True)
class CheckSchedule(Pass):
    """Refuses schedules that the device cannot carry out, with every need above its limit; changes nothing.

    It looks at the grid, DMA channels, descriptors with their patterns, locks, memories and the cores' programs, and
    before all that at names, coordinates and what accesses reach. Numbers of channels, descriptors and locks must be
    there, of the right group, and one thing's only; what has none is numbered as `npuflow-project-engines` does.

        "npu.buffer"() {contents = memref<256x256xi32, 2>, level = 1 : i64, sym_name = "acc", ...}

    is refused by

        error: L1 of core (0,0) needs 262144 bytes, has 64512 (acc 262144); hint: use smaller tiles or fewer slots
    """

    name = "npuflow-check-schedule"
    group = "schedule"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        # What schedules are made of is for those who have one, not for every start of a command line.
        from npuflow.schedule.ir.read_schedule import schedules_of

        device = chosen_device(op, self.device, scheduled=False)
        for module in schedules_of(op):
            try:
                _check(module, device, context)
            except InputError as error:
                context.report(error)


def _check(module: ir.Operation, device: Device, context: PassContext) -> None:
    from npuflow.schedule.check.legality import violations
    from npuflow.schedule.ir.read_kernels import kernel_interfaces
    from npuflow.schedule.ir.read_schedule import read_schedule

    schedule = read_schedule(module, device)
    for violation in violations(schedule, device, kernel_interfaces(module, device)):
        place = violation.location or location_of(module)
        if violation.is_warning:
            context.remark(_location(place, module.context), str(violation))
        else:
            lacks = violation.shortage and replace(violation.shortage, function=schedule.name)
            context.report(InputError(Diagnostic(Severity.ERROR, str(violation), place, shortage=lacks)))


def _location(place: SourceLocation | None, context: ir.Context) -> ir.Location:
    return (
        ir.Location.unknown(context)
        if place is None
        else ir.Location.file(place.file, place.line, place.column, context)
    )
