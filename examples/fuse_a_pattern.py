"""A pattern of one's own that runs as one: two windows in a row, in tiles of 8x8 that overlap.

npuflow-opt FILE --load examples/fuse_a_pattern.py --npuflow-normalize-linalg --my-fuse-windows --npuflow-stream-k
"""

from dataclasses import dataclass
from itertools import pairwise

import npuflow
from npuflow.bindings import ir


@npuflow.register_pass
@dataclass(frozen=True)
class FuseTwoWindows(npuflow.Pass):
    """Fuses each linalg.generic that reads another through a window with that one, whatever it takes."""

    name = "my-fuse-windows"
    tiles: tuple[int, ...] = npuflow.option((8, 8), "rows, columns of a tile")

    def run(self, op: ir.Operation, context: npuflow.PassContext) -> None:
        """Edits `op`, the module, in place."""
        generics = npuflow.ops_of(op, "linalg.generic")
        pairs = [pair for pair in pairwise(generics) if pair[1].operands[0] == pair[0].results[0]]
        for pair in pairs[:1]:
            npuflow.fuse(pair, self.tiles)
            context.remark(op, "two windows are one")
