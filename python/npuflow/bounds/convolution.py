"""A convolution: what is compulsory, the bound that is recalled, and the best blocks of results. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

from npuflow.bounds.blocks import Attained, block_sizes, blocks_of, bytes_of, least
from npuflow.bounds.pebbling import SummedProducts, least_bytes, window_reuse
from npuflow.bounds.sizes import ConvolutionSizes, WindowLine

Block = tuple[int, int, int]


def compulsory_bytes(sizes: ConvolutionSizes) -> int:
    """Each element of the image that is in a window, each weight and each result once."""
    return _moved_bytes(sizes, (sizes.batch, sizes.rows.results, sizes.columns.results), 1)


def lower_bound_bytes(sizes: ConvolutionSizes, fast_bytes: int) -> int:
    """No order of the computation moves less, as far as what is recalled is right."""
    known = attainable(sizes, fast_bytes)
    return least_bytes(products_of(sizes), fast_bytes, compulsory_bytes(sizes), bytes_of(known))


def products_of(sizes: ConvolutionSizes) -> SummedProducts:
    """The convolution's products, as the pebble game counts them."""
    narrowest = min(sizes.image_bytes, sizes.weight_bytes, sizes.acc_bytes)
    reuse = window_reuse(sizes.window, sizes.window_step)
    return SummedProducts(sizes.macs, sizes.results * sizes.result_bytes, narrowest, reuse)


def attainable(sizes: ConvolutionSizes, fast_bytes: int) -> Attained | None:
    """The least that blocks move which write each result once; None where none fits."""
    return least([_results_stay(sizes, fast_bytes), _weights_stay(sizes, fast_bytes)])


def _results_stay(sizes: ConvolutionSizes, room: int) -> Attained | None:
    """A block of results stays while input channels come, one after the other."""
    most = room // sizes.acc_bytes
    found: list[Attained | None] = []
    for block in _pixel_blocks(sizes, most):
        channels = _most_channels(sizes, block, room)
        if channels > 0:
            blocks = blocks_of(sizes.out_channels, channels)
            whole = (*block, blocks_of(sizes.out_channels, blocks))
            found.append(Attained(_moved_bytes(sizes, block, blocks), "results", whole))
    return least(found)


def _pixel_blocks(sizes: ConvolutionSizes, most: int) -> Iterator[Block]:
    """Images, rows and columns of blocks: a part of an image, or several whole ones."""
    rows, columns = sizes.rows.results, sizes.columns.results
    yield from ((images, rows, columns) for images in block_sizes(sizes.batch, most // (rows * columns)))
    for some_rows in block_sizes(rows, most):
        yield from ((1, some_rows, some_columns) for some_columns in block_sizes(columns, most // some_rows))


def _weights_stay(sizes: ConvolutionSizes, room: int) -> Attained | None:
    """All weights of some output channels stay, beside the lines of the image that windows still need, one result."""
    lines = min(_lines_bytes(sizes, sizes.rows, sizes.columns), _lines_bytes(sizes, sizes.columns, sizes.rows))
    weights = sizes.window * sizes.in_channels * sizes.weight_bytes
    channels = min(sizes.out_channels, (room - lines - sizes.acc_bytes) // weights)
    if channels < 1:
        return None
    blocks = blocks_of(sizes.out_channels, channels)
    image = (sizes.batch, sizes.rows.results, sizes.columns.results)
    kept = (sizes.rows.taps, sizes.columns.taps, sizes.in_channels, blocks_of(sizes.out_channels, blocks))
    return Attained(_moved_bytes(sizes, image, blocks), "weights", kept)


def _lines_bytes(sizes: ConvolutionSizes, slow: WindowLine, fast: WindowLine) -> int:
    """What windows have begun with and not ended, where they go along `fast` first."""
    begun = (min(slow.taps, slow.size) - 1) * fast.size + min(fast.taps, fast.size)
    return begun * sizes.in_channels * sizes.image_bytes


def _most_channels(sizes: ConvolutionSizes, block: Block, room: int) -> int:
    """How many channels of results fit beside what comes of one input channel.

    That is all of its patch, and its weights one by one, or its weights, and the patch element by element.
    """
    pixels = prod(block) * sizes.acc_bytes
    patch = block[0] * sizes.image_bytes
    for line, results in ((sizes.rows, block[1]), (sizes.columns, block[2])):
        patch *= min(line.size, (results - 1) * line.step + line.taps)
    of_patch = (room - patch - sizes.weight_bytes) // pixels
    of_weights = (room - sizes.image_bytes) // (pixels + sizes.window * sizes.weight_bytes)
    return min(sizes.out_channels, max(of_patch, of_weights))


def _moved_bytes(sizes: ConvolutionSizes, block: Block, channel_blocks: int) -> int:
    images, rows, columns = block
    patches = _patches(sizes.rows, rows) * _patches(sizes.columns, columns)
    image = sizes.batch * sizes.in_channels * patches * channel_blocks * sizes.image_bytes
    times = blocks_of(sizes.batch, images) * blocks_of(sizes.rows.results, rows)
    times *= blocks_of(sizes.columns.results, columns)
    return image + sizes.weights * times * sizes.weight_bytes + sizes.results * sizes.result_bytes


@lru_cache(maxsize=1 << 12)
def _patches(line: WindowLine, block: int) -> int:
    return line.patches(block)
