"""Steps are what chains of tiles need before it is cut off at the edges: the spans of `npuflow split`, tile by tile."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from npuflow.split.chains import ARGUMENT, ChainStep, chain_sizes, chain_tiles
from npuflow.split.steps import Steps
from npuflow.split.windows import SlidingWindow

WINDOWS = st.builds(
    lambda size, stride, before, behind, dilation: SlidingWindow(
        size, stride, min(before, size - 1), min(behind, size - 1), dilation
    ),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(1, 2),
)


def test_two_windows_of_three_need_a_row_more_on_each_side() -> None:
    """Rows 0 to 7 of the result: 1 in front of them and 1 behind, of the argument 2."""
    window = SlidingWindow(3, 1, 1, 1)
    middle = Steps(8, 0, 8).read(window)
    assert middle == Steps(8, -1, 10)
    assert middle.read(window) == Steps(8, -2, 12)
    assert middle.overhangs(4, 32)
    assert not Steps(8, 0, 8).overhangs(4, 32)


def test_strides_multiply() -> None:
    assert Steps(4, 0, 4).read(SlidingWindow(3, 2, 1, 1)).read(SlidingWindow(1, 2)) == Steps(16, -2, 17)


@given(st.integers(8, 60), st.lists(WINDOWS, min_size=1, max_size=4), st.integers(2, 6))
def test_steps_are_the_spans_of_chains(size: int, windows: list[SlidingWindow], tiles: int) -> None:
    names = [ARGUMENT, *(f"step{number}" for number in range(len(windows)))]
    steps = [ChainStep(name, (read,), window) for name, read, window in zip(names[1:], names, windows)]
    left = size
    for window in windows:
        assume(left + window.pad_before + window.pad_after >= window.extent)
        left = window.output_size(left)
    assume(left % tiles == 0)
    sizes = chain_sizes(size, steps)
    needed = {names[-1]: Steps(left // tiles, 0, left // tiles)}
    for step in reversed(steps):
        needed[step.reads[0]] = needed[step.name].read(step.window)
    for number, tile in enumerate(chain_tiles(size, steps, tiles)):
        for name, span in tile.values.items():
            if span.size:
                assert needed[name].span(number, sizes[name]).end >= span.end
                assert needed[name].span(number, sizes[name]).begin <= span.begin
