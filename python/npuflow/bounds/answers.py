"""Bounds of one problem that is given by its numbers, for a fast memory of so many elements. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from npuflow.bounds import chain, convolution, formulas, gemm
from npuflow.bounds.blocks import Attained
from npuflow.bounds.formulas import Formula
from npuflow.bounds.pebbling import pebbling_bytes
from npuflow.bounds.sizes import ChainSizes, ConvolutionSizes, MatmulSizes, WindowLine


@dataclass(frozen=True)
class Answer:
    """What is compulsory, what no order goes below, and the best blocks; None where no capacity is given, or none fits.

    `formula_value` is the quoted formula's, where it is no bound because blocks are known that move less as well.
    `fits_at` is the capacity from which on only what is compulsory moves. `unfused` is what two products move one after
    the other.
    """

    compulsory: int
    formula: Formula
    lower_bound: int | None = None
    formula_value: int | None = None
    attained: Attained | None = None
    fits_at: int | None = None
    unfused: Answer | None = None


@dataclass(frozen=True)
class Question:
    """A kind of problem: the names of its numbers, of which the last `optional` may be left out and are then one.

    Each is `most` at most, so that all blocks can be tried.
    """

    names: tuple[str, ...]
    answer: Callable[[Sequence[int], int | None], Answer]
    optional: int = 0
    most: int = 1 << 31


def _matmul(m: int, n: int, k: int) -> MatmulSizes:
    return MatmulSizes(m, n, k, batch=1, lhs_bytes=1, rhs_bytes=1, acc_bytes=1, result_bytes=1)


def _gemm(numbers: Sequence[int], capacity: int | None) -> Answer:
    m, n, k = numbers
    sizes = _matmul(m, n, k)
    compulsory, fits = gemm.compulsory_bytes(sizes), gemm.fits_bytes(sizes)
    if capacity is None:
        return Answer(compulsory, formulas.GEMM, fits_at=fits)
    bound, value = gemm.lower_bound_bytes(sizes, capacity), pebbling_bytes(gemm.products_of(sizes), capacity)
    return Answer(compulsory, formulas.GEMM, bound, value, gemm.attainable(sizes, capacity), fits)


def _convolution(numbers: Sequence[int], capacity: int | None) -> Answer:
    batch, rows, columns, out_channels, row_taps, column_taps, in_channels, step = numbers
    down = WindowLine(rows, row_taps, step, 0, (rows - 1) * step + row_taps)
    across = WindowLine(columns, column_taps, step, 0, (columns - 1) * step + column_taps)
    sizes = ConvolutionSizes(batch, down, across, in_channels, out_channels, 1, 1, 1, 1)
    compulsory = convolution.compulsory_bytes(sizes)
    if capacity is None:
        return Answer(compulsory, formulas.CONVOLUTION)
    bound = convolution.lower_bound_bytes(sizes, capacity)
    value = pebbling_bytes(convolution.products_of(sizes), capacity)
    return Answer(compulsory, formulas.CONVOLUTION, bound, value, convolution.attainable(sizes, capacity))


def _chain(numbers: Sequence[int], capacity: int | None) -> Answer:
    m, k, between, n = numbers
    return _of_chain(ChainSizes(_matmul(m, between, k), _matmul(m, n, between)), capacity, formulas.CHAIN)


def _attention(numbers: Sequence[int], capacity: int | None) -> Answer:
    rows, size = numbers
    sizes = ChainSizes(_matmul(rows, rows, size), _matmul(rows, size, rows))
    return _of_chain(sizes, capacity, formulas.ATTENTION)


def _of_chain(sizes: ChainSizes, capacity: int | None, formula: Formula) -> Answer:
    compulsory, apart = chain.fused_compulsory_bytes(sizes), chain.unfused_compulsory_bytes(sizes)
    if capacity is None:
        return Answer(compulsory, formula, unfused=Answer(apart, formulas.GEMM))
    bound = sum(gemm.lower_bound_bytes(one, capacity) for one in (sizes.first, sizes.second))
    unfused = Answer(apart, formulas.GEMM, bound, attained=chain.unfused_attainable(sizes, capacity))
    return Answer(compulsory, formula, compulsory, None, chain.fused_attainable(sizes, capacity), unfused=unfused)


QUESTIONS: Mapping[str, Question] = {
    "gemm": Question(("M", "N", "K"), _gemm),
    "conv": Question(("B", "Ho", "Wo", "Co", "Hk", "Wk", "Ci", "stride"), _convolution, optional=1, most=1 << 15),
    "chain": Question(("M", "K", "L", "N"), _chain),
    "attention": Question(("N", "d"), _attention),
}
