"""What is no part of the program leaves the IR: memory spaces, `npu.*` attributes, and those for code generators.

LLVM believes what `llvm.*` attributes and a function's `passthrough` say, so that a file could choose linkage, sections
and handlers.
"""

from __future__ import annotations

from npuflow.bindings import ir
from npuflow.core.passes import ops_of

_KEPT_PREFIX = "bufferization."
_OF_FUNCTIONS = ("sym_name", "function_type", "sym_visibility", "arg_attrs", "res_attrs")
_TYPE_ATTRIBUTES = ("function_type", "type")
_ARGUMENT_ATTRIBUTES = ("arg_attrs", "res_attrs")


def strip_npu(module: ir.Module) -> None:
    """Drops memory spaces from every type, and every attribute that says more than what ops compute."""
    with module.context, module.operation.location:
        for op in ops_of(module.operation):
            _strip_types(op)
            _strip_attributes(op)
        _drop_space_casts(module)


def without_space(kind: ir.Type) -> ir.Type:
    """The type as it is in ordinary memory; function types are converted inside."""
    if isinstance(kind, ir.MemRefType) and kind.memory_space is not None:
        return ir.MemRefType.get(kind.shape, kind.element_type, kind.layout)
    if isinstance(kind, ir.UnrankedMemRefType) and kind.memory_space is not None:
        return ir.UnrankedMemRefType.get(kind.element_type, None)
    if isinstance(kind, ir.FunctionType):
        return ir.FunctionType.get([without_space(t) for t in kind.inputs], [without_space(t) for t in kind.results])
    return kind


def _strip_types(op: ir.Operation) -> None:
    values = [*op.results]
    for region in op.regions:
        for block in region.blocks:
            values += block.arguments
    for value in values:
        kind = without_space(value.type)
        if kind != value.type:
            value.set_type(kind)
    for name in _TYPE_ATTRIBUTES:
        attribute = op.attributes.get(name)
        if isinstance(attribute, ir.TypeAttr):
            op.attributes[name] = ir.TypeAttr.get(without_space(attribute.value))
    if op.name == "bufferization.alloc_tensor" and "memory_space" in op.attributes:
        del op.attributes["memory_space"]


def _strip_attributes(op: ir.Operation) -> None:
    is_function = op.name == "func.func"
    for name in list(op.attributes):
        if _is_foreign(name) or (is_function and name not in _OF_FUNCTIONS):
            del op.attributes[name]
    for name in _ARGUMENT_ATTRIBUTES:
        if name in op.attributes:
            op.attributes[name] = ir.ArrayAttr.get([_without_foreign(ir.DictAttr(d)) for d in op.attributes[name]])


def _is_foreign(name: str) -> bool:
    """Whether a dialect put an attribute on another one's op; bufferization's say what may be written."""
    return "." in name and not name.startswith(_KEPT_PREFIX)


def _without_foreign(attributes: ir.DictAttr) -> ir.DictAttr:
    return ir.DictAttr.get({a.name: a.attr for a in attributes if not _is_foreign(a.name)})


def _drop_space_casts(module: ir.Module) -> None:
    for cast in ops_of(module.operation, "memref.memory_space_cast"):
        if cast.operands[0].type == cast.results[0].type:
            cast.results[0].replace_all_uses_with(cast.operands[0])
            cast.erase()
