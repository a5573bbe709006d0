"""What an exported program computes of constants alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import fx
    from torch.export import ExportedProgram


def known_value(node: fx.Node, program: ExportedProgram) -> Any:  # noqa: ANN401  (a tensor, where PyTorch is installed)
    """What a node computes of constants, and of buffers that aren't written; None where it reads anything else.

    The program is functional: nothing is written in place.
    """
    torch = loaded_torch()
    if node.op == "placeholder":
        signature = program.graph_signature
        buffer = signature.inputs_to_buffers.get(node.name)
        written = signature.buffers_to_mutate.values()
        name = signature.inputs_to_lifted_tensor_constants.get(node.name, None if buffer in written else buffer)
        return program.constants.get(name, program.state_dict.get(name))
    values = {each: known_value(each, program) for each in node.all_input_nodes}
    is_random = torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())
    if node.op != "call_function" or is_random or any(value is None for value in values.values()):
        return None
    replaced = torch.fx.node.map_arg
    return node.target(*replaced(node.args, values.__getitem__), **replaced(node.kwargs, values.__getitem__))
