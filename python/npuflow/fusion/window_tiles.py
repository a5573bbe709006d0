"""Tiles that a chain of windows may be cut into, the most promising first. Reads no IR but sizes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import ceil, prod

from npuflow.core.build import element_bytes, element_type_of
from npuflow.fusion.window_chain import TiledChain, WindowChain
from npuflow.ops.images import ImageOp
from npuflow.target import Device


def ranked_tilings(chain: WindowChain, device: Device) -> Iterator[TiledChain]:
    """Tiles whose result fits L1: those first that compute little twice, move little and keep all cores busy."""
    capacity = device.capacity_bytes(device.kernel_level, 1, 1)
    cores = device.rows * device.columns
    ways = [chain.tiled(tiles) for tiles in product(*(_divisors(axis.size) for axis in chain.axes))]
    fitting = [way for way in ways if made_bytes(way) <= capacity]
    least = [min((cost(way) for way in fitting), default=1) for cost in (computed, read_bytes)]

    def rank(way: TiledChain) -> float:
        tiles = prod(way.counts()) * _batches(chain)
        balance = ceil(tiles / cores) * cores / tiles
        return balance * computed(way) / max(1, least[0]) * read_bytes(way) / max(1, least[1])

    yield from sorted(fitting, key=lambda way: (rank(way), way.tiles))


def computed(tiled: TiledChain) -> int:
    """The iterations of all ops of a chain over all tiles, what is computed twice included."""
    return sum(prod(_extents(tiled, number)) for number in range(len(tiled.chain.images))) * prod(tiled.counts())


def computed_once(chain: WindowChain) -> int:
    """The iterations of all ops of a chain that stays as it is."""
    return sum(prod(image.sizes) for image in chain.images)


def handed_over_bytes(chain: WindowChain) -> int:
    """The bytes of what the ops of a chain hand to each other."""
    return sum(prod(image.sizes[loop] for loop in image.made) * _element_bytes(image) for image in chain.images[:-1])


def made_bytes(tiled: TiledChain) -> int:
    """The bytes of a tile of the result."""
    image = tiled.chain.images[-1]
    extents = _extents(tiled, len(tiled.chain.images) - 1)
    kept = [loop for loop in image.made if loop != image.made[0]]
    return prod(extents[loop] for loop in kept) * _element_bytes(image)


def read_bytes(tiled: TiledChain) -> int:
    """The bytes that all tiles read from outside if each reads for itself."""
    total = 0
    for number, image in enumerate(tiled.chain.images):
        extents = _extents(tiled, number)
        for read in image.reads:
            if read.maker is None:
                size = element_bytes(element_type_of(read.value))
                total += size * prod(dim.extent(extents) for dim in read.dims)
    return total * prod(tiled.counts())


def _extents(tiled: TiledChain, number: int) -> list[int]:
    """The sizes of an op's loops in a tile."""
    extents = list(tiled.chain.images[number].sizes)
    for axis, steps in zip(tiled.chain.axes, tiled.steps):
        extents[axis.loops[number]] = steps[number].extent
    return extents


def _batches(chain: WindowChain) -> int:
    """How often the chain does the same on other images."""
    first = chain.images[-1].made[0]
    return 1 if any(axis.loops[-1] == first for axis in chain.axes) else chain.images[-1].sizes[first]


def _element_bytes(image: ImageOp) -> int:
    return element_bytes(element_type_of(image.op.results[0]))


def _divisors(size: int) -> list[int]:
    return [each for each in range(1, size + 1) if size % each == 0]
