"""A search as a page that needs nothing but a browser: time against traffic and room, and the front as a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape

from npuflow.report.html import page_of_pictures
from npuflow.report.words import percent, quantity
from npuflow.tuning.front import pareto_front, right_ones, why_others_lost
from npuflow.tuning.search_unit import GroupTuning, TriedStrategy
from npuflow.tuning.text import strategy_words
from npuflow.tuning.trial import TrialOutcome
from npuflow.tuning.tune_module import TuningResult

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 300, 240, 56, 34
_AXES: tuple[tuple[str, Callable[[TrialOutcome], int]], ...] = (
    ("bytes at DRAM's edge", lambda outcome: outcome.l3_bytes),
    ("bytes of the fullest L2", lambda outcome: outcome.l2_bytes),
    ("bytes of the fullest L1", lambda outcome: outcome.l1_bytes),
)


def page_of_tuning(result: TuningResult) -> str:
    """The page, with pictures and a table for each group."""
    body = "".join(
        part for unit in result.units.values() for group in unit.groups for part in _section(unit.name, group)
    )
    return page_of_pictures(f"Strategies timed on {result.device}", body)


def _section(name: str, group: GroupTuning) -> Iterator[str]:
    cut = "; time ran out before all were" if group.is_cut else ""
    yield f"<h2>@{escape(name)}, {escape(group.label)}: {len(group.tried)} strategies timed{cut}</h2>\n"
    yield "<p>Each dot is a strategy: blue where nothing is as good in time, L3, L2 and L1 at once, orange the default,"
    yield " green the fastest.</p>\n"
    yield f'<div class="columns">{"".join(_picture(group, what, size) for what, size in _AXES)}</div>\n'
    yield _table(group)
    for lost in why_others_lost(group):
        slower = percent(lost.nearest.outcome.cycles / group.tried[group.best].outcome.cycles - 1)
        yield f"<p>{lost.count} lost to {lost.cause}; the nearest is {slower} slower.</p>\n"


def _picture(group: GroupTuning, what: str, size: Callable[[TrialOutcome], int]) -> str:
    tried = right_ones(group)
    across = _scale([size(one.outcome) for one in tried], _LEFT, _WIDTH - 10)
    up = _scale([one.outcome.cycles for one in tried], _HEIGHT - _BOTTOM, 10)
    front = {one.strategy for one in pareto_front(group)}
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="time against {what}">']
    for value in _ends([one.outcome.cycles for one in tried]):
        y, text = up(value), quantity(value / tried[0].outcome.clock_hz, "s")
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 10}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>')
    for value in _ends([size(one.outcome) for one in tried]):
        x = across(value)
        parts.append(
            f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 14}" text-anchor="middle">{value / 1024:.4g} Ki</text>'
        )
    parts.append(f'<text x="{_WIDTH - 10}" y="{_HEIGHT - 4}" text-anchor="end">{what}</text>')
    # What is singled out lies on top.
    for one in sorted(tried, key=lambda one: _rank(group, one, front)):
        kind = ("", "front", "default", "tuned")[_rank(group, one, front)]
        title = f"{quantity(one.outcome.seconds, 's')}, {strategy_words(one.strategy)}"
        place = f'cx="{across(size(one.outcome)):.1f}" cy="{up(one.outcome.cycles):.1f}"'
        parts.append(f'<circle class="{kind}" r="4" {place}><title>{escape(title)}</title></circle>')
    return "".join([*parts, "</svg>\n"])


def _rank(group: GroupTuning, one: TriedStrategy, front: set[str]) -> int:
    if one is group.tried[group.best]:
        return 3
    return 2 if one is group.tried[0] else int(one.strategy in front)


def _ends(values: list[int]) -> list[int]:
    return sorted({min(values), max(values)})


def _scale(values: list[int], begin: float, end: float) -> Callable[[float], float]:
    """From values to places; all in the middle where there is but one value."""
    low, span = min(values), max(values) - min(values)
    return lambda value: begin + (end - begin) * ((value - low) / span if span else 0.5)


def _table(group: GroupTuning) -> str:
    rows = [("default", group.tried[0]), ("tuned", group.tried[group.best])]
    rows += [("front", one) for one in pareto_front(group)]
    heads = ("", "time", "L3 bytes", "L2 bytes", "L1 bytes", "bound by", "strategy")
    body = "".join(f"<tr>{_row('td', _cells(name, one))}</tr>" for name, one in rows)
    return f'<div class="across"><table><tr>{_row("th", heads)}</tr>{body}</table></div>\n'


def _row(kind: str, cells: tuple[str, ...]) -> str:
    """Numbers to the right, the words at both ends to the left."""
    words = {0, len(cells) - 1}
    return "".join(
        f"<{kind}{' class=left' if i in words else ''}>{escape(cell)}</{kind}>" for i, cell in enumerate(cells)
    )


def _cells(name: str, one: TriedStrategy) -> tuple[str, ...]:
    outcome = one.outcome
    sizes = (str(size) for size in (outcome.l3_bytes, outcome.l2_bytes, outcome.l1_bytes))
    return (name, quantity(outcome.seconds, "s"), *sizes, outcome.bound_by, strategy_words(one.strategy))
