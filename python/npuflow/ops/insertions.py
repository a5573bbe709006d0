"""Where a bundle's result belongs in a larger tensor: it is written there, and has no tensor of its own.

Reads IR, and changes nothing but what arguments say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from npuflow.bindings import ir
from npuflow.core.argument_attributes import add_argument_attributes, argument_attributes
from npuflow.core.build import has_unit_strides, is_static, offsets_of, shape_of, sizes_of, tensor_bytes
from npuflow.core.passes import ops_of
from npuflow.ops.contraction import BUNDLE, only_user, producer, users
from npuflow.ops.reshapes import unreshaped

# On an argument of a function: whether bufferization may write to it.
WRITABLE = "bufferization.writable"
# On an argument of a function: the result that takes its place, as what it is updated to.
BECOMES = "npu.becomes"
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


@dataclass(frozen=True)
class Update:
    """A value that is an argument of its function, but for what bundles have written into it."""

    argument: int
    written_bytes: int


def update_of(value: ir.Value) -> Update | None:
    """Which argument a value is the update of; None where it is none. Reshapes of it lie in the same place."""
    insert = producer(unreshaped(value), _INSERT)
    if insert is None or not is_written_in_place(insert):
        return None
    target, source = unreshaped(insert.operands[1]), insert.operands[0]
    own = tensor_bytes(source)
    if isinstance(target.owner, ir.Block):
        return Update(target.arg_number, own)
    before = update_of(target)
    return None if before is None else replace(before, written_bytes=before.written_bytes + own)


def said_updates(function: ir.Operation) -> Mapping[int, ir.Attribute]:
    """What arguments say of the result that takes their place, by the arguments' numbers."""
    return {number: one[BECOMES] for number, one in enumerate(argument_attributes(function)) if BECOMES in one}


def result_said(attribute: ir.Attribute) -> int | None:
    """The number of the result that takes an argument's place, if that is what is said."""
    return int(ir.IntegerAttr(attribute).value) if isinstance(attribute, ir.IntegerAttr) else None


def insertions_into(function: ir.Operation, argument: int) -> list[ir.Operation]:
    """The ops that make an argument the result that takes its place, the last one first, if all write slices only.

    Of the argument, and of what one of them leaves for the next ones, only slices are read that none of these writes
    to: all that is read is what is there afterwards.
    """
    block = function.regions[0].blocks[0]
    result = result_said(said_updates(function)[argument])
    returned = list(block.operations)[-1].operation.operands
    value = returned[result] if result is not None and 0 <= result < len(returned) else None
    found: list[ir.Operation] = []
    while value is not None and value != block.arguments[argument]:
        insert = producer(value, _INSERT)
        if insert is None or not is_slice_write(insert):
            return []
        found.append(insert)
        value = insert.operands[1]
        if not all(reader == insert or _is_apart(reader, found) for reader in users(value)):
            return []
    return found


def _is_apart(reader: ir.Operation, inserts: Sequence[ir.Operation]) -> bool:
    """Whether an op reads a slice that none of these write to."""
    if reader.name != "tensor.extract_slice" or len(reader.operands) > 1 or not has_unit_strides(reader):
        return False
    own = list(zip(offsets_of(reader), sizes_of(reader)))
    return all(
        any(at + size <= begin or begin + length <= at for (at, size), (begin, length) in zip(own, written))
        for written in (zip(offsets_of(insert), sizes_of(insert)) for insert in inserts)
    )


def updating_insertions(root: ir.Operation) -> set[ir.Operation]:
    """The ops below `root` by which arguments are updated in their own places."""
    functions = (function for function in ops_of(root, "func.func") if not function.opview.is_external)
    return {op for each in functions for number in said_updates(each) for op in insertions_into(each, number)}


def is_slice_write(insert: ir.Operation) -> bool:
    """Whether it is known where an op writes, and that is in one piece of each dimension."""
    is_known = all(isinstance(offset, int) for offset in offsets_of(insert))
    return is_known and is_static(insert) and len(insert.operands) == 2 and has_unit_strides(insert)


def let_write(function: ir.Operation, arguments: Set[int]) -> None:
    """Marks arguments of a function as such that bufferization may write to, as what is returned lies there."""
    writable = {WRITABLE: ir.BoolAttr.get(True, function.context)}
    add_argument_attributes(function, dict.fromkeys(arguments, writable))
