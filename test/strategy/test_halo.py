"""Tiles with halos: against brute force, real cases, and the two chains that are known."""

from __future__ import annotations

import json
from math import ceil
from pathlib import Path
from typing import TypedDict

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from npuflow.errors import UsageError
from npuflow.strategy.halo import Axis, Channels, Span, Tile, Window, read_through, spans_of, tiles_of

# Real convolutions and pools, NCHW, as figures from the tests of openvinotoolkit/npu_compiler (Apache-2.0).
CASES = json.loads((Path(__file__).parent / "Inputs" / "conv_tiles.json").read_text(encoding="utf-8"))
SIDES = (("top", "bottom"), ("left", "right"))


class Pads(TypedDict):
    top: int
    bottom: int
    left: int
    right: int


class Part(TypedDict, total=False):
    out_offset: list[int]
    out_size: list[int]
    in_offset: list[int]
    in_size: list[int]
    pad: Pads


class Case(TypedDict):
    op: str
    input: list[int]
    output: list[int]
    kernel: list[int]
    strides: list[int]
    pad: Pads
    tiling: list[int] | None
    tiles: list[Part]


def axes_of(case: Case) -> list[Axis]:
    """The axes of a real case; what isn't a plain convolution reads the channels that it writes."""
    n, c, *sizes = case["input"]
    pads: dict[str, int] = {**case["pad"]}  # type: ignore[dict-item]
    windows = [
        Window(size, kernel, stride, 1, pads[before], pads[after])
        for size, kernel, stride, (before, after) in zip(sizes, case["kernel"], case["strides"], SIDES)
    ]
    groups = 1 if case["op"] == "Convolution" else c
    return [Window(n), Channels(c, case["output"][1], groups), *windows]


def splits_of(case: Case) -> list[int]:
    """How many tiles there are along each axis."""
    return [len({part["out_offset"][axis] for part in case["tiles"]}) for axis in range(4)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['op']}-{'x'.join(map(str, case['input']))}")
def test_real_cases(case: Case) -> None:
    axes = axes_of(case)
    if case["tiling"] is not None:
        assert splits_of(case) == case["tiling"]
    found = {tuple(s.offset for s in tile.output): tile for tile in tiles_of(axes, splits_of(case))}
    assert [axis.output_size for axis in axes] == case["output"]
    assert len(found) == len(case["tiles"])
    for part in case["tiles"]:
        check_part(found[tuple(part["out_offset"])], part)


def check_part(tile: Tile, part: Part) -> None:
    assert [s.size for s in tile.output] == part["out_size"]
    assert [p.offset for p in tile.input] == part["in_offset"]
    # One case goes on with other figures behind the four sizes.
    assert [p.size for p in tile.input] == part["in_size"][:4]
    if "pad" in part:
        pads: dict[str, int] = {**part["pad"]}  # type: ignore[dict-item]
        expected = [(pads[before], pads[after]) for before, after in SIDES]
        assert [(p.pad_before, p.pad_after) for p in tile.input[2:]] == expected


@st.composite
def windows(draw: st.DrawFn) -> Window:
    axis = Window(
        draw(st.integers(1, 40)),
        draw(st.integers(1, 7)),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 3)),
        draw(st.integers(0, 8)),
        draw(st.integers(0, 8)),
    )
    assume(axis.output_size >= 1)
    return axis


def positions(axis: Window, tile: Span) -> list[int]:
    """Every input position that a tile's windows touch, one by one, padding included."""
    return [
        out * axis.stride + tap * axis.dilation - axis.pad_before
        for out in range(tile.offset, tile.end)
        for tap in range(axis.kernel)
    ]


@given(windows(), st.integers(1, 6))
def test_a_piece_is_what_its_windows_cover(axis: Window, count: int) -> None:
    assume(1 < count <= axis.output_size)
    tiles = tiles_of([axis], [count])
    assert sum(tile.output[0].size for tile in tiles) == axis.output_size
    for tile in tiles:
        touched = positions(axis, tile.output[0])
        covered = range(min(touched), max(touched) + 1)
        piece = tile.input[0]
        inside = [position for position in covered if 0 <= position < axis.size]
        assert [*range(piece.offset, piece.offset + piece.size)] == inside
        assert piece.pad_before == sum(position < 0 for position in covered)
        assert piece.pad_after == sum(position >= axis.size for position in covered)


@given(windows())
def test_what_is_not_split_is_read_whole(axis: Window) -> None:
    (tile,) = tiles_of([axis], [1])
    touched = positions(axis, Span(0, axis.output_size))
    piece = tile.input[0]
    assert (piece.offset, piece.size, piece.pad_before) == (0, axis.size, axis.pad_before)
    assert piece.pad_after == max(0, max(touched) + 1 - axis.size) <= axis.pad_after


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 6), st.data())
def test_channels_are_those_of_the_groups(read: int, written: int, groups: int, data: st.DataObject) -> None:
    axis = Channels(read * groups, written * groups, groups)
    count = data.draw(st.integers(1, axis.output_size))
    for tile in tiles_of([axis], [count]):
        output, piece = tile.output[0], tile.input[0]
        needed = {
            group * read + channel
            for group in {out // written for out in range(output.offset, output.end)}
            for channel in range(read)
        }
        assert {*range(piece.offset, piece.offset + piece.size)} == needed


@given(st.integers(1, 200), st.integers(1, 12), st.integers(1, 16))
def test_tiles_are_even_and_aligned(size: int, count: int, alignment: int) -> None:
    step = ceil(ceil(size / count) / alignment) * alignment
    last = size - step * (count - 1)
    if count > size if alignment == 1 else last <= 0:
        with pytest.raises(UsageError, match=f"{size} elements cannot be split into {count} tiles"):
            spans_of(size, count, alignment)
        return
    sizes = [span.size for span in spans_of(size, count, alignment)]
    assert sum(sizes) == size
    assert len(sizes) == count
    if alignment == 1:
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] - sizes[-1] <= 1
    else:
        assert sizes == [step] * (count - 1) + [last]


def test_sizes_that_are_given_have_to_add_up() -> None:
    assert [(s.offset, s.size) for s in spans_of(10, (3, 7))] == [(0, 3), (3, 7)]
    with pytest.raises(UsageError, match="10 elements cannot be split into 2 tiles of 3, 6; hint: use fewer tiles"):
        spans_of(10, (3, 6))
    with pytest.raises(UsageError, match="10 elements cannot be split into 0 tiles"):
        spans_of(10, 0)


def test_two_convolutions_of_three_rows() -> None:
    rows = Window(256, 3, pad_before=1, pad_after=1)
    pieces = [read_through([rows, rows], span) for span in spans_of(256, 2)]
    assert [(p[0].offset, p[0].size) for p in pieces] == [(0, 130), (126, 130)]
    assert [p[1].size for p in pieces] == [129, 129]


def test_a_depthwise_convolution_in_front_of_a_pointwise_one() -> None:
    chain = [Window(65, 5, pad_before=2, pad_after=2), Window(65)]
    pieces = [read_through(chain, span)[0] for span in spans_of(65, 6)]
    assert [(p.offset, p.size) for p in pieces] == [(0, 13), (9, 15), (20, 15), (31, 15), (42, 15), (53, 12)]
