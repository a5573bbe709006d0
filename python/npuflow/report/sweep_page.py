"""A sweep as a page that needs nothing but a browser: operations per byte against the machine's, and hits in L2."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from math import log10

from npuflow.bounds.sweep import Sweep, SweepPoint, size_of
from npuflow.report.html import page_of_pictures

_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 860, 320, 64, 34


def sweep_page(swept: Mapping[str, Sweep], device: str) -> str:
    """The page, with a picture and a table for each matmul."""
    body = "".join(part for name, one in swept.items() for part in _section(name, one))
    return page_of_pictures(f"What bounds matmuls on {device}", body)


def _section(name: str, one: Sweep) -> Iterator[str]:
    yield f"<h2>{escape(name)}, {one.axis} from {_size(one, 0)} to {_size(one, -1)}</h2>\n"
    yield "<p>Operations per byte that the best blocks move from and to DRAM (blue), the most that the lower bound"
    yield f" allows (grey), and what the machine does in the time of a byte (dashed: {one.balance:.4g}). Below that,"
    yield " DRAM is what takes longest.</p>\n"
    bound = [2 * point.sizes.macs / point.lower_bound_bytes for point in one.points]
    best = [point.intensity for point in one.points]
    yield _picture(one, {"line bound": bound, "line": best}, one.balance)
    hits = [point.hit_rate for point in one.points if point.hit_rate is not None]
    if len(hits) == len(one.points):
        yield "<p>The share of what cores receive that needs not come from DRAM again.</p>\n"
        yield _picture(one, {"line": hits}, None)
    yield _table(one)


def _size(one: Sweep, index: int) -> int:
    return size_of(one.points[index], one.axis)


def _picture(one: Sweep, lines: Mapping[str, Sequence[float]], level: float | None) -> str:
    """Lines over sizes, both logarithmic where there is a level to compare with; shares go from 0 to 1."""
    values = [value for line in lines.values() for value in line] + ([] if level is None else [level])
    across = _scale(_size(one, 0), _size(one, -1), _LEFT, _WIDTH - 8, logarithmic=True)
    is_share = level is None
    low, high = (0.0, 1.0) if is_share else (min(values) / 1.2, max(values) * 1.2)
    up = _scale(low, high, _HEIGHT - _BOTTOM, 8, logarithmic=not is_share)
    parts = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" role="img" aria-label="{one.axis}">']
    parts += _grid(one, across, up, [0, 0.25, 0.5, 0.75, 1] if is_share else list(_decades(low, high)))
    for name, line in lines.items():
        points = " ".join(f"{across(size_of(p, one.axis)):.1f},{up(v):.1f}" for p, v in zip(one.points, line))
        parts.append(f'<polyline class="{name}" points="{points}"/>')
    if level is not None:
        parts.append(
            f'<line class="balance" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{up(level):.1f}" y2="{up(level):.1f}"/>'
        )
    for point in one.changes:
        x = across(size_of(point, one.axis))
        parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="8" y2="{_HEIGHT - _BOTTOM}"/>')
        parts.append(f'<text x="{x + 4:.1f}" y="18">{one.axis} = {size_of(point, one.axis)}</text>')
    return "".join([*parts, "</svg>\n"])


def _scale(low: float, high: float, begin: float, end: float, *, logarithmic: bool) -> Callable[[float], float]:
    """From values to places; all in the middle where there is but one value."""
    shown: Callable[[float], float] = log10 if logarithmic else float
    span = shown(high) - shown(low)

    def place(value: float) -> float:
        share = (shown(value) - shown(low)) / span if span else 0.5
        return begin + (end - begin) * share

    return place


def _decades(low: float, high: float) -> Iterator[float]:
    """The round numbers between two: 1, 2 and 5 times powers of ten."""
    for power in range(-12, 13):
        yield from (step * 10.0**power for step in (1, 2, 5) if low <= step * 10.0**power <= high)


def _grid(
    one: Sweep, across: Callable[[float], float], up: Callable[[float], float], heights: Sequence[float]
) -> Iterator[str]:
    for value in heights:
        y = up(value)
        yield f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>'
    for value in _decades(_size(one, 0), _size(one, -1)):
        x = across(value)
        yield f'<text x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}" text-anchor="middle">{value:g}</text>'
    yield f'<text x="{_WIDTH - 8}" y="{_HEIGHT - 4}" text-anchor="end">{one.axis}</text>'


def _table(one: Sweep) -> str:
    heads = (one.axis, "operations per byte", "bound by", "moved at best", "lower bound")
    rows = [one.points[0], *one.changes, one.points[-1]]
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in _cells(point, one))}</tr>" for point in rows)
    head = "".join(f"<th>{head}</th>" for head in heads)
    return f'<div class="across"><table><tr>{head}</tr>{body}</table></div>\n'


def _cells(point: SweepPoint, one: Sweep) -> Sequence[str]:
    bound = "memory" if point.is_memory_bound else "compute"
    moved = (str(point.attainable_bytes), str(point.lower_bound_bytes))
    return (str(size_of(point, one.axis)), f"{point.intensity:.4g}", bound, *moved)
