"""`npu.load_seconds` on a function: how long each core that it takes is loaded in front of it, one after the other.

    func.func @f(...) attributes {npu.load_seconds = 3.0e-05 : f64}

Where phases of a launch don't find their programs there, and tiles aren't sent them side by side, all other cores wait
while one is loaded: a phase that has little to do is faster on few of them. Where tiles are sent packets, it is how
long the tiles wait in front of it for each stream of these.
"""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.passes import fail

LOAD_SECONDS = "npu.load_seconds"


def note_load_seconds(function: ir.Operation, seconds: float) -> None:
    """Has a function say so of itself."""
    context = function.context
    function.attributes[LOAD_SECONDS] = ir.FloatAttr.get(ir.F64Type.get(context), seconds, function.location)


def load_seconds(function: ir.Operation) -> float:
    """What a function says, 0 where it doesn't; raises InputError where that is malformed."""
    if LOAD_SECONDS not in function.attributes:
        return 0.0
    said = function.attributes[LOAD_SECONDS]
    if not isinstance(said, ir.FloatAttr) or not said.value >= 0:
        raise fail(function, f"{LOAD_SECONDS} says {said}", f"for example {LOAD_SECONDS} = 3.0e-05 : f64")
    return float(said.value)
