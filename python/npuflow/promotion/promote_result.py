"""A block's result on its way out: a buffer in L2 that the cores fill together, and from there to L3."""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.build import (
    allocate,
    at,
    copy_into,
    element_type_of,
    empty,
    extract_slice,
    mixed,
    offsets_of,
    shape_of,
)
from npuflow.ops.contraction import enclosing, producer, users
from npuflow.promotion.shared_slices import L2, promote_to_l2, shared_slice


def promote_result(result: ir.Value, *, reads: bool) -> None:
    """Moves a core's result into its place in L2; with `reads`, the buffer there starts as what the grid was given."""
    grid = enclosing(result.owner.operation, "scf.forall")
    insert = _insert_of(result)
    if grid is None or insert is None:
        with at(result.owner.operation, after=True):
            moved = copy_into(result, allocate(shape_of(result), element_type_of(result), L2))
        result.replace_all_uses_except(moved, moved.owner.operation)
        _write_back(moved)
        return
    number = insert.operands[1].arg_number - (len(grid.regions[0].blocks[0].arguments) - len(grid.results))
    output = len(grid.operands) - len(grid.results) + number
    block = grid.operands[output]
    with at(grid):
        shared = shared_slice(block, None)
        assert shared is not None
        buffer = promote_to_l2(shared)[0] if reads else allocate(shape_of(block), element_type_of(block), L2)
        grid.operands[output] = buffer
    view = insert.opview
    offsets = mixed(list(ir.DenseI64ArrayAttr(view.static_offsets)), list(view.offsets))
    with at(insert.parent.operation):
        steps = _put_in_steps(result)
        if steps is None:
            insert.operands[0] = copy_into(result, extract_slice(insert.operands[1], offsets, shape_of(result)))
    if steps is not None:
        loop, put = steps
        with at(loop):
            loop.operands[2 + put.operands[1].arg_number] = extract_slice(insert.operands[1], offsets, shape_of(result))
        with at(put):
            into = extract_slice(put.operands[1], offsets_of(put), shape_of(put.operands[0]))
            put.operands[0] = copy_into(put.operands[0], into)
    _write_back(grid.results[number])


def _put_in_steps(result: ir.Value) -> tuple[ir.Operation, ir.Operation] | None:
    """The loop that puts a result together, and the op in it that puts a part to its place; None for all others."""
    loop = result.owner.operation
    if loop.name != "scf.for":
        return None
    body = loop.regions[0].blocks[0].operations
    yielded = body[len(body) - 1].operation.operands[list(loop.results).index(result)]
    put = producer(yielded, "tensor.insert_slice")
    return (loop, put) if put is not None and put.operands[1] in loop.regions[0].blocks[0].arguments else None


def _insert_of(result: ir.Value) -> ir.Operation | None:
    """The op that puts a core's result, which nothing else uses, into the block's."""
    found = users(result)
    return found[0] if len(found) == 1 and found[0].name == "tensor.parallel_insert_slice" else None


def _write_back(value: ir.Value) -> None:
    """Copies a result in L2, or the valid part of it, to L3 where it isn't inserted into a larger tensor there."""
    source = value.owner.operation
    stays = []
    for use in list(value.uses):
        user = use.owner.operation
        if user.name == "tensor.extract_slice" and user.block == source.block:
            _write_back(user.results[0])
        elif user.name != "tensor.insert_slice" or use.operand_number != 0:
            stays.append((user, use.operand_number))
    if not stays:
        return
    with at(source, after=True):
        copied = copy_into(value, empty(shape_of(value), element_type_of(value)))
    for user, number in stays:
        user.operands[number] = copied
