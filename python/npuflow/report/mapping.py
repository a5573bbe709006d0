"""How a function is mapped, in words: what lies side by side on the array, and what comes one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from npuflow.compiler.compiled import StrategyFields
from npuflow.report.model import FunctionReport


def mapping_lines(function: FunctionReport) -> Iterator[tuple[str, str]]:
    """`spatial` and `temporal`; nothing where more than one strategy is at work, or none is known."""
    strategy = function.strategy
    if not strategy:
        return
    if _sizes(strategy, "tile_l2"):
        yield "spatial", _cores_of_matmul(function, strategy)
        yield "temporal", _time_of_matmul(function, strategy)
    else:
        yield "spatial", _cores_of_bundle(function, strategy)
        yield "temporal", _time_of_bundle(strategy)


def _cores_of_matmul(function: FunctionReport, strategy: StrategyFields) -> str:
    along = ("n", "m") if strategy.get("turned") else ("m", "n")
    tile = _sizes(strategy, "tile_l1")
    return f"{_cores(function)}, rows along {along[0]}, columns along {along[1]}; {tile[0]}x{tile[1]} of m x n each"


def _time_of_matmul(function: FunctionReport, strategy: StrategyFields) -> str:
    block, tile = _sizes(strategy, "tile_l2"), _sizes(strategy, "tile_l1")
    shape = f"blocks of {block[0]}x{block[1]} of m x n"
    pieces = f"k in pieces of {block[2]} in L2, of {tile[2]} in L1"
    extents = next((op.extents for op in function.ops if op.extents), ())
    if len(function.ops) != 1 or not extents:
        return f"{shape}; {pieces}"
    m, n, k, batch = extents
    blocks = batch * ceil(m / block[0]) * ceil(n / block[1])
    return f"{shape}, {blocks} of them; {k} of {pieces}"


def _cores_of_bundle(function: FunctionReport, strategy: StrategyFields) -> str:
    spread = _sizes(strategy, "spread")
    sides = [f"{side} along loop {loop}" for side, loop in zip(("rows", "columns"), spread)]
    tile = "x".join(map(str, _sizes(strategy, "tile_l1")))
    return ", ".join([_cores(function), *sides]) + (f"; tiles of {tile}" if tile else "")


def _time_of_bundle(strategy: StrategyFields) -> str:
    order = " > ".join(map(str, _sizes(strategy, "order")))
    stream = "x".join(map(str, _sizes(strategy, "stream")))
    parts = [
        f"blocks one after the other along loops {order}" if order else "",
        f"pieces of {stream} streamed" if stream else "",
    ]
    return ", ".join(part for part in parts if part) or "one block"


def _cores(function: FunctionReport) -> str:
    rows, columns = function.grid
    return f"{rows}x{columns} cores"


def _sizes(strategy: StrategyFields, name: str) -> tuple[int, ...]:
    value = strategy.get(name, ())
    return value if isinstance(value, tuple) else (value,)
