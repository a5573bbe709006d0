"""Where a bundle's result belongs in a larger tensor: it is written there, and has no tensor of its own.

Reads IR and changes nothing.
"""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.build import has_unit_strides, shape_of
from npuflow.ops.contraction import BUNDLE, only_user, producer
from npuflow.ops.reshapes import unreshaped

# On an argument of a function: whether bufferization may write to it.
WRITABLE = "bufferization.writable"
_INSERT = "tensor.insert_slice"


def insertion_of(root: ir.Operation) -> ir.Operation | None:
    """The op that puts the only result of a bundle's last op into a larger tensor; None where there is none."""
    if len(root.results) != 1 or BUNDLE not in root.attributes:
        return None
    (result,) = root.results
    user = only_user(result)
    if user is None or user.name != _INSERT or user.operands[0] != result:
        return None
    is_plain = len(user.operands) == 2 and has_unit_strides(user)
    return user if is_plain and len(shape_of(result)) == len(shape_of(user.results[0])) else None


def is_written_in_place(insert: ir.Operation) -> bool:
    """Whether what an op inserts is a bundle's result, written where it belongs."""
    root = producer(insert.operands[0]) if insert.name == _INSERT else None
    made_in_place = insertion_of(root) if root is not None else None
    return made_in_place is not None and made_in_place == insert


def updated_argument(value: ir.Value) -> int | None:
    """Which argument of its function a value is but for what bundles have written into it; None where it is none.

    Reshapes of it lie in the same place.
    """
    insert = producer(unreshaped(value), _INSERT)
    if insert is None or not is_written_in_place(insert):
        return None
    target = unreshaped(insert.operands[1])
    return target.arg_number if isinstance(target.owner, ir.Block) else updated_argument(target)
