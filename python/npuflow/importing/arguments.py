"""What a network is called with and returns beside tensors: numbers and `None` are part of its program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npuflow.errors import InputError, UsageError, with_hint
from npuflow.importing.packages import loaded_torch

if TYPE_CHECKING:
    from torch import Tensor
    from torch.export import ExportedProgram

_PLAIN = (bool, int, float, str, type(None))


def positional(inputs: Tensor | Sequence[object]) -> tuple[object, ...]:
    """What a module is called with, of an input or of several; raises UsageError."""
    torch = loaded_torch()
    if not isinstance(inputs, torch.Tensor | Sequence) or isinstance(inputs, str):
        raise UsageError(with_hint(f"the inputs are of type {type(inputs).__name__}", "give a tensor, or a tuple"))
    return (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)


def check_inputs(inputs: tuple[object, ...], keywords: Mapping[str, object]) -> None:
    """Raises UsageError for what is neither a tensor nor plain, in whatever lists and dictionaries it is."""
    torch = loaded_torch()
    for value in torch.utils._pytree.tree_leaves((inputs, dict(keywords))):
        if not isinstance(value, torch.Tensor) and not isinstance(value, _PLAIN):
            what = f"an input is of type {type(value).__name__}"
            raise UsageError(with_hint(what, "give tensors, numbers, and lists and dictionaries of these"))


def types_of(inputs: tuple[object, ...], keywords: Mapping[str, object]) -> str:
    """The sizes and types of the tensors among them, as `3x6 of torch.float32`."""
    torch = loaded_torch()
    leaves = torch.utils._pytree.tree_leaves((inputs, dict(keywords)))
    tensors = (value for value in leaves if isinstance(value, torch.Tensor))
    return ", ".join(f"{'x'.join(map(str, one.shape)) or 'one'} of {one.dtype}" for one in tensors)


def keep_tensors(program: ExportedProgram) -> None:
    """Leaves out arguments and results of an exported program that PyTorch made constants of. Edits it.

    Raises InputError where no result is left.
    """
    kinds = loaded_torch().export.graph_signature
    signature, graph = program.graph_signature, program.graph

    def is_plain(spec: Any) -> bool:  # noqa: ANN401  (PyTorch's types are unknown where it isn't installed)
        return isinstance(spec.arg, kinds.ConstantArgument)

    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for node, spec in zip(placeholders, list(signature.input_specs), strict=True):
        if is_plain(spec):
            graph.erase_node(node)
    (output,) = (node for node in graph.nodes if node.op == "output")
    results = zip(output.args[0], signature.output_specs, strict=True)
    kept = [(node, spec) for node, spec in results if not is_plain(spec)]
    if not kept:
        raise InputError(with_hint("the network returns no tensor", "return what is to be computed"))
    output.args = (tuple(node for node, _ in kept),)
    signature.input_specs[:] = [spec for spec in signature.input_specs if not is_plain(spec)]
    signature.output_specs[:] = [spec for _, spec in kept]
