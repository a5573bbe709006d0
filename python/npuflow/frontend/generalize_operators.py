"""npuflow-generalize-operators: named linalg ops become linalg.generic."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.build import apply_steps, at, element_type_of, empty, is_static, shape_of
from npuflow.core.passes import Pass, PassContext, ops_of
from npuflow.core.registry import register_pass
from npuflow.frontend.upstream import run_upstream
from npuflow.ops.contraction import is_elementwise, match_contraction, producer

SOFTMAX = "linalg.softmax"
# What has a meaning of its own for the passes that follow, or isn't a computation in the sense of linalg.generic.
_KEPT = frozenset(
    f"linalg.{name}"
    for name in (
        "fill fill_rng_2d generic index pack softmax unpack "
        "winograd_filter_transform winograd_input_transform winograd_output_transform yield"
    ).split()
)
_MARK = "npu.generalize"
_MEMOIZED_MAPS = "linalg.memoized_indexing_maps"
_ANY = "!transform.any_op"
# What MLIR makes of each of them.
_RELAYOUTS = {
    "linalg.pack": ("tensor.pad", "tensor.expand_shape", "linalg.transpose"),
    "linalg.unpack": (
        "tensor.empty",
        "linalg.transpose",
        "tensor.collapse_shape",
        "tensor.extract_slice",
        "linalg.copy",
    ),
}


@register_pass
@dataclass(frozen=True)
class GeneralizeOperators(Pass):
    """Spells every linalg op on tensors as linalg.generic, except matmuls and fills; decomposes linalg.softmax.

        %r = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%x, %window : ...) outs(%f : ...)

    becomes

        %r = linalg.generic {indexing_maps = [(d0, d1, d2, d3, d4, d5) -> (d0, d1 * 2 + d4, d2 * 2 + d5, d3), ...]}
          ins(%x, %window : ...) outs(%f : ...) { arith.maximumf }

    Elementwise ops on whole tensors (`arith.addf %a, %b : tensor<8xf32>`) become linalg.generic as well, linalg.pack
    and linalg.unpack reshapes and transpositions, whole powers that are known (`math.fpowi`) products, and what an
    elementwise op writes to without reading it is an empty tensor.
    """

    name = "npuflow-generalize-operators"
    group = "frontend"

    def run(self, op: ir.Operation, context: PassContext) -> None:
        run_upstream(op, "convert-elementwise-to-linalg,math-expand-ops{ops=fpowi}")
        context.count("softmaxes decomposed", decompose_softmax(op))
        _lower_relayouts(op, context)
        _generalize_named(op, context)
        for generic in ops_of(op, "linalg.generic"):
            for attribute in (_MARK, _MEMOIZED_MAPS):
                if attribute in generic.attributes:
                    del generic.attributes[attribute]
            _free_output(generic)


def decompose_softmax(op: ir.Operation) -> int:
    """Makes of each softmax a maximum, exponentials, a sum and quotients, linalg.generics; returns how many."""
    found = [softmax for softmax in ops_of(op, SOFTMAX) if softmax.results]
    if found:
        apply_steps(
            op,
            f'%softmax = transform.structured.match ops{{["{SOFTMAX}"]}} in %op : ({_ANY}) -> {_ANY}\n'
            f"%parts = transform.structured.decompose_interface %softmax : ({_ANY}) -> {_ANY}",
        )
    return len(found)


def _lower_relayouts(op: ir.Operation, context: PassContext) -> None:
    """Packing and unpacking as padding, a reshape, a transposition, a slice; a copy of a tensor is that tensor."""
    found = [relayout for relayout in ops_of(op, *_RELAYOUTS) if relayout.results and is_static(relayout)]
    for relayout in found:
        kinds = ", ".join(f'!transform.op<"{name}">' for name in _RELAYOUTS[relayout.name])
        results = ", ".join(f"%{i}" for i in range(len(_RELAYOUTS[relayout.name])))
        this, lower = (
            f'!transform.op<"{relayout.name}">',
            relayout.name.replace("linalg.", "transform.structured.lower_"),
        )
        apply_steps(
            relayout,
            f"%this = transform.cast %op : {_ANY} to {this}\n{results} = {lower} %this : ({this}) -> ({kinds})",
        )
        context.count("relayouts lowered")
    for copy in ops_of(op, "linalg.copy"):
        if copy.results and copy.operands[0].type == copy.results[0].type:
            copy.results[0].replace_all_uses_with(copy.operands[0])
            copy.erase()
            context.count("copies of tensors folded")


def _generalize_named(op: ir.Operation, context: PassContext) -> None:
    named = [candidate for candidate in ops_of(op) if _is_to_be_generalized(candidate)]
    if not named:
        return
    for candidate in named:
        candidate.attributes[_MARK] = ir.UnitAttr.get(op.context)
    apply_steps(
        op,
        f"%named = transform.structured.match attributes{{{_MARK}}} in %op : ({_ANY}) -> {_ANY}\n"
        f"%generic = transform.structured.generalize %named : ({_ANY}) -> {_ANY}",
    )
    context.count("ops generalized", len(named))


def _free_output(op: ir.Operation) -> None:
    """Lets an elementwise op write to an empty tensor instead of one whose elements it doesn't read."""
    if not is_elementwise(op) or not op.results[0].type.has_static_shape:
        return
    last = len(op.operands) - 1
    output = op.operands[last]
    is_read = any(True for _ in op.regions[0].blocks[0].arguments[last].uses)
    if is_read or producer(output, "tensor.empty") is not None:
        return
    with at(op):
        op.operands[last] = empty(shape_of(output), element_type_of(output))


def _is_to_be_generalized(op: ir.Operation) -> bool:
    """A named linalg op on tensors; a contraction only where it is no matmul."""
    if not op.name.startswith("linalg.") or op.name in _KEPT or not op.results:
        return False
    contraction = match_contraction(op)
    return contraction is None or (len(contraction.m), len(contraction.n), len(contraction.k)) != (1, 1, 1)
