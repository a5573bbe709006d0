"""What an op computes and needs, as numbers that bounds and rates are made from. Pure data."""

from __future__ import annotations

from dataclasses import dataclass


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


@dataclass(frozen=True)
class BundleSizes:
    """A bundle's multiply-accumulates, and the bytes of what it needs of its operands and of what it makes."""

    macs: int
    needed_bytes: int


OpSizes = MatmulSizes | BundleSizes
