"""Which runs of two reports are the same one, and what differs between them. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import Enum

from npuflow.report.compare_read import ComparedReport, ComparedRun


class MeasureUnit(Enum):
    """What a number is of."""

    SECONDS = "s"
    BYTES = "bytes"
    JOULES = "J"
    SHARE = "share"


@dataclass(frozen=True)
class NumberChange:
    """A number of both runs; one that a run doesn't have is 0 there."""

    section: str
    name: str
    first: float
    second: float
    unit: MeasureUnit

    @property
    def is_change(self) -> bool:
        return self.first != self.second

    @property
    def ratio(self) -> float | None:
        """By how much of the first it grew; None where there was nothing."""
        return (self.second - self.first) / self.first if self.first else None


@dataclass(frozen=True)
class TextChange:
    """What is said differently; "" where nothing is said."""

    name: str
    first: str
    second: str


@dataclass(frozen=True)
class RunPair:
    """The same function, part or sequence in both reports; `parts` are those of two sequences."""

    first: ComparedRun
    second: ComparedRun
    numbers: tuple[NumberChange, ...]
    texts: tuple[TextChange, ...]
    parts: Pairing | None = None

    @property
    def time(self) -> NumberChange:
        return self.numbers[0]

    @property
    def is_change(self) -> bool:
        """Anything at all differs."""
        within = self.parts is not None and self.parts.is_change
        return within or bool(self.texts) or any(number.is_change for number in self.numbers)


@dataclass(frozen=True)
class Pairing:
    """What is in both, in the first's order, and what is in one alone."""

    pairs: tuple[RunPair, ...]
    only_first: tuple[ComparedRun, ...]
    only_second: tuple[ComparedRun, ...]

    @property
    def is_change(self) -> bool:
        return bool(self.only_first or self.only_second) or any(pair.is_change for pair in self.pairs)


def compared(first: ComparedReport, second: ComparedReport) -> Pairing:
    """Both reports' functions and sequences, by name, then those that are left by what they take and give, in order."""
    left = {run.name: run for run in second.runs}
    found = {run.name: left.pop(run.name) for run in first.runs if run.name in left}
    by_shape: dict[str, deque[ComparedRun]] = {}
    for other in left.values():
        by_shape.setdefault(other.shape, deque()).append(other)
    for run in first.runs:
        if run.name not in found and by_shape.get(run.shape):
            found[run.name] = left.pop(by_shape[run.shape].popleft().name)
    return _pairing([(run, found.get(run.name)) for run in first.runs], tuple(left.values()))


def _paired_parts(first: Sequence[ComparedRun], second: Sequence[ComparedRun]) -> Pairing:
    """Parts in order: their names are numbers, which shift where one is added."""
    ours, theirs = ([f"{part.kinds} {part.shape}" for part in parts] for parts in (first, second))
    pairs: list[tuple[ComparedRun, ComparedRun | None]] = []
    new: list[ComparedRun] = []
    for _, low, high, other_low, other_high in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        parts, others = first[low:high], second[other_low:other_high]
        pairs += [(part, others[i] if i < len(others) else None) for i, part in enumerate(parts)]
        new += others[len(parts) :]
    return _pairing(pairs, tuple(new))


def _pairing(pairs: Sequence[tuple[ComparedRun, ComparedRun | None]], new: tuple[ComparedRun, ...]) -> Pairing:
    both = tuple(_pair(run, other) for run, other in pairs if other is not None)
    return Pairing(both, tuple(run for run, other in pairs if other is None), new)


def _pair(first: ComparedRun, second: ComparedRun) -> RunPair:
    parts = _paired_parts(first.parts, second.parts) if first.parts and second.parts else None
    return RunPair(first, second, tuple(_numbers(first, second)), tuple(_texts(first, second)), parts)


def _numbers(first: ComparedRun, second: ComparedRun) -> Iterator[NumberChange]:
    yield NumberChange("time", "time", first.time_us / 1e6, second.time_us / 1e6, MeasureUnit.SECONDS)
    yield from _section("traffic", first.traffic, second.traffic, MeasureUnit.BYTES)
    if first.losses is not None and second.losses is not None:
        lost = [{name: saved / 1e6 for name, saved in losses.items()} for losses in (first.losses, second.losses)]
        yield from _section("losses", lost[0], lost[1], MeasureUnit.SECONDS)
    if first.energy is not None and second.energy is not None:
        yield NumberChange(
            "energy", "in all", sum(first.energy.values()), sum(second.energy.values()), MeasureUnit.JOULES
        )
    yield from _section("energy", first.energy, second.energy, MeasureUnit.JOULES)
    yield from _section("busy", first.busy, second.busy, MeasureUnit.SHARE)


def _section(
    name: str, first: Mapping[str, float] | None, second: Mapping[str, float] | None, unit: MeasureUnit
) -> Iterator[NumberChange]:
    """Nothing where a run says nothing of it: that isn't 0."""
    if first is None or second is None:
        return
    for key in dict.fromkeys((*first, *second)):
        yield NumberChange(name, key, first.get(key, 0.0), second.get(key, 0.0), unit)


def _texts(first: ComparedRun, second: ComparedRun) -> Iterator[TextChange]:
    said = {
        "name": (f"@{first.name}", f"@{second.name}"),
        "takes and gives": (first.shape, second.shape),
        "runs": (_runs(first), _runs(second)),
        "bound by": (first.bound_by, second.bound_by),
        "verified": (first.verified, second.verified),
    }
    yield from (TextChange(name, one, other) for name, (one, other) in said.items() if one != other)
    ours, theirs = first.strategy or {}, second.strategy or {}
    for key in dict.fromkeys((*ours, *theirs)):
        one, other = _size_text(ours.get(key)), _size_text(theirs.get(key))
        if one != other and first.strategy is not None and second.strategy is not None:
            yield TextChange(key.replace("_", "-"), one, other)


def _runs(run: ComparedRun) -> str:
    count = len(run.parts)
    return f"in {count} part{'s' if count > 1 else ''}" if count else "as a whole"


def _size_text(value: int | tuple[int, ...] | None) -> str:
    if value is None:
        return ""
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)
