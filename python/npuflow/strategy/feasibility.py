"""Whether a strategy can be carried out: violations as data, each with need, limit and lever. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from npuflow.strategy.footprint import Buffer, Problem, l1_buffers, l2_buffers, total_bytes
from npuflow.strategy.strategy import Strategy, Tile
from npuflow.target import Device


@dataclass(frozen=True)
class Violation:
    message: str
    hint: str


def violations(problem: Problem, strategy: Strategy, device: Device, whole_k: bool) -> tuple[Violation, ...]:
    """Everything that stands against the strategy, independent of each other."""
    found = [*_grid(strategy, device), *_pack(problem, strategy, device), *_nesting(strategy)]
    if not found:
        found = [*_l1(problem, strategy, device), *_l2(problem, strategy, device, whole_k)]
    return tuple(found)


def _grid(strategy: Strategy, device: Device) -> list[Violation]:
    rows, columns = strategy.grid
    if 1 <= rows <= device.rows and 1 <= columns <= device.columns:
        return []
    return [
        Violation(
            f"grid {rows}x{columns} is larger than the {device.rows}x{device.columns} cores of {device.name}",
            f"use at most {device.rows} rows and {device.columns} columns",
        )
    ]


def _pack(problem: Problem, strategy: Strategy, device: Device) -> list[Violation]:
    lhs, rhs, acc = problem.types
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


def _l1(problem: Problem, strategy: Strategy, device: Device) -> list[Violation]:
    have = device.capacity_bytes(1, *strategy.grid)

    def need(tile: Tile) -> tuple[Buffer, ...]:
        return l1_buffers(problem, replace(strategy, tile_l1=tile))

    return _overflow("L1 of a core", need, strategy.tile_l1, strategy.pack, have, "tile-l1", "")


def _l2(problem: Problem, strategy: Strategy, device: Device, whole_k: bool) -> list[Violation]:
    have = device.capacity_bytes(2, *strategy.grid)
    step = (strategy.grid[0] * strategy.pack[0], strategy.grid[1] * strategy.pack[1], strategy.tile_l1[2])
    also = f" (all of K={problem.k} stays in L2 here), or use npuflow-stream-k" if whole_k else ""

    def need(tile: Tile) -> tuple[Buffer, ...]:
        return l2_buffers(problem, replace(strategy, tile_l2=tile), whole_k)

    return _overflow(f"L2 of {strategy.grid[1]} columns", need, strategy.tile_l2, step, have, "tile-l2", also)


def _overflow(
    where: str, need: Callable[[Tile], tuple[Buffer, ...]], tile: Tile, step: Tile, have: int, option: str, also: str
) -> list[Violation]:
    buffers = need(tile)
    total = total_bytes(buffers)
    if total <= have:
        return []
    largest = sorted(buffers, key=lambda b: -b.bytes)
    listed = ", ".join(str(b) for b in largest[:4]) + (", ..." if len(largest) > 4 else "")
    return [Violation(f"{where} needs {total} bytes, has {have} ({listed})", _lever(need, tile, step, have, option) + also)]


def _lever(need: Callable[[Tile], tuple[Buffer, ...]], tile: Tile, step: Tile, have: int, option: str) -> str:
    """What makes it fit: a smaller k if that is enough, else smaller m and n."""
    m, n, k = tile
    for smaller in range(k // step[2] - 1, 0, -1):
        if total_bytes(need((m, n, smaller * step[2]))) <= have:
            return f"lower {option} k from {k} to {smaller * step[2]}"
    while m > step[0] or n > step[1]:
        if m >= n and m > step[0] or n <= step[1]:
            m = max(step[0], m // 2 // step[0] * step[0])
        else:
            n = max(step[1], n // 2 // step[1] * step[1])
        if total_bytes(need((m, n, k))) <= have:
            return f"lower {option} m,n from {tile[0]},{tile[1]} to {m},{n}"
    return f"lower {option} from {_text(tile)} to {_text(step)} or use more columns"


def _text(tile: tuple[int, int, int]) -> str:
    return ",".join(map(str, tile))
