"""What a device's cores do with matrices: instructions with their rates, and how well kernels use them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from npuflow.target.fields import MACS_RATE, MOST_CYCLES, between, one_of

# The element types of sums of products.
MULTIPLIED = ("i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")


@lru_cache
def bytes_of(element_type: str) -> int:
    """The bytes of an element of one of these types."""
    return int(element_type.strip("abcdefghijklmnopqrstuvwxyz")) // 8


@dataclass(frozen=True, kw_only=True)
class MatmulShape:
    """One matrix instruction (or scalar loop nest, `any_shape`) and its rate: D[m,n] += L[m,k] R[k,n].

    Its m are consecutive rows of a matrix, or the pixels of a `patch`: so many rows of so many pixels of an image.
    `computed_as` is the type that factors are converted to where the device computes in another one than theirs.
    """

    lhs: str = one_of(MULTIPLIED)
    rhs: str = one_of(MULTIPLIED)
    acc: str = one_of(MULTIPLIED)
    m: int = between(1, 4096)
    n: int = between(1, 4096)
    k: int = between(1, 4096)
    macs_per_cycle: float = between(MACS_RATE.least, MACS_RATE.most)
    any_shape: bool = False
    patch: tuple[int, ...] = ()
    computed_as: str = one_of(("", *MULTIPLIED), default="")
    note: str = ""

    @property
    def types(self) -> tuple[str, str, str]:
        return (self.lhs, self.rhs, self.acc)

    def rows_per_load(self, vector_bytes: int) -> int:
        """The rows of the left operand, k elements each, that one load brings; all m where it could bring more."""
        row_bytes = self.k * bytes_of(self.lhs)
        rows = max(1, vector_bytes // row_bytes)
        return rows if self.m % rows == 0 else self.m


@dataclass(frozen=True, kw_only=True)
class KernelKind:
    """How well a kind of matmul kernel uses the core; `lhs`, `rhs` and `acc` empty mean any types.

    `issue_share` is matrix instructions per cycle in the inner loop, as a share of what the core could issue;
    `move_share` is what of the accumulator's loads and stores isn't hidden behind them; `restart_cycles` are lost at
    each new L2 tile, beside the first L1 tiles' way in, by generated code that lets its L1 buffers run empty there
    (npuflow's own schedules don't). The inner loop works on `row_blocks` rows of instructions side by side, and takes
    as long where a tile has fewer left. Where the first call on a sum begins `from_zero`, setting it to zero takes no
    time.
    """

    kind: str
    lhs: str = one_of(("", *MULTIPLIED), default="")
    rhs: str = one_of(("", *MULTIPLIED), default="")
    acc: str = one_of(("", *MULTIPLIED), default="")
    issue_share: float = between(0.001, 1000)
    move_share: float = between(0, 1000)
    call_cycles: int = between(0, MOST_CYCLES)
    restart_cycles: int = between(0, MOST_CYCLES, default=0)
    row_blocks: int = between(1, 1024, default=1)
    from_zero: bool = False

    def suits(self, kind: str, types: tuple[str, str, str]) -> bool:
        named = (self.lhs, self.rhs, self.acc)
        return kind in ("", self.kind) and all(own in ("", other) for own, other in zip(named, types))
