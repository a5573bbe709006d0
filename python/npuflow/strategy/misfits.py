"""What is said of a bundle's strategy, against its loops: field by field, before anything is chosen. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from npuflow.ops.products import largest_divisor, padded
from npuflow.strategy.feasibility import Constraint, Obstacle, grid_obstacles
from npuflow.strategy.group import Group
from npuflow.strategy.strategy import Strategy
from npuflow.target import Device


def misfits(group: Group, said: Strategy, device: Device | None) -> tuple[Obstacle, ...]:
    """What is said of a bundle's strategy that doesn't go with its loops, or with the device if there is one."""
    found, streamed = [], len(group.streamed)
    widths = (("grid", 2), ("spread", 2), *((name, group.space) for name in ("tile_l1", "order")))
    widths = (*widths, ("stream", streamed), ("stream_l2", streamed))
    for name, width in widths:
        value = getattr(said, name)
        if value and len(value) != width:
            what = f"{name} has {len(value)} numbers, this bundle needs {width}"
            found.append(Obstacle(Constraint.SAID, what, f"give {width}", len(value), width))
    if found:
        return tuple(found)
    found += grid_obstacles(said, device) if said.grid and device is not None else ()
    if said.spread and max(said.spread) >= group.space:
        hint = f"this bundle's space has loops 0 to {group.space - 1}"
        found.append(Obstacle(Constraint.SAID, f"spread names loop {max(said.spread)}", hint))
    if said.order and sorted(said.order) != list(range(group.space)):
        what = f"order {list(said.order)} is no order of {group.space} loops"
        found.append(Obstacle(Constraint.SAID, what, "name each loop once"))
    return (*found, *(_steps(group, said) if group.keeps_rows else _pieces_in_l2(group, said)))


def _steps(group: Group, said: Strategy) -> Iterator[Obstacle]:
    """What is said of steps that keep rows: they are equal parts of a tile, of which L2 has all rows."""
    rows = group.sizes[group.streamed[0]]
    if not said.stream:
        what = f"rows are kept, and nothing says how many of a tile's {rows} a step makes"
        yield Obstacle(Constraint.SAID, what, f"say stream = [{largest_divisor(rows, rows // 2)}]")
    elif rows % said.stream[0] or said.stream[0] == rows:
        what = f"stream says steps of {said.stream[0]} rows, of which several have to make up {rows}"
        yield Obstacle(Constraint.NESTING, what, f"use {largest_divisor(rows, min(said.stream[0], rows // 2))}")
    if said.stream_l2 and said.stream_l2 != (rows,):
        what = f"stream_l2 says {said.stream_l2[0]} rows, and where rows are kept L2 has all {rows} of a tile"
        yield Obstacle(Constraint.NESTING, what, "leave stream_l2 out")


def _pieces_in_l2(group: Group, said: Strategy) -> Iterator[Obstacle]:
    """What is said of streamed loops in L2 that isn't made of pieces in L1."""
    for place, (l2, l1) in enumerate(zip(said.stream_l2, said.stream)):
        if l2 % l1:
            what = f"stream_l2 has {l2} at place {place}, which is no multiple of stream's {l1}"
            yield Obstacle(Constraint.NESTING, what, f"use {padded(l2, l1)}")
    if said.stream_l2 and not group.pads_streamed and said.stream_l2 != said.stream:
        what = "stream_l2 is larger than stream, and zeros may fill up sums of products only"
        yield Obstacle(Constraint.NESTING, what, "leave stream_l2 out")
