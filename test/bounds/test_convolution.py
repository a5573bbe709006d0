"""What a convolution moves: counted element by element, and the bound that stays below what blocks move."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from npuflow.bounds.convolution import attainable, compulsory_bytes, lower_bound_bytes, products_of
from npuflow.bounds.gemm import compulsory_bytes as matmul_compulsory_bytes
from npuflow.bounds.pebbling import pebbling_bytes
from npuflow.bounds.sizes import ConvolutionSizes, MatmulSizes, WindowLine

lines = st.builds(
    WindowLine, st.integers(1, 9), st.integers(1, 4), st.integers(1, 4), st.integers(0, 2), st.integers(1, 20)
)
few = st.integers(1, 5)
convolutions = st.builds(ConvolutionSizes, few, lines, lines, few, few, *(st.sampled_from([1, 2, 4]) for _ in range(4)))


def windows(line: WindowLine) -> list[set[int]]:
    """The elements of the image in each window."""
    begins = (result * line.step - line.before for result in range(line.results))
    return [{place for place in range(begin, begin + line.taps) if 0 <= place < line.size} for begin in begins]


@given(lines, st.integers(1, 9))
def test_a_line_counts_what_its_windows_hold(line: WindowLine, block: int) -> None:
    held = windows(line)
    assert line.products == sum(map(len, held))
    blocks = [held[first : first + block] for first in range(0, line.results, block)]
    if line.step >= line.taps or all(held):
        assert line.patches(block) == sum(len(set().union(*one)) for one in blocks)


@given(convolutions, st.integers(1, 3000))
def test_blocks_move_at_least_the_bound(sizes: ConvolutionSizes, fast: int) -> None:
    bound = lower_bound_bytes(sizes, fast)
    assert bound >= compulsory_bytes(sizes)
    found = attainable(sizes, fast)
    assert found is None or found.bytes >= bound


def test_the_bound_is_the_recalled_formula() -> None:
    # R = 9: 2 * 56*56*64*3*3*64 / (3 * 32) + 56*56*64
    line = WindowLine(56, 3, 1, 0, 58)
    sizes = ConvolutionSizes(1, line, line, 64, 64, 1, 1, 1, 1)
    assert lower_bound_bytes(sizes, 1024) == 2 * 56 * 56 * 64 * 9 * 64 // (3 * 32) + 56 * 56 * 64


def test_with_few_terms_the_formula_is_more_than_blocks_move() -> None:
    # ResNet-50's first layer sums 147 terms: its weights stay, and nothing moves twice.
    line = WindowLine(112, 7, 2, 2, 224)
    sizes = ConvolutionSizes(1, line, line, 3, 64, 1, 1, 1, 1)
    found = attainable(sizes, 16_384)
    assert found is not None
    assert found.bytes == 224 * 224 * 3 + 7 * 7 * 3 * 64 + 112 * 112 * 64 == lower_bound_bytes(sizes, 16_384)
    assert pebbling_bytes(products_of(sizes), 16_384) > found.bytes


def test_a_window_of_one_is_a_matmul() -> None:
    line = WindowLine(8, 1, 1, 0, 8)
    sizes = ConvolutionSizes(3, line, line, 16, 24, 1, 1, 4, 1)
    assert compulsory_bytes(sizes) == matmul_compulsory_bytes(MatmulSizes(3 * 64, 24, 16, 1, 1, 1, 4, 1))


def test_with_room_for_all_results_everything_moves_once() -> None:
    line = WindowLine(10, 3, 1, 1, 10)
    sizes = ConvolutionSizes(2, line, line, 4, 6, 1, 1, 1, 1)
    found = attainable(sizes, 2 * 100 * 6 + 2 * 100 + 1)
    assert found is not None
    assert found.bytes == compulsory_bytes(sizes) == 2 * 4 * 100 + 9 * 4 * 6 + 2 * 6 * 100
