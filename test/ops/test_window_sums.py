"""Windows of each channel alone: which ops are that, and by which loops."""

from __future__ import annotations

import pytest

from npuflow.bindings import ir
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.ops.window_sums import WindowSums, match_window_sums

MAPS = {
    "image": "affine_map<(n, c, y, x, v, u) -> (n, c, y * 2 + v, x + u)>",
    "weights": "affine_map<(n, c, y, x, v, u) -> (c, v, u)>",
    "window": "affine_map<(n, c, y, x, v, u) -> (v, u)>",
    "rows": "affine_map<(n, c, y, x, v, u) -> (y * 2 + v)>",
    "pixels": "affine_map<(n, c, y, x, v, u) -> (n, c, y, x)>",
}
KINDS = ["parallel"] * 4 + ["reduction"] * 2
SIZES = {"image": "1x8x9x10", "weights": "8x3x3", "window": "3x3", "rows": "9", "pixels": "1x8x4x8"}
PRODUCT = """
    %p = arith.extsi %a : i8 to i32
    %q = arith.extsi %b : i8 to i32
    %m = arith.muli %p, %q : i32
    %s = arith.addi %o, %m : i32
    linalg.yield %s : i32"""
LARGEST = """
    %m = arith.maxsi %o, %a : i8
    linalg.yield %m : i8"""
MASKED = """
    %z = arith.constant 0 : i8
    %least = arith.constant -128 : i8
    %is = arith.cmpi eq, %b, %z : i8
    %c = arith.select %is, %least, %a : i8
    %m = arith.maxsi %o, %c : i8
    linalg.yield %m : i8"""
SQUARES = """
    %p = arith.muli %a, %a : i8
    %m = arith.maxsi %o, %p : i8
    linalg.yield %m : i8"""


def generic(beside: str, body: str, out: str = "i8", kinds: list[str] = KINDS) -> str:
    names = ("image", beside, "window", "pixels")
    maps = ", ".join(MAPS[name] for name in names)
    x, w, v, r = (f"tensor<{SIZES[name]}x{out if name == 'pixels' else 'i8'}>" for name in names)
    quoted = ", ".join(f'"{kind}"' for kind in kinds)
    return f"""func.func @f(%x: {x}, %w: {w}, %v: {v}, %e: {r}) -> {r} {{
  %r = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{quoted}]}}
      ins(%x, %w, %v : {x}, {w}, {v}) outs(%e : {r}) {{
  ^bb0(%a: i8, %b: i8, %unused: i8, %o: {out}):{body}
  }} -> {r}
  return %r : {r}
}}"""


def matched(text: str) -> WindowSums | None:
    module = parse(text, new_context())
    (op,) = [op for op in ops_of(module.operation) if op.name == "linalg.generic"]
    assert isinstance(op, ir.Operation)
    return match_window_sums(op)


@pytest.mark.parametrize(
    ("text", "types"),
    [
        (generic("weights", PRODUCT, "i32"), ("i8", "i8", "i32")),
        (generic("window", LARGEST), ("i8", "i8", "i8")),
        (generic("rows", MASKED), ("i8", "i8", "i8")),
    ],
)
def test_depthwise_convolutions_and_pools_are_windows(text: str, types: tuple[str, str, str]) -> None:
    found = matched(text)
    assert found == WindowSums(types, (0, 1), (2, 3), (4, 5), (2, 1))
    tiles = (1, 8, 4, 8, 3, 2)
    assert (found.image(tiles), found.window(tiles), found.channel_count(tiles)) == ((4, 8), (3, 2), 8)


@pytest.mark.parametrize(
    "text",
    [
        # What is compared is no element as it is.
        generic("window", SQUARES),
        # A mask that is the element itself says nothing of padding.
        generic("rows", MASKED.replace("eq, %b", "eq, %a")),
        # Channels are summed up.
        generic("window", LARGEST, kinds=["reduction", *KINDS[1:]]),
        # Weights that differ from row to row.
        generic("rows", PRODUCT, "i32"),
    ],
)
def test_others_are_none(text: str) -> None:
    assert matched(text) is None
