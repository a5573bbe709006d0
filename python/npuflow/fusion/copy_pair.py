"""A pair of sums once more, as ops that can be a bundle: both go piece by piece, in step. Edits IR."""

from __future__ import annotations

from math import gcd

from npuflow.core.build import at
from npuflow.fusion.made_ops import MadeOps
from npuflow.fusion.overlap_tiles import overlapped
from npuflow.fusion.window_chain import WindowChain
from npuflow.ops.bundle import mark_loop
from npuflow.ops.contraction import STEP_LOOP
from npuflow.ops.images import ImageOp, images_of, with_parts
from npuflow.ops.pairs import SumPair
from npuflow.ops.products import largest_divisor

# Of loops of two sizes, a step sums up so many of the shorter one: some instructions. Fewer where that makes one step.
_LEAST_IN_STEP = 32


def copy_of_pair(pair: SumPair) -> MadeOps | None:
    """A copy in front of a pair's last op; None where its ops don't go through results alike, or no loops in step."""
    images = images_of(pair.ops)
    if images is None or not all(_reads_in_place(image) for image in images if image.op not in pair.sums):
        return None
    places = [pair.ops.index(op) for op in pair.sums]
    loops = [_longest(images[place]) for place in places]
    first, second = (images[place].sizes[loop] if loop is not None else 0 for place, loop in zip(places, loops))
    most = max(2, min(first, second) // _LEAST_IN_STEP)
    steps = first if first == second else largest_divisor(gcd(first, second), most)
    if steps < 2:
        return None
    stepping = list(images)
    for place, loop in zip(places, loops):
        if first != second and loop is not None:
            stepping[place] = with_parts(images[place], loop, steps)
    with at(pair.root):
        made = overlapped(WindowChain(tuple(stepping), ()).tiled(()))
    for place, loop in zip(places, loops):
        mark_loop(made.ops[place], STEP_LOOP, loop or 0)
    return made


def _longest(image: ImageOp) -> int | None:
    """The longest reduction loop that operands are indexed by alone, and along which nothing is padded."""
    taken = {loop for read in image.reads for dim in read.dims if dim.loop is None for loop, _ in dim.terms}
    for read in image.reads:
        zeros = zip(read.dims, read.low, read.high)
        taken |= {loop for dim, low, high in zeros if low or high for loop, _ in dim.terms}
    sizes = {loop: image.sizes[loop] for loop, kind in enumerate(image.kinds) if kind == "reduction"}
    return max(sizes.keys() - taken, key=lambda loop: (sizes[loop], -loop), default=None)


def _reads_in_place(image: ImageOp) -> bool:
    """Whether an op reads of what others make the element that it makes itself."""
    inner = (read for read in image.reads if read.maker is not None)
    return all([dim.loop for dim in read.dims] == list(image.made) for read in inner)
