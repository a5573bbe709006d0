"""A function's plan: in which order its parts run, and where what they hand over lies, from which phase to which. Pure.

Arguments, tables and results have places of their own in DRAM. What else one phase hands to others lies in a
*workspace*, in the place of what isn't needed any more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from npuflow.allocate.problem import LiveBuffer, peak_bytes
from npuflow.allocate.solve import allocate
from npuflow.network.calls import Call, CallList, last_phases
from npuflow.network.residency import Home, Slab
from npuflow.network.task_order import OrderedTask, TaskGraph, best_order

# DRAM's bursts, and vectors of any processor.
_ALIGNMENT_BYTES = 64
# An exact search for addresses: networks' values are few.
_SECONDS = 1.0


class ValueRole(Enum):
    """What a tensor is to a function."""

    ARGUMENT = "argument"
    TABLE = "table"
    RESULT = "result"
    BETWEEN = "between"


@dataclass(frozen=True)
class PlannedValue:
    """A tensor: needed from phase `first` to `last`; it lies at `address` of the workspace, or has a `home` in L2.

    One that several phases write, a part each, is one tensor, by the `number` that it has behind the first of them, or
    in front where it is an argument, of which `least_bytes` are read or written. With `stays`, the first and the last
    phase of its home, it is in DRAM as well.
    """

    number: int
    role: ValueRole
    bytes: int
    first: int
    last: int
    address: int | None = None
    home: Home | None = None
    updated_bytes: int | None = None
    stays: tuple[int, int] | None = None

    @property
    def at_home(self) -> tuple[int, int]:
        """The first and the last phase in which it is at home, if it has one."""
        return self.stays or (self.first, self.last)

    @property
    def is_in_dram(self) -> bool:
        return self.home is None or self.stays is not None

    @property
    def least_bytes(self) -> int:
        """What has to be moved of it, if it lies in DRAM: all of it, or of an updated argument what is said."""
        return self.bytes if self.updated_bytes is None else self.updated_bytes

    @property
    def slabs(self) -> tuple[tuple[Slab, int], ...]:
        """Where it is at home, with the bytes there."""
        return () if self.home is None else tuple(zip(self.home.slabs, self.home.slab_bytes(self.bytes), strict=True))


@dataclass(frozen=True)
class FunctionPlan:
    """The parts in order, and all tensors that they read and write.

    Of what lies in the workspace at most `alive_bytes` live at a time, `apart_bytes` are all of it.
    """

    phases: tuple[str, ...]
    values: tuple[PlannedValue, ...]
    workspace_bytes: int

    @property
    def between(self) -> tuple[PlannedValue, ...]:
        return tuple(value for value in self.values if value.role is ValueRole.BETWEEN)

    @property
    def in_workspace(self) -> tuple[PlannedValue, ...]:
        return tuple(value for value in self.between if value.is_in_dram)

    @property
    def resident_bytes(self) -> int:
        return sum(value.bytes for value in self.between if value.home is not None)

    @property
    def kept(self) -> tuple[PlannedValue, ...]:
        """What is brought from DRAM once, and stays for several phases."""
        return tuple(value for value in self.values if value.stays is not None)

    def resident_in(self, phase: int) -> dict[int, list[tuple[int, int]]]:
        """From which byte to which tensors are at home in a phase, by the memory's number."""
        found: dict[int, list[tuple[int, int]]] = {}
        for value in self.values:
            first, last = value.at_home
            for slab, size in value.slabs if first <= phase <= last else ():
                found.setdefault(slab.column, []).append((slab.address, slab.address + size))
        return found

    @property
    def alive_bytes(self) -> int:
        return peak_bytes(_live(self.between))

    @property
    def apart_bytes(self) -> int:
        return sum(value.bytes for value in self.between)

    def alive_in(self, phase: int) -> int:
        """The bytes between phases that a phase needs, or that later ones do."""
        return sum(value.bytes for value in self.between if value.first <= phase <= value.last)


def plan_of(calls: CallList) -> FunctionPlan:
    """What a list of calls says, as a plan."""
    last, versions = last_phases(calls), calls.first_versions
    made = {value: (phase, call) for phase, call in enumerate(calls.calls) for value in call.outputs}
    addresses = {v: a for call in calls.calls for v, a in zip(call.outputs, call.addresses, strict=True)}
    brought = {v: (phase, home) for phase, call in enumerate(calls.calls) for v, home in call.brought.items()}
    values = []
    for number, size in enumerate(calls.sizes):
        if versions.get(number, number) != number:
            continue
        same = [number, *(other for other, one in versions.items() if one == number and other != number)]
        first = made[number][0] if number in made else 0
        home, stays = made[number][1].home(number) if number in made else None, None
        if number in brought:
            begin, home = brought[number]
            stays = begin, max(phase for phase, call in enumerate(calls.calls) if number in call.near)
        until = max(last[each] for each in same)
        role, updated = _role(same, calls, made), _updated_bytes(same, calls) if number not in made else None
        values.append(PlannedValue(number, role, size, first, until, addresses.get(number), home, updated, stays))
    return FunctionPlan(tuple(call.name for call in calls.calls), tuple(values), calls.workspace_bytes)


def tables_of_one_call(calls: CallList) -> frozenset[int]:
    """The tables that one call alone reads, once: nobody else minds how they lie in DRAM."""
    reads = Counter(number for call in calls.calls for number in call.inputs)
    made = {number for call in calls.calls for number in call.outputs}
    others = made | {*calls.returned, *calls.first_versions.values()}
    return frozenset(n for n in range(calls.arguments, len(calls.sizes)) if n not in others and reads[n] == 1)


def _updated_bytes(versions: Sequence[int], calls: CallList) -> int | None:
    """What is written into an argument, and all of it if anybody reads it; None where nothing is written."""
    if len(versions) == 1:
        return None
    is_read = any(
        value in versions and value not in call.updates.values() for call in calls.calls for value in call.inputs
    )
    written = sum(call.written_bytes.get(value, 0) for call in calls.calls for value in versions)
    return written + is_read * calls.sizes[versions[0]]


def _role(versions: Sequence[int], calls: CallList, made: Mapping[int, tuple[int, Call]]) -> ValueRole:
    if versions[0] in made:
        return ValueRole.RESULT if set(versions) & set(calls.returned) else ValueRole.BETWEEN
    return ValueRole.ARGUMENT if versions[0] < calls.arguments else ValueRole.TABLE


@dataclass(frozen=True)
class OrderedCalls:
    """Calls in their order, by their numbers before; no order of them keeps fewer than `bound_bytes` alive."""

    order: tuple[int, ...]
    calls: CallList
    bound_bytes: int


def ordered(calls: CallList, *, keeps_order: bool) -> OrderedCalls:
    """The calls in the order that keeps least alive between them, or in their own; values have their numbers still."""
    given = tuple(range(len(calls.calls)))
    between, versions = {value.number: value.bytes for value in plan_of(calls).between}, calls.first_versions
    # Whoever reads what was written into a tensor needs the tensor.
    reads = [dict.fromkeys((*call.inputs, *(versions.get(v, v) for v in call.inputs))) for call in calls.calls]
    tasks = [OrderedTask(call.name, tuple(read), call.outputs) for call, read in zip(calls.calls, reads)]
    graph = TaskGraph(tasks, between)
    if keeps_order:
        return OrderedCalls(given, calls, 0)
    found = best_order(graph)
    return OrderedCalls(
        found.order, replace(calls, calls=tuple(calls.calls[n] for n in found.order)), found.bound_bytes
    )


def addressed(calls: CallList) -> CallList:
    """The calls with an address in the workspace for all that one hands to others in DRAM."""
    between, versions = plan_of(calls).in_workspace, calls.first_versions
    packing = allocate(_live(between), seconds=_SECONDS)
    at = dict(zip((value.number for value in between), packing.offsets, strict=True))
    placed = tuple(
        replace(call, addresses=tuple(at.get(versions.get(value, value)) for value in call.outputs))
        for call in calls.calls
    )
    return replace(calls, calls=placed, workspace_bytes=packing.need_bytes)


def _live(values: tuple[PlannedValue, ...]) -> list[LiveBuffer]:
    return [LiveBuffer(str(v.number), v.first, v.last + 1, v.bytes, _ALIGNMENT_BYTES) for v in values]
