"""A page that shows a packing: addresses upwards, time to the right, a rectangle for each buffer. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from npuflow.allocate.problem import LiveBuffer, Packing

_WIDTH = 1200
_HEIGHT = 700
# Neighbouring buffers get hues far apart.
_HUE_STEP = 137

_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
body {{ font: 14px sans-serif; margin: 2em; color: #222; background: #fff }}
svg {{ width: 100%; height: 80vh; border: 1px solid #999 }}
rect {{ stroke: #fff; stroke-width: 1; vector-effect: non-scaling-stroke }}
rect:hover {{ stroke: #000; stroke-width: 2 }}
line {{ stroke: #c00; stroke-width: 2; vector-effect: non-scaling-stroke }}
</style>
<h1>{title}</h1>
<p>{summary}</p>
<svg viewBox="0 0 {width} {height}" preserveAspectRatio="none" role="img" aria-label="addresses over time">
{shapes}
</svg>
<p>Time from {begin} to {end}, to the right; addresses from 0 to {top}, upwards. Point at a buffer to see which.</p>
</html>
"""


def picture_page(title: str, buffers: Sequence[LiveBuffer], packing: Packing, capacity: int | None) -> str:
    """HTML that needs no other file; a line is drawn where the capacity ends."""
    begin = min(buffer.lower for buffer in buffers)
    end = max(buffer.upper for buffer in buffers)
    top = max(packing.need_bytes, capacity or 0, 1)
    room = "" if capacity is None else f" of {capacity}"
    summary = (
        f"{len(buffers)} buffers in {packing.need_bytes}{room} bytes; nothing needs less than {packing.bound_bytes}."
    )
    return _PAGE.format(
        title=escape(title),
        summary=summary,
        width=_WIDTH,
        height=_HEIGHT,
        shapes="\n".join(_shapes(buffers, packing, (begin, end, top), capacity)),
        begin=begin,
        end=end,
        top=top,
    )


def _shapes(
    buffers: Sequence[LiveBuffer], packing: Packing, area: tuple[int, int, int], capacity: int | None
) -> Iterator[str]:
    begin, end, top = area
    for index, (buffer, offset) in enumerate(zip(buffers, packing.offsets, strict=True)):
        x = _WIDTH * (buffer.lower - begin) / (end - begin)
        width = _WIDTH * (buffer.upper - buffer.lower) / (end - begin)
        height = _HEIGHT * buffer.size / top
        y = _HEIGHT - _HEIGHT * offset / top - height
        hue = index * _HUE_STEP % 360
        text = f"{buffer.name}: {buffer.size} bytes at {offset}, from {buffer.lower} to {buffer.upper}"
        place = f'x="{x:.3f}" y="{y:.3f}" width="{width:.3f}" height="{height:.3f}"'
        yield f'<rect {place} fill="hsl({hue} 55% 60%)"><title>{escape(text)}</title></rect>'
    if capacity is not None:
        y = _HEIGHT - _HEIGHT * capacity / top
        yield f'<line x1="0" x2="{_WIDTH}" y1="{y:.3f}" y2="{y:.3f}"/>'
