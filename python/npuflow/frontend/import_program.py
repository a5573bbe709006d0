"""npuflow-import-program: what exporters put around a computation is left out, or said in ops that all passes know."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from npuflow.bindings import arith, ir
from npuflow.core.build import at, element_type_of, empty, extract_slice, is_static, shape_of
from npuflow.core.passes import Pass, PassContext, fail, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.nothing import drop_nothing
from npuflow.frontend.scans import SCAN, spell_out_scan
from npuflow.frontend.scatters import SCATTER, spell_out_scatter
from npuflow.frontend.sorts import SORT, TOPK, spell_out_sort, spell_out_topk
from npuflow.frontend.upstream import run_upstream
from npuflow.ops.contraction import producer

_GLOBAL, _LOAD = "ml_program.global", "ml_program.global_load_const"
# What calls may come to in all, once those are inlined that inlined functions make.
_MOST_CALLS = 10_000
_SPELLED_OUT = (
    (SCAN, spell_out_scan, "scans spelled out"),
    (SORT, spell_out_sort, "sorts spelled out"),
    (TOPK, spell_out_topk, "sorts spelled out"),
    (SCATTER, spell_out_scatter, "scatters spelled out"),
)


@register_pass
@dataclass(frozen=True)
class ImportProgram(Pass):
    """Leaves out assertions and what nobody reads, inlines calls, spells out scans and sorts as PyTorch exports them.

    What is asserted is taken for granted: a core cannot stop a program. Functions that are called become part of who
    calls them (upstream's `inline`), unless they have no body, call themselves, or are called in another op's body.

        %r:2 = tm_tensor.scan dimension(0) inclusive(true) ins(%x : tensor<9xf32>) outs(%zeros, %zero : ...) { addf }

    becomes

        %p = arith.constant dense<[0, 1, 2, 3, 4, 5, 6, 7, 8]> : tensor<9xi32>
        %r = linalg.generic {indexing_maps = [(d0, d1) -> (d1), (d0, d1) -> (d0), (d0, d1) -> (d1), (d0, d1) -> (d0)],
          iterator_types = ["parallel", "reduction"]} ins(%x, %p, %p : ...) outs(%zeros : tensor<9xf32>) {
          %is_before = arith.cmpi sle, %before, %here
          arith.addf %out, (arith.select %is_before, %in, 0.0) }

    A sort is two ops: each element's rank is how many others belong before it, and each place has the element whose
    rank it is; of a `tm_tensor.topk` there are the first places alone. In a scatter, every element looks for its
    updates. `ml_program.global`s are dropped, or are constants where they are read, a `bufferization.alloc_tensor` is
    an empty tensor, and a padding by fewer than 0 elements a slice. What is computed of tensors without elements is
    left out, and so are they where others are read beside them; as results they are constants. Constants are rounded to
    the type that they are read in. Where all functions of a module are private, those that nobody calls are what is
    compiled.
    """

    name = "npuflow-import-program"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        for what, count in import_program(op).items():
            context.count(what, count)


def import_program(root: ir.Operation) -> Counter[str]:
    """Does what the pass says; returns what was changed."""
    done: Counter[str] = Counter()
    done["calls inlined"] += _inline(root)
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
    for op in ops_of(root, "arith.truncf"):
        done["numbers rounded"] += _round(op)
    done["ops on no elements left out"] += drop_nothing(root)
    for op in ops_of(root, "tensor.pad"):
        done["paddings that cut off"] += _cut(op)
    for name, spell_out, what in _SPELLED_OUT:
        for op in ops_of(root, name):
            done[what] += spell_out(op)
    return +done


def _inline(root: ir.Operation) -> int:
    """Inlines all calls, unless they would be too many, as where each function calls the next one twice.

    One in the body of another op is none that a program may have, and is left there to be refused.
    """
    found = ops_of(root, "func.call")
    if root.name != "builtin.module" or not found or any(call.parent.name != "func.func" for call in found):
        return 0
    functions = {_name(function, "sym_name"): function for function in ops_of(root, "func.func")}
    calls = {name: [_name(call, "callee") for call in ops_of(f, "func.call")] for name, f in functions.items()}
    inlined = dict.fromkeys(calls, 0)
    for _ in calls:
        before = inlined
        inlined = {name: sum(1 + before.get(callee, 0) for callee in called) for name, called in calls.items()}
        if sum(inlined.values()) > _MOST_CALLS:
            return 0
        if inlined == before:
            run_upstream(root, "inline{default-pipeline=}")
            break
    return sum(map(len, calls.values())) - len(ops_of(root, "func.call"))


def _round(op: ir.Operation) -> bool:
    """Rounds a constant number, as that of a padding: MLIR folds only what a type has exactly."""
    made = producer(op.operands[0], "arith.constant")
    kind = op.results[0].type
    if made is None or not isinstance(kind, ir.FloatType):
        return False
    with at(op):
        number = ir.FloatAttr(made.attributes["value"]).value
        op.results[0].replace_all_uses_with(arith.ConstantOp(kind, ir.FloatAttr.get(kind, number)).result)
    op.erase()
    if not [*made.results[0].uses]:
        made.erase()
    return True


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


def _cut(pad: ir.Operation) -> bool:
    """Makes a slice of what a padding by fewer than 0 elements cuts off, which upstream's bufferization doesn't."""
    if not is_static(pad) or pad.opview.low or pad.opview.high:
        return False
    low, high, shape = list(pad.opview.static_low), list(pad.opview.static_high), shape_of(pad.operands[0])
    begins = [max(-before, 0) for before in low]
    sizes = [size - begin - max(-behind, 0) for size, begin, behind in zip(shape, begins, high)]
    if sizes == shape:
        return False
    if min(sizes) < 1:
        raise fail(pad, "tensor.pad cuts off all that there is", f"{sizes} elements are left of {shape}")
    with at(pad):
        kept = extract_slice(pad.operands[0], begins, sizes)
    if max(*low, *high) <= 0:
        pad.results[0].replace_all_uses_with(kept)
        pad.erase()
        return True
    pad.operands[0] = kept
    for name, amounts in (("static_low", low), ("static_high", high)):
        pad.attributes[name] = ir.DenseI64ArrayAttr.get([max(amount, 0) for amount in amounts])
    return True


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
