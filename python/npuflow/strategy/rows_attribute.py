"""`npu.rows` on a function: that clusters keep what it hands over, which loop they follow, and how much of it each has.

func.func @f(...) attributes {npu.rows = {loop = 2, tile = 10}}
"""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.passes import fail
from npuflow.strategy.in_clusters import ClusterRows

ROWS = "npu.rows"


def note_rows(function: ir.Operation, rows: ClusterRows) -> None:
    """Has a function say so of itself."""
    context, index = function.context, ir.IntegerType.get_signless(64, function.context)
    said = {"loop": ir.IntegerAttr.get(index, rows.loop), "tile": ir.IntegerAttr.get(index, rows.tile)}
    function.attributes[ROWS] = ir.DictAttr.get(said, context)


def noted_rows(function: ir.Operation) -> ClusterRows | None:
    """What a function says; raises InputError where that is malformed."""
    if ROWS not in function.attributes:
        return None
    said = function.attributes[ROWS]
    sizes = {one.name: one.attr for one in said} if isinstance(said, ir.DictAttr) else {}
    numbers = {name: ir.IntegerAttr(size).value for name, size in sizes.items() if isinstance(size, ir.IntegerAttr)}
    if numbers.keys() != {"loop", "tile"} or numbers["loop"] < 0 or numbers["tile"] < 1:
        raise fail(function, f"{ROWS} says {said}", f"for example {ROWS} = {{loop = 2, tile = 10}}")
    return ClusterRows(numbers["loop"], numbers["tile"])
