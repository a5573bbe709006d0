"""Spatial patches: the pixels of an image that a matrix instruction takes at once, and lines reshaped to images. Pure.

An instruction whose m is a patch of 4x4 takes 4 rows of 4 neighbouring pixels each. Pixels in one line, as the rows of
a matrix, fill one row or column of each patch. Reshaped to an image of h rows of w pixels, pixel w * y + x at (y, x),
they fill all of it. No element moves for that: a place in a line is linear in y and in x, so it is a matter of strides.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

# Rows and columns of pixels.
Extent = tuple[int, int]


def patch_count(pixels: Extent, patch: Extent) -> int:
    """The patches that cover an image, partly filled ones included."""
    return -(-pixels[0] // patch[0]) * -(-pixels[1] // patch[1])


@lru_cache(maxsize=4096)
def image_of_line(size: int, patch: Extent) -> Extent:
    """The image that a line of pixels is reshaped to, its last row perhaps not filled.

    The fewest patches first, then the fewest pixels that aren't there, then rows of as many pixels as a patch has, then
    the narrowest ones. For patches of 4x4, 2048 is 128x16, 32 is 8x4, 49 is 7x7, and 13 is 4x4 with three missing. Rows
    as wide as a patch take ceil(size / pixels of a patch) patches, which nothing beats. What is packed for instructions
    has rows of either width, 16 or 4: an image row is a packed one, or a packed one is a patch.
    """
    widest = prod(patch)
    images = ((-(-size // width), width) for width in range(1, widest + 1))
    return min(images, key=lambda i: (patch_count(i, patch), prod(i) - size, i[1] != widest, i[1]))
