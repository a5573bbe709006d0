"""npuflow-write-through: what is written into a slice that is put back into an argument is written there at once."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import at, has_unit_strides, insert_slice, is_static, offsets_of, shape_of, sizes_of
from npuflow.core.copies import erase_unused
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import producer
from npuflow.ops.insertions import is_slice_write, said_updates
from npuflow.ops.reshapes import reshapes_of, unreshaped

_INSERT, _EXTRACT = "tensor.insert_slice", "tensor.extract_slice"


@dataclass(frozen=True)
class _Write:
    """A slice that is `taken`, the write into it, and the op that puts it back; where it is written in the tensor."""

    taken: ir.Operation
    inner: ir.Operation
    outer: ir.Operation
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]


@register_pass
@dataclass(frozen=True)
class WriteThrough(Pass):
    """Writes into an argument what is written into a slice of it that is put back, as a layer's cache in those of all.

    That is done of arguments that say which result takes their place. Who reads the slice reads it of that then.

        %s = tensor.extract_slice %all[1, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<4x64x32xf32> to tensor<64x32xf32>
        %t = tensor.insert_slice %row into %s[9, 0] [1, 32] [1, 1] : tensor<1x32xf32> into tensor<64x32xf32>
        %r = tensor.insert_slice %t into %all[1, 0, 0] [1, 64, 32] [1, 1, 1] : ... into tensor<4x64x32xf32>
        use %t

    becomes

        %r = tensor.insert_slice %row into %all[1, 9, 0] [1, 1, 32] [1, 1, 1] : ... into tensor<4x64x32xf32>
        %t = tensor.extract_slice %r[1, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<4x64x32xf32> to tensor<64x32xf32>
        use %t
    """

    name = "npuflow-write-through"
    group = "frontend"
    counts_changes = True

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for outer in ops_of(op, _INSERT):
            write = _write(outer)
            if write is not None:
                _write_at_once(write)
                context.count("slices written at once")


def _write(outer: ir.Operation) -> _Write | None:
    """What an op puts back, if that is a slice which another one has written into; None where it isn't."""
    inner = producer(unreshaped(outer.operands[0]), _INSERT)
    if inner is None or not is_slice_write(outer) or not is_slice_write(inner):
        return None
    taken = producer(unreshaped(inner.operands[1]), _EXTRACT)
    if taken is None or len(taken.operands) > 1 or not is_static(taken) or not has_unit_strides(taken):
        return None
    is_back = offsets_of(taken) == offsets_of(outer) and sizes_of(taken) == sizes_of(outer)
    if not is_back or taken.operands[0] != outer.operands[1] or not _is_of_update(outer):
        return None
    return _composed(taken, inner, outer)


def _is_of_update(outer: ir.Operation) -> bool:
    """Whether an op writes into an argument, or what others left of it, that a result takes the place of."""
    value = outer.operands[1]
    while (before := producer(value, _INSERT)) is not None:
        value = before.operands[1]
    if not isinstance(value.owner, ir.Block) or value.owner.owner.operation.name != "func.func":
        return False
    return ir.BlockArgument(value).arg_number in said_updates(value.owner.owner.operation)


def _composed(taken: ir.Operation, inner: ir.Operation, outer: ir.Operation) -> _Write | None:
    """The write at once, if between the slice and what is written into it no dimensions but those of one differ."""
    shape, offsets, sizes = shape_of(inner.results[0]), list(outer.opview.static_offsets), sizes_of(outer)
    dims = [dim for dim, size in enumerate(shape) if size != 1]
    places = [place for place, size in enumerate(sizes) if size != 1]
    if [shape[dim] for dim in dims] != [sizes[place] for place in places]:
        return None
    for dim, place in zip(dims, places):
        offsets[place] += inner.opview.static_offsets[dim]
        sizes[place] = inner.opview.static_sizes[dim]
    if len(shape_of(inner.operands[0])) > len(sizes):
        return None
    return _Write(taken, inner, outer, tuple(offsets), tuple(int(size) for size in sizes))


def _write_at_once(write: _Write) -> None:
    inner, outer = write.inner, write.outer
    put_back = outer.operands[0].owner.operation
    with at(inner, after=True):
        made = insert_slice(inner.operands[0], outer.operands[1], write.offsets, write.sizes)
    read = made
    with at(made.owner.operation, after=True):
        for step in (write.taken, *reversed(reshapes_of(inner.operands[1]))):
            again = step.clone()
            again.operands[0] = read
            read = again.results[0]
    outer.results[0].replace_all_uses_with(made)
    inner.results[0].replace_all_uses_with(read)
    outer.erase()
    erase_unused([put_back, inner, read.owner.operation])
