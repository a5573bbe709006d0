"""What an exported program computes of constants alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import fx
    from torch.export import ExportedProgram


def known_value(node: fx.Node, program: ExportedProgram) -> Any:  # noqa: ANN401  (a tensor, where PyTorch is installed)
    """What a node computes of constants, and of buffers that aren't written; None where it reads anything else.

    The program is functional: nothing is written in place.
    """
    found: dict[fx.Node, Any] = {}
    for each in _upstream(node):
        found[each] = _held(each, program) if each.op == "placeholder" else _computed(each, found)
    return found[node]


def _upstream(node: fx.Node) -> list[fx.Node]:
    """All that a node depends on, and itself, in the order of the program."""
    needed, left = {node}, [node]
    while left:
        new = [each for each in left.pop().all_input_nodes if each not in needed]
        needed.update(new)
        left += new
    return [each for each in node.graph.nodes if each in needed]


def _held(node: fx.Node, program: ExportedProgram) -> Any:  # noqa: ANN401
    signature = program.graph_signature
    buffer = signature.inputs_to_buffers.get(node.name)
    written = signature.buffers_to_mutate.values()
    name = signature.inputs_to_lifted_tensor_constants.get(node.name, None if buffer in written else buffer)
    return program.constants.get(name, program.state_dict.get(name))


def _computed(node: fx.Node, found: Mapping[fx.Node, Any]) -> Any:  # noqa: ANN401
    torch = loaded_torch()
    is_random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    if node.op != "call_function" or is_random or any(found[each] is None for each in node.all_input_nodes):
        return None
    replaced = torch.fx.node.map_arg
    return node.target(*replaced(node.args, found.__getitem__), **replaced(node.kwargs, found.__getitem__))
