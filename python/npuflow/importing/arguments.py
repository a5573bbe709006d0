"""What a network is called with and returns beside tensors: numbers and `None` are part of its program."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from npuflow.errors import InputError, UsageError, with_hint
from npuflow.importing.packages import loaded_torch
from npuflow.importing.structures import PLAIN, opened

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.export import ExportedProgram


def positional(inputs: Tensor | Sequence[object]) -> tuple[object, ...]:
    """What a module is called with, of an input or of several; raises UsageError."""
    torch = loaded_torch()
    if not isinstance(inputs, torch.Tensor | Sequence) or isinstance(inputs, str):
        raise UsageError(with_hint(f"the inputs are of type {type(inputs).__name__}", "give a tensor, or a tuple"))
    return (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)


def check_inputs(inputs: tuple[object, ...], keywords: Mapping[str, object]) -> None:
    """Raises UsageError for what is neither a tensor nor plain, in whatever lists and dictionaries it is."""
    torch = loaded_torch()
    for value in torch.utils._pytree.tree_leaves(opened((inputs, dict(keywords)))):
        if not isinstance(value, torch.Tensor) and not isinstance(value, PLAIN):
            what = f"an input is of type {type(value).__name__}"
            raise UsageError(with_hint(what, "give tensors, numbers, and lists, dictionaries and dataclasses of these"))


def check_call(module: nn.Module, inputs: tuple[object, ...], keywords: Mapping[str, object]) -> None:
    """Raises InputError where a module takes others, or as many more or less."""
    try:
        taken = inspect.signature(module.forward)
    except ValueError:  # of what isn't written in Python
        return
    try:
        taken.bind(*inputs, **keywords)
    except TypeError as error:
        hint = f"give as many inputs as it takes: {', '.join(taken.parameters)}"
        raise InputError(with_hint(f"the module cannot be called with these inputs: {error}", hint)) from error


def types_of(inputs: tuple[object, ...], keywords: Mapping[str, object]) -> str:
    """The sizes and types of the tensors among them, as `3x6 of torch.float32`."""
    torch = loaded_torch()
    leaves = torch.utils._pytree.tree_leaves(opened((inputs, dict(keywords))))
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
