"""The energy of a run: what the simulator counted, at what the device says each costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.execute.limits import byte_text
from npuflow.report.words import percent, quantity
from npuflow.simulate.results import RunResults
from npuflow.simulate.walk import computes_by_kind

# What is taken at rest, in reports.
STATIC = "static"
_PICO = 1e-12


@dataclass(frozen=True)
class EnergyShare:
    """What one kind of thing took: a memory `level`, an `engine` class, or what is there at rest (`static`).

    `count` is of what its `what` says: bytes read and written, multiply-accumulates, cycles of engines or of the run.
    """

    kind: str
    name: str
    what: str
    count: int
    joules: float


@dataclass(frozen=True)
class EnergyUse:
    """A run's energy. `busy_seconds` is the time without the launch, in which the array stands still."""

    shares: tuple[EnergyShare, ...]
    seconds: float
    busy_seconds: float
    static_watts: float

    @property
    def joules(self) -> float:
        return sum(share.joules for share in self.shares)

    @property
    def average_watts(self) -> float:
        return self.joules / self.seconds if self.seconds else 0.0

    @property
    def busy_watts(self) -> float:
        """The power behind the launch, DRAM included."""
        return self._busy(self.joules)

    @property
    def busy_chip_watts(self) -> float:
        """The same without what DRAM takes, which is not the array's."""
        outermost = next((share.joules for share in self.shares if share.kind == "level"), 0.0)
        return self._busy(self.joules - outermost)

    def _busy(self, joules: float) -> float:
        moved = joules - self.static_watts * self.seconds
        return moved / self.busy_seconds + self.static_watts if self.busy_seconds else 0.0


def energy_of(function: CompiledFunction, results: RunResults) -> EnergyUse | None:
    """The energy of a run, the outermost memory first; None for a device that says nothing of it."""
    device = function.device
    if not device.energy.is_known:
        return None
    seconds = results.seconds
    static = EnergyShare(STATIC, STATIC, "at rest", results.cycles, device.energy.static_watts * seconds)
    shares = (*_levels(function, results), *_engines(function), static)
    busy = max(0.0, seconds - device.control.launch_seconds)
    return EnergyUse(shares, seconds, busy, device.energy.static_watts)


def _levels(function: CompiledFunction, results: RunResults) -> Iterator[EnergyShare]:
    """What transfers read and write; what kernels read of their memory is in what they cost."""
    for level in sorted(function.device.levels, key=lambda level: -level.number):
        cost = function.device.energy.level(level.number)
        if cost is None:
            continue
        moved = results.level_traffic(level.number)
        joules = moved.read_bytes * cost.read_picojoules_per_byte + moved.written_bytes * cost.write_picojoules_per_byte
        what = f"{byte_text(moved.read_bytes)} read, {byte_text(moved.written_bytes)} written"
        yield EnergyShare("level", level.name, what, moved.read_bytes + moved.written_bytes, joules * _PICO)


def _engines(function: CompiledFunction) -> Iterator[EnergyShare]:
    """What kernels take: by their multiply-accumulates where the device says what one costs, else by their cycles."""
    macs: Counter[tuple[str, tuple[str, ...]]] = Counter()
    cycles: Counter[str] = Counter()
    energy = function.device.energy
    for kind, step, times in computes_by_kind(function.program):
        shape = function.shapes[step.kernel]
        if shape.macs and energy.mac_picojoules(shape.types) is not None:
            macs[kind, shape.types] += shape.macs * times
        else:
            cycles[kind] += step.cycles * times
    for (kind, types), count in macs.items():
        what = f"{quantity(count, 'MAC')} of {' x '.join(types[:2])} -> {types[2]}"
        yield EnergyShare("engine", kind, what, count, count * (energy.mac_picojoules(types) or 0.0) * _PICO)
    for kind, count in cycles.items():
        joules = count * energy.kernel_picojoules_per_cycle * _PICO
        yield EnergyShare("engine", kind, f"{count} cycles of other kernels", count, joules)


def energy_text(energy: EnergyUse) -> str:
    """`12.3 uJ, 1.49 W on average, 1.66 W behind the launch (0.9 W without DRAM)`."""
    busy = (
        f"{quantity(energy.busy_watts, 'W')} behind the launch ({quantity(energy.busy_chip_watts, 'W')} without DRAM)"
    )
    return f"{quantity(energy.joules, 'J')}, {quantity(energy.average_watts, 'W')} on average, {busy}"


def energy_rows(energy: EnergyUse) -> Iterator[tuple[str, str, str, str]]:
    """Name, energy, share and what it is for, of everything that took any."""
    total = energy.joules or 1.0
    for share in energy.shares:
        if share.joules:
            yield share.name, quantity(share.joules, "J"), percent(share.joules / total), share.what
