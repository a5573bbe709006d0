"""Splits of axes, windows over them, layers and chains: published tiles, and the same found by brute force."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from npuflow.errors import InputError
from npuflow.split.cases import split_case
from npuflow.split.chains import ARGUMENT, ChainStep, chain_tiles
from npuflow.split.layers import Layer, layer_tiles
from npuflow.split.spans import Span, split_axis, split_sizes
from npuflow.split.windows import SlidingWindow

CASES = json.loads((Path(__file__).parent / "Inputs" / "conv_tiles.json").read_text())


def test_the_first_tiles_have_one_more() -> None:
    assert split_sizes(340, 7) == (49, 49, 49, 49, 48, 48, 48)
    assert split_axis(10, 3) == (Span(0, 4), Span(4, 3), Span(7, 3))


def test_aligned_tiles_leave_the_rest_for_the_last() -> None:
    assert split_sizes(100, 3, 16) == (48, 48, 4)
    assert split_sizes(96, 3, 16) == (32, 32, 32)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ((96, 4, 48), "96 in 4 tiles, aligned to 48 leaves -48 for the last one; hint: at most 2 tiles"),
        ((96, 3, 48), "leaves 0 for the last one"),
        ((3, 4, 1), "3 in 4 tiles leaves 0 for the last one; hint: at most 3 tiles"),
        ((0, 1, 1), "sizes, tiles and alignments are 1 at least"),
        ((10**9, 10**9, 1), "at most 100000"),
    ],
)
def test_no_such_split(wanted: tuple[int, int, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        split_sizes(*wanted)


@given(st.integers(1, 300), st.integers(1, 20), st.integers(1, 16))
def test_tiles_cover_an_axis_once(size: int, tiles: int, alignment: int) -> None:
    try:
        spans = split_axis(size, tiles, alignment)
    except InputError:
        return
    assert len(spans) == tiles
    assert [index for span in spans for index in range(span.begin, span.end)] == list(range(size))
    if alignment > 1:
        assert all(span.size % alignment == 0 for span in spans[:-1])


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['op']} {case['input']} {len(case['tiles'])}")
def test_published_tiles(case: dict[str, object]) -> None:
    made = split_case(case, "here").json()
    tiles, published = made["tiles"], case["tiles"]
    assert isinstance(tiles, list)
    assert isinstance(published, list)
    assert len(tiles) == len(published)
    for tile, wanted in zip(tiles, published):
        # One of the published in_size lists goes on behind its four axes.
        assert {key: tile[key] for key in wanted} == {**wanted, "in_size": wanted["in_size"][:4]}


def test_the_first_layer_of_resnet50() -> None:
    window = SlidingWindow(7, 2, 2, 3)
    tiles = layer_tiles(Layer((1, 3, 224, 224), 64, window, window), (1, 1, 4, 1))
    rows = [tile.input[2] for tile in tiles]
    assert [read.span.size for read in rows] == [59, 61, 61, 58]
    assert [(read.pad_before, read.pad_after) for read in rows] == [(2, 0), (0, 0), (0, 0), (0, 3)]
    assert {(tile.input[3].pad_before, tile.input[3].pad_after) for tile in tiles} == {(2, 3)}


def test_channels_read_their_groups() -> None:
    layer = Layer((1, 12, 8, 8), 24, SlidingWindow(), SlidingWindow(), groups=3)
    channels = [tile.input[1].span for tile in layer_tiles(layer, (1, 4, 1, 1))]
    assert channels == [Span(0, 4), Span(0, 8), Span(4, 8), Span(8, 4)]


WINDOWS = st.builds(
    SlidingWindow, st.integers(1, 5), st.integers(1, 3), st.integers(0, 2), st.integers(0, 2), st.integers(1, 2)
).filter(lambda window: max(window.pad_before, window.pad_after) <= window.size // 2)


def positions(window: SlidingWindow, output: int) -> list[int]:
    """The input's indices that one output reads, padding included."""
    first = output * window.stride - window.pad_before
    return [first + at * window.dilation for at in range(window.size)]


@given(WINDOWS, st.integers(1, 40), st.integers(1, 5))
def test_reads_are_what_windows_touch(window: SlidingWindow, size: int, tiles: int) -> None:
    assume(size + window.pad_before + window.pad_after >= window.extent)
    outputs = window.output_size(size)
    assume(tiles <= outputs)
    for span in split_axis(outputs, tiles):
        touched = [p for output in range(span.begin, span.end) for p in positions(window, output)]
        read = window.reads(span, size)
        assert read.pad_before == max(0, -min(touched))
        assert read.pad_after == max(0, max(touched) - size + 1)
        assert (read.span.begin, read.span.end) == (max(0, min(touched)), min(size, max(touched) + 1))


def test_a_chain_with_a_skip() -> None:
    three = SlidingWindow(3, 1, 1, 1)
    steps = [
        ChainStep("first", (ARGUMENT,), three),
        ChainStep("second", ("first",), three),
        ChainStep("add", ("second", ARGUMENT)),
    ]
    tiles = chain_tiles(256, steps, 2)
    assert [tile.values[ARGUMENT] for tile in tiles] == [Span(0, 130), Span(126, 130)]
    assert [tile.values["first"].size for tile in tiles] == [129, 129]
    skips = [one for tile in tiles for one in tile.slices if (one.step, one.value) == ("add", ARGUMENT)]
    assert [(one.read.span, one.offset) for one in skips] == [(Span(0, 128), 0), (Span(128, 128), 2)]


def test_a_chain_of_uneven_tiles() -> None:
    steps = [ChainStep("depthwise", (ARGUMENT,), SlidingWindow(5, 1, 2, 2)), ChainStep("pointwise", ("depthwise",))]
    found = [tile.values[ARGUMENT] for tile in chain_tiles(65, steps, 6)]
    assert found == [Span(0, 13), Span(9, 15), Span(20, 15), Span(31, 15), Span(42, 15), Span(53, 12)]


def test_a_chain_that_isnt_split_reads_all() -> None:
    steps = [
        ChainStep("first", (ARGUMENT,), SlidingWindow(3, 1, 1, 1)),
        ChainStep("last", ("first",), SlidingWindow(1, 3)),
    ]
    (tile,) = chain_tiles(9, steps, 1)
    assert tile.values == {ARGUMENT: Span(0, 9), "first": Span(0, 9), "last": Span(0, 3)}
    assert [tile.values["first"] for tile in chain_tiles(9, steps, 3)] == [Span(0, 1), Span(3, 1), Span(6, 1)]


@given(st.lists(WINDOWS, min_size=1, max_size=4), st.integers(4, 60), st.integers(1, 4), st.booleans())
def test_chains_have_all_that_they_touch(windows: list[SlidingWindow], size: int, tiles: int, skips: bool) -> None:
    steps = [ChainStep(f"s{at}", (f"s{at - 1}" if at else ARGUMENT,), window) for at, window in enumerate(windows)]
    sizes = [size]
    for window in windows:
        assume(sizes[-1] + window.pad_before + window.pad_after >= window.extent)
        sizes.append(window.output_size(sizes[-1]))
    if skips and sizes[-1] == size:
        steps.append(ChainStep("add", (steps[-1].name, ARGUMENT)))
    assume(tiles <= sizes[-1])
    for tile, span in zip(chain_tiles(size, steps, tiles), split_axis(sizes[-1], tiles)):
        needed = set(range(span.begin, span.end))  # what lies between positions that are apart comes along
        if tiles == 1:
            assert tile.values[ARGUMENT] == Span(0, size)
            break
        for window, before in zip(reversed(windows), reversed(sizes[:-1])):
            reached = (positions(window, output) for output in needed)
            needed = {p for each in reached for p in range(each[0], each[-1] + 1) if 0 <= p < before}
        if len(steps) > len(windows):
            needed |= set(range(span.begin, span.end))
        have = tile.values[ARGUMENT]
        assert needed <= set(range(have.begin, have.end))
        assert not needed or (min(needed), max(needed)) == (have.begin, have.end - 1)


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (3, "here is 3; hint: give an object"),
        ({"input": [1, 2, 3]}, "here: 'input' is [1, 2, 3]; hint: give a list of 4 whole numbers"),
        ({"input": [1, 2, 3, 4], "kernel": [9, 1], "tiling": [1, 1, 1, 1]}, "a window of 9 doesn't fit 3"),
        ({"input": [1, 2, 3, 4], "kernel": [1, 1], "tiling": [1, 1, 4, 1]}, "3 in 4 tiles leaves 0"),
        ({"input": [1, 2, 3, 4], "kernel": [1, 1], "output": [1, 2, 4, 4]}, "here: 'output' is [1, 2, 4, 4]"),
        ({"input": [1, 2, 3, 4], "kernel": [1, 1], "groups": 3}, "2 and 2 channels must divide by it"),
        ({"chain": [{"reads": ["x"]}], "size": 4, "tiling": 1}, "unknown value that 'step1' reads 'x'"),
        ({"chain": [{"kernel": 3}, {"reads": ["step1", "argument"]}], "size": 4, "tiling": 1}, "'step2' makes 2 of"),
        ({"chain": [], "size": 4, "tiling": 1}, "a chain without steps"),
        ({"chain": [{"name": "a"}, {"name": "a"}], "size": 4, "tiling": 1}, "two values are called 'a'"),
    ],
)
def test_what_cannot_be_split(case: object, said: str) -> None:
    with pytest.raises(InputError) as caught:
        split_case(case, "here")
    assert said in str(caught.value)
