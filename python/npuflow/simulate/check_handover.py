"""npuflow-check-handover: no deadlock, and every buffer's writes before its reads."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.passes import Pass, PassContext
from npuflow.core.registry import register_pass
from npuflow.dialect.device import chosen_device
from npuflow.errors import InputError


@register_pass
@dataclass(frozen=True)
class CheckHandover(Pass):
    """Refuses schedules whose engines don't hand over their buffers in order; changes nothing.

    Every acquire must have its release, no semaphore may exceed its maximum, nobody may wait for ever, and what is read
    must have been written and must not be overwritten too early. The run that shows it holds for every order of events.

        "npu.acquire"(%row) {semaphore = @a_full, ...}
        "npu.acquire"(%row) {semaphore = @a_full, ...}

    is refused by

        error: semaphore 'a_full[0]' is acquired 16 times and released 8 times (...); hint: each acquire needs ...
    """

    name = "npuflow-check-handover"
    group = "simulate"
    device: str = option("", "device name or TOML file; default: the module's npu.device, else npu1")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        # The native core and what schedules are made of is for those who check, not for every start of a command line.
        from npuflow.schedule.ir.read_schedule import schedules_of
        from npuflow.simulate.prove_handover import check_handover

        device = chosen_device(op, self.device, scheduled=False)
        for module in schedules_of(op):
            try:
                check_handover(module, device, context)
            except InputError as error:
                context.report(error)
