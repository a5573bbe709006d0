"""Constants of one number are computed by PyTorch itself: torch-mlir folds some of them to something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuflow.constants.resources import LEAST_RESOURCE_BYTES
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor, fx
    from torch.export import ExportedProgram


def fold_uniform(program: ExportedProgram) -> None:
    """Makes what a program computes of tensors of one number, and is such again, `full` of it. Edits the program.

    torch-mlir reads floats as if they were whole numbers where it folds comparisons, its own in `sign` too: of
    `torch.full((4,), 2.0)` that is -1. With others, as a softmax of one number, it never ends. Weights that are
    resources it doesn't fold.
    """
    torch = loaded_torch()
    like = torch.ops.aten.full_like.default
    values = _held(program)
    for node in list(program.graph.nodes):
        if node.op == "call_function" and node.target is like and _is_known(node.meta["val"]):
            number, kind = node.args[1], node.meta["val"].dtype
            found = torch.full(node.meta["val"].shape, number, dtype=kind)
            values[_filled(node, found)] = found
            continue
        if node.op == "call_function" and node.target is torch.ops.aten.where.self:
            found = _either(node, values)
            if found is not None:
                values[_filled(node, found)] = found
                continue
        if node.op != "call_function" or any(one not in values for one in node.all_input_nodes):
            continue
        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()) or "empty" in str(node.target):
            continue
        found = _computed(node, values)
        if _is_uniform(found):
            made = _filled(node, found)
            values[made] = found
        elif isinstance(found, (list, tuple)) or _is_empty(found):
            values[node] = found
    program.graph.eliminate_dead_code()


def _held(program: ExportedProgram) -> dict[fx.Node, Any]:
    """The small tensors of one number that a program has and doesn't write."""
    signature = program.graph_signature
    of_state = {**signature.inputs_to_parameters, **signature.inputs_to_buffers}
    named = {**of_state, **signature.inputs_to_lifted_tensor_constants}
    written = set(signature.buffers_to_mutate.values())
    found = {}
    for node in program.graph.nodes:
        if node.op != "placeholder" or node.name not in named or named[node.name] in written:
            continue
        name = named[node.name]
        value = program.state_dict.get(name, program.constants.get(name))
        if value is not None and value.nbytes < LEAST_RESOURCE_BYTES and _is_uniform(value):
            found[node] = value.detach()
    return found


def _either(node: fx.Node, values: dict[fx.Node, Any]) -> Any:  # noqa: ANN401  (a tensor, or None)
    """What is chosen from two tensors of the same number, whatever chooses: torch-mlir gives up on many in a row."""
    torch = loaded_torch()
    first, second = (values.get(one) for one in node.args[1:])
    if first is None or second is None or not (_is_uniform(first) and _is_uniform(second)):
        return None
    if first.dtype != second.dtype:
        return None
    one, other = first.flatten()[0], second.flatten()[0]
    is_same = bool(one == other) and bool(torch.signbit(one) == torch.signbit(other))
    return torch.full(node.meta["val"].shape, one.item(), dtype=first.dtype) if is_same else None


def _computed(node: fx.Node, values: dict[fx.Node, Any]) -> Any:  # noqa: ANN401  (whatever the op returns)
    torch = loaded_torch()
    args, kwargs = torch.fx.map_arg((node.args, node.kwargs), values.__getitem__)
    try:
        with torch.no_grad():
            return node.target(*args, **kwargs)
    except (RuntimeError, NotImplementedError):
        return None


def _is_known(value: Tensor) -> bool:
    """Whether torch-mlir has a constant of such a tensor's type and size."""
    return value.numel() > 0 and not value.is_complex() and value.dtype is not loaded_torch().uint8


def _is_uniform(value: Any) -> bool:  # noqa: ANN401
    torch = loaded_torch()
    if not isinstance(value, torch.Tensor) or not _is_known(value):
        return False
    flat = value.detach().flatten()
    return bool((flat == flat[0]).all()) or bool(torch.isnan(flat).all())


def _is_empty(value: Any) -> bool:  # noqa: ANN401
    """Whether there is nothing in it, of which sums and spreads are one number, too."""
    return isinstance(value, loaded_torch().Tensor) and value.numel() == 0


def _filled(node: fx.Node, value: Tensor) -> fx.Node:
    """The tensor in place of what computed it, unless that is as simple."""
    full = loaded_torch().ops.aten.full.default
    if node.target is full:
        return node
    with node.graph.inserting_before(node):
        made = node.graph.call_function(full, (list(value.shape), value.flatten()[0].item()), {"dtype": value.dtype})
    made.meta = {"val": node.meta["val"], "stack_trace": node.meta.get("stack_trace")}
    node.replace_all_uses_with(made)
    node.graph.erase_node(node)
    return made
