"""A report as plain data; every output format says what is here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from npuflow.compiler.compiled import StrategyFields
from npuflow.compiler.conversion import Conversion
from npuflow.compiler.verify_function import Verified
from npuflow.network.plan import FunctionPlan, ValueRole
from npuflow.network.set_up import NO_WAITING, Waiting
from npuflow.network.timed_phases import CallTime, TimedPhase
from npuflow.report.energy import EnergyUse, energy_together
from npuflow.report.measures import (
    Bottleneck,
    DataflowNode,
    EngineClass,
    LevelTraffic,
    Loss,
    Occupancy,
    OpNeeds,
    Reshapes,
    ResourceUse,
)
from npuflow.report.words import quantity


@dataclass(frozen=True, repr=False)
class FunctionReport:
    """Everything about one function; `peak_ops_per_second` is that of all cores of the device, for its types.

    `is_given` says that it came as a schedule and was not compiled; `part_of` names the function whose part it is, and
    `kinds` then says what it does. `like` names one before it that is the same but for its name, whose report this is
    as well. `reshapes` is None where no kernel's pixels are reshaped, `energy` where the device says nothing of it.
    `vector_operations` are those of kernels that don't multiply and accumulate. `launch_us` is the launch's part of the
    time, `waiting` how the control processor has nothing to do; `bound_behind_launch` bounds the rest.
    `dataflow` is the tree of what is fused on a core, if anything is.
    """

    name: str
    signature: str
    grid: tuple[int, int]
    strategy: StrategyFields
    cycles: int
    time_us: float
    macs: int
    executed_macs: int
    ops_per_second: float
    peak_ops_per_second: float
    types: str
    bound_by: Bottleneck
    bound_by_saved_share: float
    traffic: tuple[LevelTraffic, ...]
    engines: tuple[EngineClass, ...]
    resources: tuple[ResourceUse, ...]
    losses: tuple[Loss, ...]
    occupancy: tuple[Occupancy, ...]
    verified: Verified
    operations: int
    is_given: bool = False
    part_of: str = ""
    kinds: str = ""
    like: str = ""
    reshapes: Reshapes | None = None
    energy: EnergyUse | None = None
    launch_us: float = 0.0
    waiting: Waiting = NO_WAITING
    bound_behind_launch: Bottleneck | None = None
    vector_operations: int = 0
    ops: tuple[OpNeeds, ...] = ()
    dataflow: DataflowNode | None = None

    def __repr__(self) -> str:
        return f"<@{self.name}: {quantity(self.time_us / 1e6, 's')}, bound by {self.bound_by.value}>"

    @property
    def call(self) -> CallTime:
        """A call of it, as phases are timed by."""
        return CallTime(self.name, self.time_us, self.launch_us, self.waiting)

    @property
    def efficiency(self) -> float:
        return self.ops_per_second / self.peak_ops_per_second if self.peak_ops_per_second else 0.0


@dataclass(frozen=True, repr=False)
class SequenceReport:
    """A function whose parts run one after the other: `parts` and `phases` have one per call.

    `reason` says why it doesn't run as a whole, `one_launch` whether all parts are phases of one. There are `changes`
    from one part to another. `separate_us` is the time if each call were an invocation of its own, `reconfigure_us`
    what it would take to load the whole array at each change. `like` names one that is the same but for its name.
    `handed_bytes` are moved from and to DRAM between parts.
    """

    name: str
    signature: str
    reason: str
    parts: tuple[FunctionReport, ...]
    phases: tuple[TimedPhase, ...]
    one_launch: bool
    changes: int
    separate_us: float
    reconfigure_us: float
    clock_hz: float
    plan: FunctionPlan
    verified: Verified
    like: str = ""
    away: Mapping[int, str] = field(default_factory=dict)
    peak_bytes: Mapping[str, int] = field(default_factory=dict)
    prefetched_bytes: int = 0
    handed_bytes: int = 0

    def __repr__(self) -> str:
        return f"<@{self.name}: {quantity(self.time_us / 1e6, 's')} in {len(self.parts)} parts>"

    @property
    def time_us(self) -> float:
        return self.phases[-1].end_us

    @property
    def cycles(self) -> int:
        return round(self.time_us / 1e6 * self.clock_hz)

    @property
    def launches(self) -> int:
        return 1 if self.one_launch else len(self.parts)

    @property
    def launch_us(self) -> float:
        """What launches take, all together."""
        return sum(phase.launch_us for phase in self.phases)

    @property
    def change_us(self) -> float:
        """How long the array stands still for what changes, all together."""
        return sum(phase.change_us for phase in self.phases)

    @property
    def in_place_us(self) -> float:
        """The time if changes of parts took none."""
        return self.time_us - self.change_us

    @property
    def moved_bytes(self) -> int:
        """What all calls move from and to DRAM."""
        return sum(part.traffic[0].read_bytes + part.traffic[0].write_bytes for part in self.parts)

    @property
    def compulsory_bytes(self) -> int:
        """The function's arguments, its tables and its results, once each; of updated arguments, what is touched."""
        return sum(value.least_bytes for value in self.plan.values if value.role is not ValueRole.BETWEEN)

    @property
    def energy(self) -> EnergyUse | None:
        """What all parts move and compute, and rest takes all the time; None where the device says nothing of it."""
        found = (part.energy for part in self.parts if part.energy is not None)
        busy_us = self.time_us - self.launch_us
        return energy_together(found, self.time_us / 1e6, busy_us / 1e6, self.cycles)

    @property
    def reconfigured_us(self) -> float:
        """The time if each change of parts loaded the whole array."""
        return self.in_place_us + self.reconfigure_us


@dataclass(frozen=True)
class DeviceSummary:
    """What the numbers are about; `peaks` are operations per second of the whole array, by types."""

    name: str
    description: str
    rows: int
    columns: int
    clock_hz: float
    dram_bytes_per_second: float
    peaks: Mapping[str, float]


@dataclass(frozen=True, repr=False)
class Report:
    """A module's report; `functions` has the parts of `sequences` as well.

    `conversions` says of functions of f32 that they are computed in another type, and what of that their results show.
    """

    device: DeviceSummary
    pipeline: str
    functions: tuple[FunctionReport, ...]
    sequences: tuple[SequenceReport, ...] = ()
    conversions: tuple[Conversion, ...] = ()

    def __repr__(self) -> str:
        shown = [*(one for one in self.functions if not one.part_of), *self.sequences]
        return f"<{type(self).__name__} on {self.device.name}: {', '.join(map(repr, shown))}>"

    @property
    def ok(self) -> bool:
        """Nothing that was compared is wrong."""
        checks = [*(function.verified for function in self.functions), *(one.verified for one in self.sequences)]
        return all(verified.status.value != "wrong" for verified in checks)
