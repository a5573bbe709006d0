"""How long a matrix engine that works on patches of pixels takes for an op whose data is in the scratchpad. Pure.

Reading inputs, multiplying, and writing sums go on side by side, so that the slowest of them counts; setting up comes
before, and the sums of one grid of pixels and channels leave at the end, behind all else.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, prod

from npuflow.ops.patches import Extent, patch_count
from npuflow.target.matmul import MatmulShape, bytes_of
from npuflow.target.patch_engine import PatchEngine, PatchGrid


@dataclass(frozen=True)
class PatchWork:
    """An op on a tile: rows and columns of its result's pixels, and their channels; bytes are an element's.

    Its window's positions are summed up over `summed_channels` of the input, or, where that is 0, for each channel
    alone, as in a depthwise convolution or a pool. An element-wise op has no window and as many `operands` as it
    reads. `padded_edges` are how many of the first and the last row of windows read padding; `is_broadcast` is whether
    sums go to several clusters.
    """

    pixels: Extent
    channels: int
    summed_channels: int = 0
    window: Extent = (1, 1)
    strides: Extent = (1, 1)
    in_bytes: int = 1
    out_bytes: int = 1
    operands: int = 0
    padded_edges: int = 0
    is_broadcast: bool = False

    @property
    def positions(self) -> int:
        return prod(self.window)


def patch_cycles(work: PatchWork, grid: PatchGrid, instruction: MatmulShape, engine: PatchEngine) -> int:
    """The engine's cycles for an op in one of its grids; `instruction` is the one for the op's types."""
    rows, columns = instruction.patch
    patch = (rows, columns)
    write_rate = engine.write_bytes_per_cycle * (engine.broadcast_share if work.is_broadcast else 1.0)
    written = (
        patch_count(work.pixels, patch)
        * instruction.m
        * _padded(work.channels * work.out_bytes, engine.write_word_bytes)
    )
    busy = max(
        _multiply_cycles(work, instruction, engine),
        _read_cycles(work, patch, grid, instruction, engine),
        written / write_rate,
    )
    last = min(work.pixels[0], grid.rows) * min(work.pixels[1], grid.columns) * min(work.channels, grid.channels)
    return engine.setup_cycles + ceil(busy + last * work.out_bytes / write_rate)


def best_patch_cycles(work: PatchWork, instruction: MatmulShape, engine: PatchEngine) -> int:
    """The engine's cycles in the grid that suits an op best."""
    return min(patch_cycles(work, grid, instruction, engine) for grid in engine.grids)


def least_patch_cycles(
    instruction: MatmulShape, engine: PatchEngine, *, summed: int, has_channels_alone: bool = False
) -> tuple[float, float]:
    """The engine's cycles of a call at least, and of each step of loops of which up to `summed` steps make a result.

    A step is a multiplication, or, where each channel is summed up alone, an element that is read.
    """
    written = bytes_of(instruction.acc) / engine.write_bytes_per_cycle / summed
    if not has_channels_alone:
        return engine.setup_cycles, max(written, 1 / instruction.macs_per_cycle)
    rate = engine.read_bytes_per_cycle * max(grid.read_share for grid in engine.grids)
    share = engine.reused_share / max(1.0, engine.strided_share) / max(1.0, engine.narrow_share)
    return engine.setup_cycles, max(written, bytes_of(instruction.lhs) / rate * share)


def _multiply_cycles(work: PatchWork, instruction: MatmulShape, engine: PatchEngine) -> float:
    """What the multipliers take, idle ones included; nothing where channels aren't summed up."""
    if not work.summed_channels:
        return 0.0
    rows, columns = instruction.patch
    per_row = -(-work.pixels[1] // columns) * instruction.m * _padded(work.channels, instruction.n)
    per_row *= _padded(work.summed_channels, instruction.k) * work.positions
    cycles = -(-work.pixels[0] // rows) * per_row / instruction.macs_per_cycle
    if work.padded_edges and work.pixels[0] % rows == 1 and work.window[0] > 1:
        cycles -= per_row / instruction.macs_per_cycle / work.window[0] * engine.skipped_share
    return cycles


def _read_cycles(
    work: PatchWork, patch: Extent, grid: PatchGrid, instruction: MatmulShape, engine: PatchEngine
) -> float:
    pixels = patch_count(work.pixels, patch) * instruction.m
    rate = engine.read_bytes_per_cycle
    if work.operands:
        return work.operands * pixels * _padded(work.channels * work.in_bytes, engine.read_word_bytes) / rate
    if work.summed_channels:
        return _read_summed_cycles(work, patch, grid, instruction, engine)
    words = -(-work.channels * work.in_bytes // engine.read_word_bytes)
    is_whole = work.channels * work.in_bytes % engine.read_word_bytes == 0
    cycles = pixels * work.positions * words * engine.read_word_bytes / (rate * grid.read_share)
    if work.window[1] == engine.reused_columns and work.strides[1] == 1 and work.channels <= engine.reused_channels:
        cycles *= engine.reused_share
    if work.strides[1] > 1 and words == 1:
        cycles /= engine.strided_share
    cycles *= 1 - engine.edge_share * work.padded_edges / -(-work.pixels[0] // patch[0])
    if not is_whole:
        return cycles / engine.narrow_share
    return cycles + pixels / instruction.m * work.window[0] * words * engine.row_cycles


def _read_summed_cycles(
    work: PatchWork, patch: Extent, grid: PatchGrid, instruction: MatmulShape, engine: PatchEngine
) -> float:
    """Inputs once for each of the grid's channels, weights once for each of its pixels."""
    steps = -(-work.summed_channels // instruction.k) * instruction.k * work.positions * work.in_bytes
    pixels = patch_count(work.pixels, patch) * instruction.m * -(-work.channels // grid.channels)
    weights = (
        -(-work.pixels[0] // grid.rows) * -(-work.pixels[1] // grid.columns) * _padded(work.channels, instruction.n)
    )
    return steps * (pixels / (engine.read_bytes_per_cycle * grid.read_share) + weights / engine.weight_bytes_per_cycle)


def _padded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
