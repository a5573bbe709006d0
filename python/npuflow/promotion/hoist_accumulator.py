"""npuflow-hoist-accumulator: the accumulator is packed once, filled in its packed shape, and leaves L1 once."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import at, fill
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import contractions, only_user, producer, users


@register_pass
@dataclass(frozen=True)
class HoistAccumulator(Pass):
    """Moves the accumulator's pack and unpack out of all K loops, and fuses fill, tail and write-back with them.

        %f = linalg.fill ins(%zero) outs(%l1 : tensor<32x32xi32>)
        %r = scf.for %k ... iter_args(%acc = %f) {
          %p = linalg.pack %acc ... into %l1p : tensor<32x32xi32> -> tensor<8x4x4x8xi32>
          %t = linalg.generic ... outs(%p)
          %u = linalg.unpack %t ... into %acc
          scf.yield %u
        }
        %c = linalg.copy ins(%r) outs(%l2_part)

    becomes

        %f = linalg.fill ins(%zero) outs(%l1p : tensor<8x4x4x8xi32>)
        %r = scf.for %k ... iter_args(%acc = %f) {
          %t = linalg.generic ... outs(%acc)
          scf.yield %t
        }
        %c = linalg.unpack %r ... into %l2_part
    """

    name = "npuflow-hoist-accumulator"
    group = "promotion"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for contraction in contractions(op):
            pack = producer(contraction.init, "linalg.pack")
            if pack is None:
                continue
            context.count("loops hoisted out of", _hoist(pack))
            _fold_into_pack(pack)
        for unpack in ops_of(op, "linalg.unpack"):
            _fold_unpack(unpack)


def _hoist(pack: ir.Operation) -> int:
    """Moves a pack of a loop's carried value, and the unpack in front of its yield, out of every loop."""
    count = 0
    while True:
        carried = pack.operands[0]
        if not isinstance(carried, ir.BlockArgument) or carried.owner.owner.operation.name != "scf.for":
            return count
        loop = carried.owner.owner.operation
        number = carried.arg_number - 1
        terminator = list(loop.regions[0].blocks[0].operations)[-1].operation
        unpack = producer(terminator.operands[number], "linalg.unpack")
        if unpack is None or {u.name for u in users(carried)} - {"linalg.pack", "linalg.unpack"}:
            return count
        _hoist_one(loop, number, pack, unpack, terminator)
        count += 1


def _hoist_one(
    loop: ir.Operation, number: int, pack: ir.Operation, unpack: ir.Operation, terminator: ir.Operation
) -> None:
    carried = loop.regions[0].blocks[0].arguments[number + 1]
    start = loop.operands[3 + number]
    packed_type = pack.results[0].type
    buffer = producer(pack.operands[1])
    if buffer is not None:
        buffer.move_before(loop)
    result = loop.results[number]
    outside = unpack.clone(ir.InsertionPoint.after(loop)).operation
    terminator.operands[number] = unpack.operands[0]
    unpack.erase()
    pack.results[0].replace_all_uses_with(carried)
    pack.move_before(loop)
    pack.operands[0] = start
    loop.operands[3 + number] = pack.results[0]
    carried.set_type(packed_type)
    result.replace_all_uses_with(outside.results[0])
    result.set_type(packed_type)
    outside.operands[0] = result
    outside.operands[1] = start


def _fold_into_pack(pack: ir.Operation) -> None:
    """Fills in the packed shape instead of packing what was filled; packs what was copied instead of the copy."""
    source = producer(pack.operands[0], "linalg.fill", "linalg.copy")
    if source is None:
        return
    if source.name == "linalg.copy":
        pack.operands[0] = source.operands[0]
        return
    with at(pack):
        packed = fill(source.operands[0], pack.operands[1])
    pack.results[0].replace_all_uses_with(packed)
    pack.erase()


def _fold_unpack(unpack: ir.Operation) -> None:
    """Lets a copy of the unpacked result be the unpack itself; canonicalize folds what a tail packs again."""
    copy = only_user(unpack.results[0])
    if copy is not None and copy.name == "linalg.copy":
        unpack.operands[1] = copy.operands[1]
        unpack.move_before(copy)
        copy.results[0].replace_all_uses_with(unpack.results[0])
        copy.erase()
