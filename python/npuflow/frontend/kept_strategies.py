"""What ops say of their strategies, kept where rewriting makes them anew: upstream drops what it doesn't know.

While that lasts a strategy stands in the op's location, which rewriting hands on. An op that two were fused into has
neither's: it is another op.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from npuflow.bindings import ir
from npuflow.core.passes import ops_of
from npuflow.dialect.npu import StrategyAttr
from npuflow.ops.contraction import STRATEGY


@contextmanager
def strategies_kept(root: ir.Operation) -> Iterator[None]:
    """Around what rewrites ops below `root`, each to one op of linalg."""
    for op in ops_of(root):
        if STRATEGY in op.attributes:
            op.location = ir.Location.fused([op.location], op.attributes[STRATEGY], op.context)
    try:
        yield
    finally:
        for op in ops_of(root):
            _restore(op)


def _restore(op: ir.Operation) -> None:
    place = op.location
    kept = place.metadata if isinstance(place, ir.FusedLoc) else None
    if kept is None or not isinstance(kept.maybe_downcast(), StrategyAttr):
        return
    if op.name.startswith("linalg.") and op.results and op.name != "linalg.fill":
        op.attributes[STRATEGY] = kept
    op.location = place.locations[0]
