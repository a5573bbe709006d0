"""Whether a strategy can be carried out: violations as data, each with need, limit and lever. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from npuflow.strategy.group import Group, K
from npuflow.strategy.mapping import mapping_of
from npuflow.strategy.room import Buffer, fullest_l2_bytes, l1_buffers, l1_descriptors, l2_buffers, total_l1_bytes
from npuflow.strategy.strategy import Sizes, Strategy, Tile
from npuflow.target import Device


@dataclass(frozen=True)
class Violation:
    """What is wrong, with numbers, and what to change."""

    message: str
    hint: str


def violations(group: Group, strategy: Strategy, device: Device, *, whole_k: bool = False) -> tuple[Violation, ...]:
    """Everything that stands against the strategy, independent of each other."""
    found = [*_grid(strategy, device), *_pack(group, strategy, device), *_nesting(strategy)]
    if not found:
        found = [*_l1(group, strategy, device), *_l2(group, strategy, device, whole_k)]
        found = found or _descriptors(group, strategy, device)
    return tuple(found)


def _grid(strategy: Strategy, device: Device) -> list[Violation]:
    rows, columns = strategy.array
    if 1 <= rows <= device.rows and 1 <= columns <= device.columns:
        return []
    return [
        Violation(
            f"grid {rows}x{columns} is larger than the {device.rows}x{device.columns} cores of {device.name}",
            f"use at most {device.rows} rows and {device.columns} columns",
        )
    ]


def _pack(group: Group, strategy: Strategy, device: Device) -> list[Violation]:
    assert group.types is not None
    lhs, rhs, acc = group.types
    if device.accepts_any_shape(lhs, rhs, acc):
        return []
    shapes = [(s.m, s.n, s.k) for s in device.matmul_shapes(lhs, rhs, acc)]
    if strategy.pack in shapes:
        return []
    known = " or ".join(_text(shape) for shape in shapes)
    return [
        Violation(
            f"pack {_text(strategy.pack)} is no matmul instruction of {device.name} for {lhs} x {rhs} -> {acc}",
            f"use pack={known}",
        )
    ]


def _nesting(strategy: Strategy) -> list[Violation]:
    found = []
    for name, size, pack in zip("mnk", strategy.tile_l1, strategy.pack):
        if size % pack:
            what = f"tile-l1 {name}={size} is no multiple of pack {name}={pack}"
            found.append(Violation(what, f"use a multiple of {pack}, such as {-(-size // pack) * pack}"))
    for name, l2, l1, cores, side in zip("mn", strategy.tile_l2, strategy.tile_l1, strategy.grid, ("rows", "columns")):
        if l2 != l1 * cores:
            found.append(
                Violation(
                    f"tile-l2 {name}={l2} is not {cores} grid {side} times tile-l1 {name}={l1}",
                    f"set tile-l2 {name} to {l1 * cores}"
                    + (f" or tile-l1 {name} to {l2 // cores}" if l2 % cores == 0 else ""),
                )
            )
    if strategy.tile_l2[2] % strategy.tile_l1[2]:
        found.append(
            Violation(
                f"tile-l2 k={strategy.tile_l2[2]} is no multiple of tile-l1 k={strategy.tile_l1[2]}",
                f"set tile-l2 k to {-(-strategy.tile_l2[2] // strategy.tile_l1[2]) * strategy.tile_l1[2]}",
            )
        )
    return found


def _l1(group: Group, strategy: Strategy, device: Device) -> list[Violation]:
    def need(changed: Strategy) -> list[Buffer]:
        return l1_buffers(group, mapping_of(group, changed))

    def total(buffers: Sequence[Buffer]) -> int:
        return total_l1_bytes(buffers, device.level(1).alignment_bytes)

    level = _Level("L1 of a core", "l1", _tile(strategy.pack), device.capacity_bytes(1, *strategy.array), need, total)
    return _overflow(level, strategy, "not even one instruction's operands fit")


def _l2(group: Group, strategy: Strategy, device: Device, whole_k: bool) -> list[Violation]:
    step = (strategy.grid[0] * strategy.pack[0], strategy.grid[1] * strategy.pack[1], strategy.tile_l1[2])
    also = f"all of K={group.sizes[K]} stays in L2 here: use npuflow-stream-k" if whole_k else "use more columns"
    columns = strategy.array[1]

    def need(changed: Strategy) -> list[Buffer]:
        m, n, _ = changed.tile_l2
        tile = (m // changed.grid[0], n // changed.grid[1], changed.tile_l1[2])
        mapping = mapping_of(group, replace(changed, tile_l1=tile), whole_k=whole_k)
        return l2_buffers(group, mapping, device.columns)

    def total(buffers: Sequence[Buffer]) -> int:
        return columns * fullest_l2_bytes(buffers)

    where = f"L2 of {columns} columns"
    return _overflow(_Level(where, "l2", step, device.capacity_bytes(2, *strategy.array), need, total), strategy, also)


def _descriptors(group: Group, strategy: Strategy, device: Device) -> list[Violation]:
    need, have = l1_descriptors(group, mapping_of(group, strategy)), device.dma(1).descriptors
    if need <= have:
        return []
    return [Violation(f"a core's channels need {need} descriptors, have {have}", "use fewer slots in L1")]


@dataclass(frozen=True)
class _Level:
    """A memory: what it has, what a strategy needs of it, and the steps in which its tile can shrink."""

    where: str
    field: str
    step: Tile
    have_bytes: int
    need: Callable[[Strategy], list[Buffer]]
    total: Callable[[Sequence[Buffer]], int]

    def need_bytes(self, strategy: Strategy) -> int:
        return self.total(self.need(strategy))

    def fits(self, strategy: Strategy) -> bool:
        return self.need_bytes(strategy) <= self.have_bytes

    def with_tile(self, strategy: Strategy, tile: Tile) -> Strategy:
        return replace(strategy, tile_l1=tile) if self.field == "l1" else replace(strategy, tile_l2=tile)

    def with_single_buffers(self, strategy: Strategy) -> Strategy:
        changed = replace(strategy, depth_l1=1) if self.field == "l1" else replace(strategy, depth_l2=1)
        return replace(changed, depth_lhs=(), depth_rhs=())


def _overflow(level: _Level, strategy: Strategy, last_resort: str) -> list[Violation]:
    if level.fits(strategy):
        return []
    buffers = sorted(level.need(strategy), key=lambda b: -b.bytes)
    listed = ", ".join(str(b) for b in buffers[:4]) + (", ..." if len(buffers) > 4 else "")
    what = f"{level.where} needs {level.need_bytes(strategy)} bytes, has {level.have_bytes} ({listed})"
    return [Violation(what, _lever(level, strategy) or last_resort)]


def _lever(level: _Level, strategy: Strategy) -> str | None:
    """What makes it fit: a smaller k if that is enough, else smaller m and n, else fewer slots."""
    m, n, k = _tile(strategy.tile_l1 if level.field == "l1" else strategy.tile_l2)
    smaller = _largest_k(level, strategy, (m, n, k))
    if smaller:
        return f"lower tile-{level.field} k from {k} to {smaller}"
    a, b = m, n
    while a > level.step[0] or b > level.step[1]:
        a, b = _halved(a, b, level.step)
        if level.fits(level.with_tile(strategy, (a, b, k))):
            return f"lower tile-{level.field} m,n from {m},{n} to {a},{b}"
    depth = _most_slots(strategy, 1 if level.field == "l1" else 0)
    if level.fits(level.with_single_buffers(strategy)):
        return f"lower depth_{level.field} from {depth} to 1"
    smallest = level.with_single_buffers(level.with_tile(strategy, level.step))
    if not level.fits(smallest):
        return None
    also = f" and depth_{level.field} from {depth} to 1" if depth > 1 else ""
    return f"lower tile-{level.field} from {_text((m, n, k))} to {_text(level.step)}{also}"


def _largest_k(level: _Level, strategy: Strategy, tile: Tile) -> int:
    """The largest k below the tile's that fits, by bisection; 0 if none does."""
    low, high = 0, (tile[2] - 1) // level.step[2]
    while low < high:
        middle = (low + high + 1) // 2
        if level.fits(level.with_tile(strategy, (tile[0], tile[1], middle * level.step[2]))):
            low = middle
        else:
            high = middle - 1
    return low * level.step[2]


def _halved(m: int, n: int, step: Tile) -> tuple[int, int]:
    """The larger of m and n halved, in steps."""
    if (m >= n and m > step[0]) or n <= step[1]:
        return max(step[0], m // 2 // step[0] * step[0]), n
    return m, max(step[1], n // 2 // step[1] * step[1])


def _most_slots(strategy: Strategy, place: int) -> int:
    """The slots of the operand that has more of them, in L2 (0) or L1 (1)."""
    shared = (strategy.depth_l2 or 1, strategy.depth_l1 or 1)
    return max((strategy.depth_lhs or shared)[place], (strategy.depth_rhs or shared)[place])


def _tile(sizes: Sizes) -> Tile:
    m, n, k = sizes
    return m, n, k


def _text(tile: Sizes) -> str:
    return ",".join(map(str, tile))
