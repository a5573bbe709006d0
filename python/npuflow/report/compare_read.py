"""Reports that `npuflow run --json` wrote, read back as far as runs are compared; what is none is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from npuflow.errors import InputError, with_hint
from npuflow.files import read_json
from npuflow.report.energy import EnergyKind
from npuflow.report.json_report import FORMAT, VERSION

# A report of thousands of functions is a tenth of that.
_MOST_BYTES = 1 << 28
_HINT = "make it anew: npuflow run program.mlir --json=FILE"

Strategy = Mapping[str, "int | tuple[int, ...]"]


@dataclass(frozen=True)
class ComparedRun:
    """A function, a part of one, or with `parts` a sequence: what is held against another run's.

    Numbers are by name: `traffic` and `energy` in bytes and joules, `losses` in microseconds, `busy` in shares.
    """

    name: str
    signature: str
    time_us: float
    cycles: int
    verified: str
    bound_by: str = ""
    part_of: str = ""
    kinds: str = ""
    strategy: Strategy | None = None
    traffic: Mapping[str, float] | None = None
    losses: Mapping[str, float] | None = None
    energy: Mapping[str, float] | None = None
    busy: Mapping[str, float] | None = None
    parts: tuple[ComparedRun, ...] = ()

    @property
    def shape(self) -> str:
        """The signature without the name: what it takes and gives."""
        return self.signature.partition("(")[2]


@dataclass(frozen=True)
class ComparedReport:
    """A file's functions and sequences; parts are in their sequences."""

    file: str
    device: str
    pipeline: str
    runs: tuple[ComparedRun, ...]


@dataclass(frozen=True)
class _JsonValue:
    """A value in a file, with the way to it."""

    value: object
    file: str
    way: str = ""

    def fail(self, what: str) -> InputError:
        return InputError(f"'{self.file}': {self.way or 'the file'} {what}; hint: {_HINT}")

    def __getitem__(self, key: str) -> _JsonValue:
        if not isinstance(self.value, dict):
            raise self.fail("is no object")
        if key not in self.value:
            raise self.fail(f"has no '{key}'")
        return _JsonValue(self.value[key], self.file, f"{self.way}.{key}".removeprefix("."))

    def items(self) -> list[_JsonValue]:
        if not isinstance(self.value, list):
            raise self.fail("is no list")
        return [_JsonValue(one, self.file, f"{self.way}[{i}]") for i, one in enumerate(self.value)]

    def fields(self) -> dict[str, _JsonValue]:
        if not isinstance(self.value, dict):
            raise self.fail("is no object")
        return {key: self[key] for key in self.value}

    def text(self) -> str:
        if not isinstance(self.value, str):
            raise self.fail("is no text")
        return self.value

    def number(self) -> float:
        """A finite number that isn't negative."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.fail("is no number")
        try:
            found = float(value)
        except OverflowError:
            found = math.inf
        if not 0 <= found < math.inf:
            raise self.fail(f"is {found:g}, no number from 0 on")
        return found


def read_report(path: str) -> ComparedReport:
    """Reads a report; raises InputError for what is none."""
    root = _JsonValue(read_json(path, _MOST_BYTES, _HINT), path)
    if not isinstance(root.value, dict) or root.value.get("format") != FORMAT:
        raise InputError(with_hint(f"'{path}' is no report of npuflow run", _HINT))
    version = root["version"].value
    if version != VERSION:
        raise InputError(with_hint(f"'{path}' is a report of version {version!r}, expected {VERSION}", _HINT))
    functions = [_function(given) for given in root["functions"].items()]
    twice = [name for name, count in Counter(one.name for one in functions).items() if count > 1]
    if twice:
        raise InputError(with_hint(f"'{path}' has two functions of the name '{twice[0]}'", _HINT))
    parts = {one.name: one for one in functions if one.part_of}
    sequences = [_sequence(given, parts) for given in root["sequences"].items()]
    whole = [one for one in functions if not one.part_of]
    return ComparedReport(path, _device(root), root["pipeline"].text(), (*sequences, *whole))


def _device(root: _JsonValue) -> str:
    rows, columns = (int(root[key].number()) for key in ("rows", "columns"))
    return f"{root['device'].text()} ({rows}x{columns} cores, {root['clock_hz'].number() / 1e9:g} GHz)"


def _run(given: _JsonValue) -> ComparedRun:
    """What functions and sequences both say."""
    return ComparedRun(
        name=given["name"].text(),
        signature=given["signature"].text(),
        time_us=given["time_us"].number(),
        cycles=int(given["cycles"].number()),
        verified=given["verified"]["status"].text(),
        energy=None if given["energy"].value is None else _energy(given["energy"]["shares"]),
    )


def _function(given: _JsonValue) -> ComparedRun:
    return replace(
        _run(given),
        bound_by=given["bound_by"].text(),
        part_of=_optional_text(given["part_of"]),
        kinds=_optional_text(given["kinds"]),
        strategy={name: _sizes(one) for name, one in (given["strategy"].fields() | {"grid": given["grid"]}).items()},
        traffic=_traffic(given["traffic"]),
        losses={one["name"].text(): one["saved_us"].number() for one in given["losses"].items()},
        busy={one["kind"].text(): one["busy_share"].number() for one in given["engines"].items()},
    )


def _optional_text(given: _JsonValue) -> str:
    return "" if given.value is None else given.text()


def _sizes(given: _JsonValue) -> int | tuple[int, ...]:
    if isinstance(given.value, list):
        return tuple(int(one.number()) for one in given.items())
    return int(given.number())


def _traffic(given: _JsonValue) -> Mapping[str, float]:
    found = {}
    for level, amounts in given.fields().items():
        found[f"{level} read"] = amounts["read_bytes"].number()
        found[f"{level} written"] = amounts["write_bytes"].number()
    return found


def _energy(given: _JsonValue) -> Mapping[str, float]:
    """Joules by what took them; amounts, which differ, are no part of a name."""
    found: dict[str, float] = {}
    for share in given.items():
        of = share["what"].text().partition(" of ")[2] if share["kind"].text() == EnergyKind.ENGINE.value else ""
        name = f"{share['name'].text()}, {of}" if of else share["name"].text()
        found[name] = found.get(name, 0.0) + share["joules"].number()
    return found


def _sequence(given: _JsonValue, known: Mapping[str, ComparedRun]) -> ComparedRun:
    calls = []
    for part in given["parts"].items():
        if part.text() not in known:
            raise part.fail(f"is '{part.text()}', of which there is no function")
        calls.append(known[part.text()])
    return replace(
        _run(given),
        traffic=_summed([call.traffic or {} for call in calls]),
        parts=_times(calls, given["phases"]),
    )


def _times(calls: Sequence[ComparedRun], phases: _JsonValue) -> tuple[ComparedRun, ...]:
    """Each part with the time of all its calls, in the order of the first; launches that phases lack left out."""
    spent: dict[str, float] = {}
    for phase in phases.items():
        own = phase["end_us"].number() - phase["begin_us"].number()
        spent[phase["part"].text()] = spent.get(phase["part"].text(), 0.0) + own
    first = {call.name: call for call in calls}
    return tuple(replace(one, time_us=spent.get(name, 0.0)) for name, one in first.items())


def _summed(amounts: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for one in amounts:
        for name, amount in one.items():
            found[name] = found.get(name, 0.0) + amount
    return found
