"""Tiles that a chain of windows may be cut into, the most promising first. Reads no IR but sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import product
from math import ceil, prod

from npuflow.core.build import element_bytes, element_type_of
from npuflow.fusion.window_chain import TiledChain, WindowChain
from npuflow.ops.images import ImageOp, ImageRead
from npuflow.target import Device


class Halos(Enum):
    """What becomes of rows that two steps of a core need."""

    CACHED = "cached"
    RECOMPUTED = "recomputed"
    CHEAPER = "cheaper"


def ranked_tilings(chain: WindowChain, device: Device) -> Iterator[TiledChain]:
    """Tiles whose result fits L1: those first that compute little twice, move little and keep all cores busy."""
    capacity = device.capacity_bytes(device.kernel_level, 1, 1)
    cores = device.rows * device.columns
    fits = [way for way in _tilings(chain) if made_bytes(way) <= capacity]
    yield from _ranked(chain, cores, fits if chain.axes else [chain.tiled(())])


def ranked_steps(chain: WindowChain, device: Device, cores: int, rows: int | None = None) -> Iterator[TiledChain]:
    """Tiles that are gone through in steps of `rows`, or of any number of rows of which what is made fits L1.

    They come in the order of tiles that keep so many cores busy; those of one tile together, the fewest steps first.
    """
    capacity = device.capacity_bytes(device.kernel_level, 1, 1)
    found = {
        way.tiles: [each for each in way.in_steps(rows) if step_bytes(each) <= capacity] for way in _tilings(chain)
    }
    for way in _ranked(chain, cores, [steps[0] for steps in found.values() if steps]):
        yield from found[way.tiles]


def _tilings(chain: WindowChain) -> Iterator[TiledChain]:
    return map(chain.tiled, product(*(_divisors(axis.size) for axis in chain.axes)))


def _ranked(chain: WindowChain, cores: int, fitting: Sequence[TiledChain]) -> Iterator[TiledChain]:
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
    return prod(extents[loop] for loop in _kept_loops(image)) * _element_bytes(image)


def step_bytes(tiled: TiledChain) -> int:
    """The bytes that a core has of a step at least: what all ops make of its rows, and what they read from outside."""
    total = 0
    for number, image in enumerate(tiled.chain.images):
        extents = _extents(tiled, number)
        extents[tiled.chain.axes[0].loops[number]] = tiled.rows
        total += prod(extents[loop] for loop in _kept_loops(image)) * _element_bytes(image)
        for read in image.reads:
            if read.maker is None:
                total += _part_bytes(read, extents)
    return total


def _kept_loops(image: ImageOp) -> list[int]:
    """The loops of what an op makes of one image."""
    return [loop for loop in image.made if loop != image.made[0]]


def _part_bytes(read: ImageRead, extents: Sequence[int]) -> int:
    return element_bytes(element_type_of(read.value)) * prod(dim.extent(extents) for dim in read.dims)


def read_bytes(tiled: TiledChain) -> int:
    """The bytes that all tiles read from outside if each reads for itself."""
    total = 0
    for number, image in enumerate(tiled.chain.images):
        extents = _extents(tiled, number)
        for read in image.reads:
            if read.maker is None:
                total += _part_bytes(read, extents)
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
