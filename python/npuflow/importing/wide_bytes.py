"""Arithmetic on bytes and on u32 as PyTorch means it, where torch-mlir doesn't: in more bits, and cut off again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import dtype, fx

# What torch-mlir cannot make a number of i8 for: its lowering of these ends the process, or refuses them.
_MISREAD_OF_I8 = ("mm", "bmm", "addmm", "baddbmm", "convolution", "mul", "sub", "div", "remainder", "fmod")
_CONVERSIONS = ("convert_element_type", "_to_copy")


def widen_bytes(graph: fx.Graph) -> None:
    """Computes in i32 what an exported graph's ops compute of u8, and some of i8, and in i64 what they do of u32.

    The results are the same to the last bit. torch-mlir takes numbers without signs for such with signs, where it
    doesn't convert them. What wraps around in PyTorch is counted modulo 2^8, or 2^32, wherever it is cut off. What
    only moves such numbers, or converts them, stays as it is.
    """
    for node in list(graph.nodes):
        if node.op == "call_function" and _is_misread(node):
            _widen(node)


def _is_misread(node: fx.Node) -> bool:
    torch = loaded_torch()
    if not isinstance(node.target, torch._ops.OpOverload) or "val" not in node.meta:
        return False
    name = node.target._schema.name.partition("::")[2]
    kinds = {_dtype_of(one) for one in node.all_input_nodes}
    moves = name in _CONVERSIONS or any(one.alias_info is not None for one in node.target._schema.returns)
    is_unsigned = not kinds.isdisjoint((torch.uint8, torch.uint32))
    return (is_unsigned and not moves) or (torch.int8 in kinds and name in _MISREAD_OF_I8)


def _widen(node: fx.Node) -> None:
    """Converts an op's narrow numbers, and what it gives then back to the types that it gave."""
    torch = loaded_torch()
    wider = {torch.uint8: torch.int32, torch.int8: torch.int32, torch.uint32: torch.int64}
    narrow_in = [one for one in node.all_input_nodes if _dtype_of(one) in wider]
    with node.graph.inserting_before(node):
        wide = {one: _converted(one, wider[_dtype_of(one)]) for one in narrow_in}
    for narrow, one in wide.items():
        node.replace_input_with(narrow, one)
    values = torch.fx.map_arg((node.args, node.kwargs), lambda one: one.meta["val"])
    before = node.meta["val"]
    _set_value(node, node.target(*values[0], **values[1]))
    if isinstance(before, torch.Tensor):
        _narrow(node, before.dtype)
        return
    for user in list(node.users):
        index = user.args[1]
        _set_value(user, node.meta["val"][index])
        _narrow(user, before[index].dtype)


def _narrow(node: fx.Node, kind: dtype) -> None:
    if node.meta["val"].dtype == kind:
        return
    users = list(node.users)
    with node.graph.inserting_after(node):
        narrow = _converted(node, kind)
    for user in users:
        user.replace_input_with(node, narrow)


def _converted(node: fx.Node, kind: dtype) -> fx.Node:
    convert = loaded_torch().ops.prims.convert_element_type.default
    made = node.graph.call_function(convert, (node, kind))
    made.meta = dict(node.meta)
    _set_value(made, convert(node.meta["val"], kind))
    return made


def _set_value(node: fx.Node, value: object) -> None:
    """What a node gives; `tensor_meta`, which says the same, is read first."""
    node.meta["val"] = value
    node.meta.pop("tensor_meta", None)


def _dtype_of(node: fx.Node) -> Any:  # noqa: ANN401  (PyTorch's types are unknown where it isn't installed)
    return getattr(node.meta.get("val"), "dtype", None)
