"""Tensors without elements: nothing is computed for them, by which torch-mlir would divide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import fx


def leave_out_nothing(graph: fx.Graph) -> None:
    """Has an exported graph make tensors without elements of their sizes alone. Edits it.

    torch-mlir divides by how many elements there are where it folds views, norms and products of such, which ends the
    process.
    """
    torch = loaded_torch()
    full = torch.ops.aten.full.default
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if node.op != "call_function" or not isinstance(value, torch.Tensor) or value.numel() != 0:
            continue
        if value.dtype is torch.uint8:  # torch-mlir has no constants of these
            continue
        with graph.inserting_before(node):
            made = graph.call_function(full, (list(value.shape), 0), {"dtype": value.dtype})
        made.meta = {"val": value, "stack_trace": node.meta.get("stack_trace")}
        node.replace_all_uses_with(made)
        graph.erase_node(node)
    graph.eliminate_dead_code()
