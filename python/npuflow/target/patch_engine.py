"""A matrix engine that works on patches of pixels, between reading from a scratchpad and writing to it: its rates.

A device file has it as `[patch_engine]` and `[[patch_engine.grids]]`; `kernels.patch_cycles` reads it.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.target.fields import LEAST_RATE, MOST_CYCLES, MOST_RATE, between


@dataclass(frozen=True, kw_only=True)
class PatchGrid:
    """A way in which the engine's sums are laid out: so many rows and columns of pixels, and channels, at a time.

    `read_share` is the rate of reading inputs as a share of the engine's.
    """

    name: str
    rows: int = between(1, 4096)
    columns: int = between(1, 4096)
    channels: int = between(1, 65536)
    read_share: float = between(0.001, 1000, default=1.0)


@dataclass(frozen=True, kw_only=True)
class PatchEngine:
    """Rates of a patch engine's ends, and what it loses. Cycles are the engine's own.

    - Pixels are read in words of `read_word_bytes`, a patch at a time, once for each position of a window. One word a
      pixel is read at `strided_share` of the rate where the window's stride is above 1, and half a word at
      `narrow_share`; a row of a window that is summed up channel by channel takes `row_cycles` more for each word.
    - Weights are read once for each grid of pixels, at `weight_bytes_per_cycle`.
    - Sums leave in words of `write_word_bytes`; to several clusters at `broadcast_share` of the rate.
    - Windows of `reused_columns` columns with stride 1 of at most `reused_channels` channels, summed up channel by
      channel, read `reused_share` of what others do.
      A row of patches at an edge with padding leaves out `edge_share` of it.
    - A last row of patches with one row of pixels skips the row of a window that is padding, all but
      `1 - skipped_share` of it.
    - Zeros around an image are made up by the engine, on each side up to `padding_share` of the window; 0: none are.
    """

    setup_cycles: int = between(0, MOST_CYCLES)
    read_bytes_per_cycle: float = between(LEAST_RATE, MOST_RATE)
    weight_bytes_per_cycle: float = between(LEAST_RATE, MOST_RATE)
    write_bytes_per_cycle: float = between(LEAST_RATE, MOST_RATE)
    read_word_bytes: int = between(1, 65536)
    write_word_bytes: int = between(1, 65536)
    broadcast_share: float = between(0.001, 1, default=1.0)
    strided_share: float = between(0.001, 1000, default=1.0)
    narrow_share: float = between(0.001, 1000, default=1.0)
    row_cycles: float = between(0, MOST_CYCLES, default=0.0)
    reused_columns: int = between(0, 4096, default=0)
    reused_channels: int = between(0, 65536, default=0)
    reused_share: float = between(0.001, 1, default=1.0)
    edge_share: float = between(0, 0.5, default=0.0)
    skipped_share: float = between(0, 1, default=0.0)
    padding_share: float = between(0, 1, default=0.0)
    grids: tuple[PatchGrid, ...]

    @property
    def is_known(self) -> bool:
        return bool(self.grids)


# Of a device whose matrix engine has no such ends.
NO_PATCH_ENGINE = PatchEngine(
    setup_cycles=0,
    read_bytes_per_cycle=1.0,
    weight_bytes_per_cycle=1.0,
    write_bytes_per_cycle=1.0,
    read_word_bytes=1,
    write_word_bytes=1,
    grids=(),
)
