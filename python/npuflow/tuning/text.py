"""What a search found, as lines and as JSON. Pure of printing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from npuflow.report.words import percent, quantity
from npuflow.tuning.front import pareto_front, why_others_lost
from npuflow.tuning.search_unit import GroupTuning, TriedStrategy, UnitTuning
from npuflow.tuning.trial import TrialOutcome
from npuflow.tuning.tune_module import TunedFunction, TuningResult

FORMAT, VERSION = "npuflow tune", 1
_MOST_ROWS = 12
_FIELD = re.compile(r"(\w+) = (\[[^\]]*\]|\d+)")
# What every device and type says anew, and slots of one each where nothing else was asked for.
_USUAL = (("gather", "0"), ("hold", "0"), ("depth_tail", "1"), ("turned", "0"))


def text_of_tuning(result: TuningResult) -> str:
    """What `npuflow tune` prints."""
    return "\n".join(_lines(result))


def _lines(result: TuningResult) -> Iterator[str]:
    for function in result.functions:
        yield from _function_lines(result, function)
    for unit in result.units.values():
        yield from _unit_lines(unit, is_part=unit.name not in {one.name for one in result.functions})


def _function_lines(result: TuningResult, function: TunedFunction) -> Iterator[str]:
    clock = result.units[function.runs[0]].default.clock_hz
    default, best = result.default_cycles(function), result.best_cycles(function)
    parts = f", {len(function.runs)} parts" if len(function.runs) > 1 else ""
    gain = _gain(default, best, clock)
    yield f"@{function.name} on {result.device}{parts}: {_time(default, clock)} by default, {gain}"
    if function.replayed_cycles != best:
        yield f"  the tuned program takes {_time(function.replayed_cycles, clock)}, compiled as a whole again"


def _gain(default: int, best: int, clock_hz: float) -> str:
    if best == default:
        return "and nothing faster was found"
    return f"{_time(best, clock_hz)} tuned, {percent(1 - best / default)} less"


def _time(cycles: int, clock_hz: float) -> str:
    return quantity(cycles / clock_hz, "s")


def _unit_lines(unit: UnitTuning, *, is_part: bool) -> Iterator[str]:
    if not unit.groups:
        why = unit.default.refusal or "its groups are not those that the pipeline finds"
        yield f"  @{unit.name} stays as it is: {why}"
    for group in unit.groups:
        where = f"@{unit.name}, " if is_part or len(unit.groups) > 1 else ""
        yield ""
        yield from _group_lines(group, where)


def _group_lines(group: GroupTuning, where: str) -> Iterator[str]:
    refused = Counter(one.outcome.refusal for one in group.tried if one.outcome.refusal)
    cut = "; time ran out before all were" if group.is_cut else ""
    yield f"  {where}{group.label}: {len(group.tried)} strategies timed{cut}"
    if group.proof:
        yield f"    {group.proof}"
    yield f"    {'':<8}{'time':>10}{'L3':>11}{'L2':>11}{'L1':>11}  {'bound by':<9}strategy"
    best = group.tried[group.best]
    yield _row("default", group.tried[0])
    yield _row("tuned", best)
    front = [one for one in pareto_front(group) if one not in (best, group.tried[0])]
    yield from (_row("front", one) for one in front[:_MOST_ROWS])
    if len(front) > _MOST_ROWS:
        yield f"    and {len(front) - _MOST_ROWS} more that nothing beats in time, L3, L2 and L1 at once"
    for lost in why_others_lost(group):
        slower = percent(lost.nearest.outcome.cycles / best.outcome.cycles - 1)
        saves = (quantity(seconds, "s") for seconds in (lost.saves_seconds, lost.best_saves_seconds))
        why = "without it {} less, of the best {}".format(*saves)
        yield f"    {lost.count} lost to {lost.cause}: the nearest is {slower} slower ({why})"
    for refusal, count in refused.most_common(3):
        yield f"    {count} refused: {refusal}"


def _row(name: str, one: TriedStrategy) -> str:
    outcome = one.outcome
    sizes = "".join(f"{_bytes(size):>11}" for size in (outcome.l3_bytes, outcome.l2_bytes, outcome.l1_bytes))
    time = _time(outcome.cycles, outcome.clock_hz)
    return f"    {name:<8}{time:>10}{sizes}  {outcome.bound_by:<9}{strategy_words(one.strategy)}"


def _bytes(size: int) -> str:
    if size >= 1 << 20:
        return f"{size / (1 << 20):.2f} MiB"
    return f"{size / 1024:.1f} KiB"


def strategy_words(text: str) -> str:
    """`grid 4x8, tile-l1 64x64x64` of an attribute's text; what is usual is left out."""
    said = [(name, value.strip("[]").replace(", ", "x")) for name, value in _FIELD.findall(text)]
    return ", ".join(f"{name.replace('_', '-')} {value}" for name, value in said if (name, value) not in _USUAL)


def json_of_tuning(result: TuningResult) -> dict[str, object]:
    """All of it, as data."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "device": result.device,
        "is_cut": result.is_cut,
        "functions": [_function_json(result, function) for function in result.functions],
        "units": [_unit_json(unit) for unit in result.units.values()],
    }


def _function_json(result: TuningResult, function: TunedFunction) -> dict[str, object]:
    return {
        "name": function.name,
        "runs": list(function.runs),
        "default_cycles": result.default_cycles(function),
        "tuned_cycles": result.best_cycles(function),
        "replayed_cycles": function.replayed_cycles,
        "clock_hz": result.units[function.runs[0]].default.clock_hz,
    }


def _unit_json(unit: UnitTuning) -> dict[str, object]:
    return {
        "name": unit.name,
        "default": _outcome_json(unit.default),
        "tuned": _outcome_json(unit.best),
        "groups": [_group_json(group) for group in unit.groups],
    }


def _group_json(group: GroupTuning) -> dict[str, object]:
    front = {one.strategy for one in pareto_front(group)}
    tried = [
        {
            "strategy": one.strategy,
            "estimated_us": None if one.estimated_seconds is None else one.estimated_seconds * 1e6,
            "on_front": one.strategy in front,
            **_outcome_json(one.outcome),
        }
        for one in group.tried
    ]
    return {
        "label": group.label,
        "is_cut": group.is_cut,
        "proof": group.proof,
        "best": group.best,
        "tried": tried,
        "lost": _lost_json(group),
    }


def _lost_json(group: GroupTuning) -> list[dict[str, object]]:
    return [{"cause": one.cause, "count": one.count, "nearest": one.nearest.strategy} for one in why_others_lost(group)]


def _outcome_json(outcome: TrialOutcome) -> dict[str, object]:
    if outcome.refusal:
        return {"refusal": outcome.refusal}
    return {
        "cycles": outcome.cycles,
        "time_us": outcome.seconds * 1e6,
        "l3_bytes": outcome.l3_bytes,
        "l2_bytes": outcome.l2_bytes,
        "l1_bytes": outcome.l1_bytes,
        "bound_by": outcome.bound_by,
        "saved_share": dict(sorted(outcome.saved.items())),
    }
