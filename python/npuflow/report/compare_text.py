"""Two runs side by side on a screen: what changed, and by how much."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuflow.execute.limits import byte_text
from npuflow.report.compare_differences import MeasureUnit, NumberChange, Pairing, RunPair, TextChange
from npuflow.report.compare_read import ComparedReport, ComparedRun
from npuflow.report.words import percent, quantity

_INDENT = "  "
_LABEL = 30
_CELL = 12
_NAMES_SHOWN = 8
SECTIONS = ("time", "traffic", "losses", "energy", "busy")


def comparison_text(first: ComparedReport, second: ComparedReport, pairing: Pairing) -> str:
    """What differs; runs that are alike in everything are only named."""
    blocks = [list(_head(first, second))]
    blocks += [list(_pair(pair)) for pair in pairing.pairs if pair.is_change]
    same = [pair.first for pair in pairing.pairs if not pair.is_change]
    if same:
        blocks.append([f"nothing differs in {_names(same)}"])
    blocks += [list(_alone(file.file, runs)) for file, runs in _sides(first, second, pairing) if runs]
    blocks.append([summary(pairing)])
    return "\n\n".join("\n".join(block) for block in blocks)


def _sides(
    first: ComparedReport, second: ComparedReport, pairing: Pairing
) -> tuple[tuple[ComparedReport, Sequence[ComparedRun]], ...]:
    return (first, pairing.only_first), (second, pairing.only_second)


def _head(first: ComparedReport, second: ComparedReport) -> Iterator[str]:
    yield f"{first.file} -> {second.file}"
    yield f"{_INDENT}device      {changed_text(first.device, second.device)}{_other_device(first, second)}"
    yield f"{_INDENT}pipeline    {changed_text(first.pipeline or 'none', second.pipeline or 'none')}"


def _other_device(first: ComparedReport, second: ComparedReport) -> str:
    return "" if first.device == second.device else "; what differs is the device's doing as well"


def changed_text(first: str, second: str) -> str:
    return first if first == second else f"{first or 'nothing'} -> {second or 'nothing'}"


def _alone(file: str, runs: Sequence[ComparedRun]) -> Iterator[str]:
    yield f"only in {file}"
    yield from (f"{_INDENT}@{run.name}, {quantity(run.time_us / 1e6, 's')}" for run in runs)


def _pair(pair: RunPair, indent: str = "") -> Iterator[str]:
    yield f"{indent}{pair.second.signature}"
    yield from (f"{indent}{_INDENT}{_text(change)}" for change in pair.texts)
    for section in SECTIONS:
        changes = [number for number in pair.numbers if number.section == section and number.is_change]
        if changes and section != "time":
            yield f"{indent}{_INDENT}{section}"
        deeper = indent + _INDENT * (1 if section == "time" else 2)
        yield from (f"{deeper}{_number(change, len(deeper))}" for change in changes)
    if pair.parts is not None:
        yield from _parts(pair.parts, indent + _INDENT)


def _parts(parts: Pairing, indent: str) -> Iterator[str]:
    for pair in parts.pairs:
        if pair.is_change:
            yield from _pair(pair, indent)
    for run, which in [(r, "the first") for r in parts.only_first] + [(r, "the second") for r in parts.only_second]:
        yield f"{indent}only in {which}: {run.signature}, {quantity(run.time_us / 1e6, 's')}"


def _text(change: TextChange) -> str:
    return f"{change.name:<{_LABEL - 2}}{change.first or 'not said'} -> {change.second or 'not said'}"


def _number(change: NumberChange, indented: int) -> str:
    first, second = (value_text(value, change.unit) for value in (change.first, change.second))
    return f"{change.name:<{_LABEL - indented}}{first:>{_CELL}} -> {second:>{_CELL}}  {growth_text(change):>8}"


def value_text(value: float, unit: MeasureUnit) -> str:
    """A number as reports write it."""
    if unit is MeasureUnit.BYTES:
        return byte_text(round(value))
    return percent(value) if unit is MeasureUnit.SHARE else quantity(value, unit.value)


def growth_text(change: NumberChange) -> str:
    """`-18 %`, of shares the points; `new` where there was nothing."""
    if change.unit is MeasureUnit.SHARE:
        return f"{100 * (change.second - change.first):+.1f} points"
    if change.ratio is None:
        return "new" if change.second else ""
    if not change.second:
        return "gone"
    return f"+{percent(change.ratio)}" if change.ratio >= 0 else percent(change.ratio)


def _names(runs: Sequence[ComparedRun]) -> str:
    shown = ", ".join(f"@{run.name}" for run in runs[:_NAMES_SHOWN])
    more = len(runs) - _NAMES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def summary(pairing: Pairing) -> str:
    """The time of what is in both, and how many became faster or slower."""
    times = [pair.time for pair in pairing.pairs]
    if not times:
        return "the reports have nothing in common"
    whole = NumberChange(
        "time", "in all", sum(t.first for t in times), sum(t.second for t in times), MeasureUnit.SECONDS
    )
    faster, slower = (sum(sign * (t.second - t.first) > 0 for t in times) for sign in (-1, 1))
    counted = f"{faster} faster, {slower} slower, {len(times) - faster - slower} as long as before"
    both = f"{value_text(whole.first, whole.unit)} -> {value_text(whole.second, whole.unit)}"
    return f"in all {both}, {growth_text(whole)}; {counted}"
