"""A program with every float held in 64 bits: what it would compute if it hardly rounded.

    %p = arith.mulf %a, %b : bf16          %p = arith.mulf %a, %b : f64
    %w = arith.extf %p : bf16 to f32
    %s = arith.addf %acc, %w : f32         %s = arith.addf %acc, %p : f64

Conversions between float types are gone; constants keep the values that their own type gave them. Integers stay what
they are.
"""

from __future__ import annotations

from npuflow.bindings import arith, ir, linalg, memref
from npuflow.core.build import at, element_type_of, generic_op
from npuflow.core.passes import fail, ops_of
from npuflow.errors import InputError
from npuflow.execute.clone import clone_function, spell_out

CONVERSIONS = ("arith.extf", "arith.truncf")
_OF_BITS = ("arith.bitcast", "tensor.bitcast", "memref.view")
_NARROW = ("f16", "bf16", "f32")


class NoWiderFormError(InputError):
    """What a program computes depends on the bits of its floats."""


def widened(module: ir.Operation, function: str) -> ir.Module:
    """A copy of a function and what it needs, in 64 bits; raises NoWiderFormError where there is none."""
    copy = clone_function(module, function)
    spell_out(copy)  # bodies of named ops are implied by their types, with conversions that are none any more
    with copy.context, module.location:
        for op in ops_of(copy.operation):
            _check(op)
        _widen_ops(copy)
    return copy


def wide_type(kind: ir.Type) -> ir.Type:
    """The type with 64-bit floats in place of narrower ones."""
    if isinstance(kind, ir.FloatType):
        return ir.F64Type.get() if str(kind) in _NARROW else kind
    if isinstance(kind, ir.RankedTensorType):
        return ir.RankedTensorType.get(kind.shape, wide_type(kind.element_type), kind.encoding)
    if isinstance(kind, ir.MemRefType):
        return ir.MemRefType.get(kind.shape, wide_type(kind.element_type), kind.layout, kind.memory_space)
    if isinstance(kind, ir.FunctionType):
        return ir.FunctionType.get([*map(wide_type, kind.inputs)], [*map(wide_type, kind.results)])
    return kind


def holds_floats(op: ir.Operation) -> bool:
    """Whether an op, or one in its regions, takes, makes or passes on floats."""
    found = [value for one in ops_of(op) for value in (*one.results, *one.operands)]
    found += [argument for one in ops_of(op) for region in one.regions for b in region for argument in b.arguments]
    return any(isinstance(element_type_of(value), ir.FloatType) for value in found)


def widen_op(op: ir.Operation) -> None:
    """An op's results, block arguments and plain constants in 64 bits; its operands are wide already, or will be."""
    values = [*op.results, *(argument for region in op.regions for block in region for argument in block.arguments)]
    for value in values:
        value.set_type(wide_type(value.type))
    if "function_type" in op.attributes:
        op.attributes["function_type"] = ir.TypeAttr.get(wide_type(ir.TypeAttr(op.attributes["function_type"]).value))
    if op.name == "arith.constant":
        op.attributes["value"] = wide_constant(op.attributes["value"])


def wide_constant(value: ir.Attribute) -> ir.Attribute:
    """A scalar's or splat's value in 64 bits; others are converted where they are read."""
    if isinstance(value, ir.FloatAttr):
        return ir.FloatAttr.get(wide_type(value.type), value.value)
    if isinstance(value, ir.DenseElementsAttr) and value.is_splat:
        scalar = value.get_splat_value()
        return ir.DenseElementsAttr.get_splat(wide_type(value.type), wide_constant(scalar))
    return value


def is_listed(op: ir.Operation) -> bool:
    """Whether an op names narrow floats one by one, which then are converted by ops rather than rewritten."""
    if op.name == "memref.get_global":
        return wide_type(op.results[0].type) != op.results[0].type
    if op.name != "arith.constant" or not isinstance(op.results[0].type, ir.RankedTensorType):
        return False
    return wide_type(op.results[0].type) != op.results[0].type and not _is_splat(op.attributes["value"])


def _is_splat(value: ir.Attribute) -> bool:
    return isinstance(value, ir.DenseElementsAttr) and value.is_splat


def converted(value: ir.Value) -> ir.Value:
    """A tensor or memref of narrow floats in 64 bits, by a `linalg.generic` behind it."""
    kind = wide_type(value.type)
    rank = len(kind.shape)
    identity = ir.AffineMap.get_identity(rank)
    is_tensor = isinstance(kind, ir.RankedTensorType)
    target = _empty(kind) if is_tensor else memref.AllocOp(ir.MemRefType.get(kind.shape, kind.element_type), [], [])
    target = target.result if not is_tensor else target
    narrow = element_type_of(value)
    generic = generic_op([value], [target], [identity] * 2, ["parallel"] * rank)
    block = generic.regions[0].blocks.append(narrow, kind.element_type)
    with ir.InsertionPoint(block):
        single = block.arguments[0]
        if str(narrow) != "f32":  # from which alone everything knows the way to 64 bits
            single = arith.ExtFOp(ir.F32Type.get(), single).result
        linalg.YieldOp([arith.ExtFOp(kind.element_type, single).result])
    return generic.results[0] if is_tensor else target


def _empty(kind: ir.RankedTensorType) -> ir.Value:
    return ir.Operation.create("tensor.empty", [kind], []).result


def _check(op: ir.Operation) -> None:
    floats = any(isinstance(element_type_of(value), ir.FloatType) for value in (*op.results, *op.operands))
    if op.name in _OF_BITS and floats:
        what = f"{op.name} depends on the bits of floats, so that there is no wider form of it"
        raise NoWiderFormError(fail(op, what).diagnostics)


def _widen_ops(module: ir.Module) -> None:
    listed = {}
    for op in ops_of(module.operation):
        if op.name == "memref.global":
            continue
        if is_listed(op):
            listed[op.results[0]] = op
        else:
            widen_op(op)
    for value, op in listed.items():
        users = [(use.owner, use.operand_number) for use in value.uses]
        with at(op, after=True):
            wide = converted(value)
        for user, number in users:
            user.operands[number] = wide
    for op in ops_of(module.operation, *CONVERSIONS):
        if op.operands[0].type == op.results[0].type:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
