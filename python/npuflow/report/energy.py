"""The energy of a run: what the simulator counted, at what the device says each costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum

from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.execute.limits import byte_text
from npuflow.report.words import percent, quantity
from npuflow.simulate.results import RunResults
from npuflow.simulate.walk import computes_by_kind

# What is said of a sequence's energy beside the numbers.
WITHOUT_CHANGES = "; without what changes take"
_PICO = 1e-12


class EnergyKind(Enum):
    """What took energy, in the order of reports: a memory level, an engine class, or what is there at rest."""

    LEVEL = "level"
    ENGINE = "engine"
    STATIC = "static"


@dataclass(frozen=True)
class EnergyShare:
    """What one kind of thing took.

    `counts` are bytes read and written of a level, multiply-accumulates of an engine if it says `types`, else cycles.
    """

    kind: EnergyKind
    name: str
    counts: tuple[int, ...]
    joules: float
    types: str = ""

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def what(self) -> str:
        """What the counts are of: `32 KiB read, 16 KiB written`."""
        if self.kind is EnergyKind.LEVEL:
            read, written = map(byte_text, self.counts)
            return f"{read} read, {written} written"
        if self.kind is EnergyKind.STATIC:
            return "at rest"
        return (
            f"{quantity(self.count, 'MAC')} of {self.types}" if self.types else f"{self.count} cycles of other kernels"
        )


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
        outermost = next((share.joules for share in self.shares if share.kind is EnergyKind.LEVEL), 0.0)
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
    watts = device.energy.static_watts
    shares = (*_levels(function, results), *_engines(function), _at_rest(watts, seconds, results.cycles))
    return EnergyUse(shares, seconds, max(0.0, seconds - device.control.launch_seconds), watts)


def energy_together(parts: Iterable[EnergyUse], seconds: float, busy_seconds: float, cycles: int) -> EnergyUse | None:
    """What runs take one after the other, and rest for as long as that takes; None where nothing is known of any."""
    found = list(parts)
    if not found:
        return None
    together: dict[tuple[EnergyKind, str, str], EnergyShare] = {}
    for share in (share for one in found for share in one.shares if share.kind is not EnergyKind.STATIC):
        key = share.kind, share.name, share.types
        known = together.get(key, replace(share, counts=tuple(0 for _ in share.counts), joules=0.0))
        counts = tuple(map(sum, zip(known.counts, share.counts)))
        together[key] = replace(known, counts=counts, joules=known.joules + share.joules)
    order = list(EnergyKind)
    shares = sorted(together.values(), key=lambda share: order.index(share.kind))
    watts = found[0].static_watts
    return EnergyUse((*shares, _at_rest(watts, seconds, cycles)), seconds, busy_seconds, watts)


def _at_rest(watts: float, seconds: float, cycles: int) -> EnergyShare:
    return EnergyShare(EnergyKind.STATIC, EnergyKind.STATIC.value, (cycles,), watts * seconds)


def _levels(function: CompiledFunction, results: RunResults) -> Iterator[EnergyShare]:
    """What transfers read and write; what kernels read of their memory is in what they cost."""
    for level in sorted(function.device.levels, key=lambda level: -level.number):
        cost = function.device.energy.level(level.number)
        if cost is None:
            continue
        moved = results.level_traffic(level.number)
        joules = moved.read_bytes * cost.read_picojoules_per_byte + moved.written_bytes * cost.write_picojoules_per_byte
        yield EnergyShare(EnergyKind.LEVEL, level.name, (moved.read_bytes, moved.written_bytes), joules * _PICO)


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
        joules = count * (energy.mac_picojoules(types) or 0.0) * _PICO
        yield EnergyShare(EnergyKind.ENGINE, kind, (count,), joules, f"{' x '.join(types[:2])} -> {types[2]}")
    for kind, count in cycles.items():
        joules = count * energy.kernel_picojoules_per_cycle * _PICO
        yield EnergyShare(EnergyKind.ENGINE, kind, (count,), joules)


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
