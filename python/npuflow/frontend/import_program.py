"""npuflow-import-program: what exporters put around a computation is left out, or said in ops that all passes know."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from npuflow.bindings import arith, ir, linalg
from npuflow.core.build import at, element_type_of, empty, fill, generic_op, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.ops.contraction import producer

SCAN = "tm_tensor.scan"
# On the op that a scan became: the dimension that it goes along, and what it starts from.
SCANNED = "npu.scanned"

# What an element is combined with without changing it; of maxima and minima, whatever the scan starts from.
_NEUTRAL = {"arith.addf": 0, "arith.addi": 0, "arith.mulf": 1, "arith.muli": 1}
_GLOBAL, _LOAD = "ml_program.global", "ml_program.global_load_const"


@register_pass
@dataclass(frozen=True)
class ImportProgram(Pass):
    """Leaves out assertions and what nobody reads, and spells out scans, as PyTorch's exporter writes them.

    What is asserted is taken for granted: a core cannot stop a program.

        %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<9xf32>) outs(%zeros, %zero : ...) { addf }

    becomes

        %p = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<9xi32>
        %r = linalg.generic {indexing_maps = [(d0, d1) -> (d1), (d0, d1) -> (d0), (d0, d1) -> (d1), (d0, d1) -> (d0)],
          iterator_types = ["parallel", "reduction"]} ins(%x, %p, %p : ...) outs(%zeros : tensor<9xf32>) {
          %is_before = arith.cmpi sle, %before, %here
          arith.addf %out, (arith.select %is_before, %in, 0.0) }

    `ml_program.global`s are dropped, or are constants where they are read, and a `bufferization.alloc_tensor` is an
    empty tensor. Where all functions of a module are private, those that nobody calls are what is compiled.
    """

    name = "npuflow-import-program"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for what, count in import_program(op).items():
            context.count(what, count)


def import_program(root: ir.Operation) -> Counter[str]:
    """Does what the pass says; returns what was changed."""
    done: Counter[str] = Counter()
    for op in ops_of(root, "cf.assert"):
        op.erase()
        done["assertions left out"] += 1
    done["globals left out"] += _drop_globals(root)
    for op in ops_of(root, "bufferization.alloc_tensor"):
        if len(op.operands) == 0 and op.results[0].type.has_static_shape and "memory_space" not in op.attributes:
            with at(op):
                op.results[0].replace_all_uses_with(empty(shape_of(op.results[0]), element_type_of(op.results[0])))
            op.erase()
            done["tensors that are empty"] += 1
    for op in ops_of(root, "tensor.cast"):
        done["casts seen through"] += _see_through(op)
    for op in ops_of(root, SCAN):
        done["scans spelled out"] += _spell_out(op)
    return +done


def _see_through(cast: ir.Operation) -> int:
    """Lets concatenations have the static sizes that a cast forgets, and the cast go if nobody else reads it."""
    source = cast.operands[0]
    if not isinstance(source.type, ir.RankedTensorType) or not source.type.has_static_shape:
        return 0
    uses = [(use.owner.operation, use.operand_number) for use in cast.results[0].uses]
    known = [(user, index) for user, index in uses if user.name == "tensor.concat"]
    for user, index in known:
        user.operands[index] = source
    if len(known) == len(uses):
        cast.erase()
    return bool(known)


def _drop_globals(root: ir.Operation) -> int:
    """Makes what is read of constant globals constants, and drops those that nobody names any more."""
    values = {_name(op, "sym_name"): op for op in ops_of(root, _GLOBAL)}
    for load in ops_of(root, _LOAD):
        held = values.get(_name(load, "global"))
        if held is None or "value" not in held.attributes or "is_mutable" in held.attributes:
            continue
        with at(load):
            load.results[0].replace_all_uses_with(
                arith.ConstantOp(load.results[0].type, held.attributes["value"]).result
            )
        load.erase()
    read = {_name(op, "global") for op in ops_of(root) if "global" in op.attributes}
    unread = [op for name, op in values.items() if name not in read]
    for op in unread:
        op.erase()
    return len(unread)


def _name(op: ir.Operation, attribute: str) -> str:
    return str(op.attributes[attribute]).strip('"@')


def _spell_out(scan: ir.Operation) -> bool:
    """A scan as a sum over what lies before each element; one that starts from something else stays as it is."""
    source, target, start = scan.operands
    body = scan.regions[0].blocks[0]
    combined = producer(list(body.operations)[-1].operation.operands[0], *_NEUTRAL)
    filled = producer(start, "linalg.fill")
    constant = None if filled is None else producer(filled.operands[0], "arith.constant")
    is_read = any(True for _ in scan.results[1].uses)
    if combined is None or constant is None or is_read or len(body.operations) > 2:
        return False
    if constant.attributes["value"].value != _NEUTRAL[combined.name]:
        return False
    with at(scan):
        initial = fill(constant.results[0], empty(shape_of(target), element_type_of(target)))
        made = scanned(
            source,
            initial,
            constant.results[0],
            int(ir.IntegerAttr(scan.attributes["dimension"]).value),
            combined.name,
            inclusive=bool(ir.BoolAttr(scan.attributes["inclusive"]).value),
        )
    scan.results[0].replace_all_uses_with(made)
    scan.erase()
    return True


def scanned(
    source: ir.Value, initial: ir.Value, neutral: ir.Value, dimension: int, combiner: str, *, inclusive: bool
) -> ir.Value:
    """Each element combined with those before it along a dimension, itself as well if `inclusive`."""
    rank, size = len(shape_of(source)), shape_of(source)[dimension]
    loops = [ir.AffineExpr.get_dim(d) for d in range(rank + 1)]
    # Who reads positions from a tensor needs no loop's number inside of a sum, which not every compiler gets right.
    i32 = ir.IntegerType.get_signless(32)
    numbers = ir.DenseElementsAttr.get(np.arange(size, dtype=np.int32), type=i32)
    positions = arith.ConstantOp(ir.RankedTensorType.get([size], i32), numbers).result
    read = [loops[rank] if d == dimension else loops[d] for d in range(rank)]
    places = (read, [loops[dimension]], [loops[rank]], loops[:rank])
    maps = [ir.AffineMap.get(rank + 1, 0, place) for place in places]
    along = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dimension)
    kinds = ["parallel"] * rank + ["reduction"]
    made = generic_op([source, positions, positions], [initial], maps, kinds, {SCANNED: along})
    element = element_type_of(source)
    block = made.regions[0].blocks.append(element, i32, i32, element)
    with ir.InsertionPoint(block):
        one, here, before, sofar = block.arguments
        predicate = arith.CmpIPredicate.sle if inclusive else arith.CmpIPredicate.slt
        is_before = arith.CmpIOp(predicate, before, here).result
        counted = arith.SelectOp(is_before, one, neutral).result
        linalg.YieldOp([ir.Operation.create(combiner, [element], [sofar, counted]).results[0]])
    return made.results[0]
