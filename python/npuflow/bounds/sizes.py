"""What an op computes and needs, as numbers that bounds and rates are made from. Pure data.

Extents are in elements, widths in bytes; with widths of one, bytes are elements.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class MatmulSizes:
    """One matmul, `batch` times: extents in elements, widths in bytes."""

    m: int
    n: int
    k: int
    batch: int
    lhs_bytes: int
    rhs_bytes: int
    acc_bytes: int
    result_bytes: int

    @property
    def macs(self) -> int:
        return self.batch * self.m * self.n * self.k

    @property
    def once(self) -> MatmulSizes:
        """The same, one of the batch."""
        return replace(self, batch=1)

    @property
    def turned(self) -> MatmulSizes:
        """The transposed result, of the transposed operands in the other order."""
        return replace(self, m=self.n, n=self.m, lhs_bytes=self.rhs_bytes, rhs_bytes=self.lhs_bytes)


@dataclass(frozen=True)
class WindowLine:
    """One dimension of an image: so many results, each of a window of `taps`, which begin `step` apart.

    The first one begins `before` the image, which has `size` elements; what lies outside of it is zeros.
    """

    results: int
    taps: int
    step: int
    before: int
    size: int

    def touched(self, first: int, count: int) -> int:
        """The elements of the image that are in the windows of so many results from the first one on."""
        if self.step >= self.taps:
            return sum(self._inside(result) for result in range(first, first + count))
        begin, end = first * self.step - self.before, (first + count - 1) * self.step - self.before + self.taps
        return max(0, min(end, self.size) - max(begin, 0))

    def patches(self, block: int) -> int:
        """What all blocks of so many results touch, halos once for each."""
        firsts = range(0, self.results, block)
        return sum(self.touched(first, min(block, self.results - first)) for first in firsts)

    @property
    def products(self) -> int:
        """Pairs of a result and an element in its window: without the zeros, results times taps are fewer."""
        return sum(self._inside(result) for result in range(self.results))

    def _inside(self, result: int) -> int:
        begin = result * self.step - self.before
        return max(0, min(begin + self.taps, self.size) - max(begin, 0))


@dataclass(frozen=True)
class ConvolutionSizes:
    """A convolution: windows over rows and columns of an image, summed over its channels."""

    batch: int
    rows: WindowLine
    columns: WindowLine
    in_channels: int
    out_channels: int
    image_bytes: int
    weight_bytes: int
    acc_bytes: int
    result_bytes: int

    @property
    def macs(self) -> int:
        """Those with elements of the image; zeros around it are in no bound."""
        return self.batch * self.rows.products * self.columns.products * self.in_channels * self.out_channels

    @property
    def results(self) -> int:
        return self.batch * self.rows.results * self.columns.results * self.out_channels

    @property
    def weights(self) -> int:
        return self.rows.taps * self.columns.taps * self.in_channels * self.out_channels

    @property
    def window(self) -> int:
        return self.rows.taps * self.columns.taps

    @property
    def window_step(self) -> int:
        return self.rows.step * self.columns.step


@dataclass(frozen=True)
class ChainSizes:
    """(A[m,k] B[k,l]) D[l,n]: the first product is the second one's left operand, and needed nowhere else."""

    first: MatmulSizes
    second: MatmulSizes

    @property
    def batch(self) -> int:
        return self.first.batch

    @property
    def macs(self) -> int:
        return self.first.macs + self.second.macs


@dataclass(frozen=True)
class BundleSizes:
    """A bundle's multiply-accumulates, and the bytes of what it needs of its operands and of what it makes.

    `convolution` is its only sum of products, if that is one of an image's windows.
    """

    macs: int
    needed_bytes: int
    convolution: ConvolutionSizes | None = None


OpSizes = MatmulSizes | BundleSizes
