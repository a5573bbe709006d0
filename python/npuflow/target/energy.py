"""What a device's work takes in energy: per byte of each memory, per multiply-accumulate, per cycle, and at rest."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.target.fields import between

_MOST_PICOJOULES = 1e9
_MOST_WATTS = 1e6


@dataclass(frozen=True, kw_only=True)
class AccessEnergy:
    """What a byte costs that a transfer reads from the memories of a level, or writes to them."""

    level: int = between(1, 3)
    read_picojoules_per_byte: float = between(0, _MOST_PICOJOULES)
    write_picojoules_per_byte: float = between(0, _MOST_PICOJOULES)


@dataclass(frozen=True, kw_only=True)
class MacEnergy:
    """What a multiply-accumulate of some types costs, with what brings its operands from the memory of kernels."""

    lhs: str
    rhs: str
    acc: str
    picojoules: float = between(0, _MOST_PICOJOULES)


@dataclass(frozen=True, kw_only=True)
class Energy:
    """All of it; one without levels says nothing, and nothing is reported.

    `kernel_picojoules_per_cycle` is what an engine takes that computes anything but multiply-accumulates listed.
    """

    static_watts: float = between(0, _MOST_WATTS, default=0.0)
    kernel_picojoules_per_cycle: float = between(0, _MOST_PICOJOULES, default=0.0)
    levels: tuple[AccessEnergy, ...] = ()
    macs: tuple[MacEnergy, ...] = ()

    @property
    def is_known(self) -> bool:
        return bool(self.levels)

    def level(self, number: int) -> AccessEnergy | None:
        return next((one for one in self.levels if one.level == number), None)

    def mac_picojoules(self, types: tuple[str, ...]) -> float | None:
        """What a multiply-accumulate of (lhs, rhs, acc) types costs; None where the device doesn't say."""
        return next((one.picojoules for one in self.macs if (one.lhs, one.rhs, one.acc) == types), None)


UNKNOWN_ENERGY = Energy()
