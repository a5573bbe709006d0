"""What an exported program writes in place: buffers and inputs that it updates are arguments, which become results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from npuflow.bindings import ir
from npuflow.core.argument_attributes import add_argument_attributes
from npuflow.importing.known_values import known_value
from npuflow.importing.packages import loaded_torch
from npuflow.ops.insertions import BECOMES

if TYPE_CHECKING:
    from torch.export import ExportedProgram


def open_updates(program: ExportedProgram) -> Mapping[int, int]:
    """Makes what a program writes in place arguments, behind its inputs, and results, behind its outputs. Edits it.

    Returns the result that each of these arguments becomes. What is returned anyway is there once.
    """
    kinds = loaded_torch().export.graph_signature
    of_buffers = kinds.OutputKind.BUFFER_MUTATION
    mutations = (of_buffers, kinds.OutputKind.USER_INPUT_MUTATION)
    signature, graph = program.graph_signature, program.graph
    holders = {target: name for name, target in signature.inputs_to_buffers.items()}
    (output,) = (node for node in graph.nodes if node.op == "output")
    values = list(zip(output.args[0], signature.output_specs, strict=True))
    changed = [(node, spec) for node, spec in values if spec.kind in mutations]
    written = {holders[spec.target] if spec.kind is of_buffers else spec.target: node for node, spec in changed}
    if not written:
        return {}
    results = [node for node, spec in values if spec.kind not in mutations]
    results += [node for node in dict.fromkeys(written.values()) if node not in results]
    output.args = (tuple(results),)
    for spec in signature.input_specs:
        if spec.arg.name in written:
            spec.kind, spec.target = kinds.InputKind.USER_INPUT, None
    given = {spec.arg.name for spec in signature.input_specs if spec.kind is kinds.InputKind.USER_INPUT}
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    last, arguments = inputs[-1], [node for node in inputs if node.name in given]
    for node in [node for node in arguments if node.name in holders.values()]:
        last.append(node)
        last = node
        arguments.append(arguments.pop(arguments.index(node)))
    numbers = {node.name: number for number, node in enumerate(arguments)}
    return {numbers[name]: results.index(node) for name, node in written.items()}


def hold_buffers(program: ExportedProgram) -> None:
    """Makes buffers that are no part of a module's state constants, for torch-mlir. Edits the program."""
    kinds = loaded_torch().export.graph_signature.InputKind
    for spec in program.graph_signature.input_specs:
        if spec.kind is kinds.BUFFER and spec.target in program.constants:
            spec.kind = kinds.CONSTANT_TENSOR


def write_slices(program: ExportedProgram) -> None:
    """Has rows that are written at known places, one behind the other, be written as a slice. Edits the program."""
    torch = loaded_torch()
    put, scatter = torch.ops.aten.index_put.default, torch.ops.aten.slice_scatter.default
    for node in [node for node in program.graph.nodes if node.target is put and len(node.args) == 3]:
        target, places, values = node.args
        used = [dim for dim, place in enumerate(places) if place is not None]
        found = known_value(places[used[0]], program) if len(used) == 1 else None
        shape = list(target.meta["val"].shape)
        if found is None or found.dim() != 1 or found.is_floating_point() or found.dtype is torch.bool:
            continue
        (dim,), rows = used, [int(row) % shape[used[0]] for row in found]
        if not rows or rows != list(range(rows[0], rows[0] + len(rows))):
            continue
        sizes, own = [*shape[:dim], len(rows), *shape[dim + 1 :]], values.meta["val"]
        with program.graph.inserting_before(node):
            if list(own.shape) != sizes:
                values = program.graph.call_function(torch.ops.aten.expand.default, (values, sizes))
                values.meta = {"val": own.expand(sizes)}
            made = program.graph.call_function(scatter, (target, values, dim, rows[0], rows[0] + len(rows)))
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
        for spec in program.graph_signature.output_specs:
            if spec.arg.name == node.name:
                spec.arg.name = made.name
        program.graph.erase_node(node)


def note_updates(function: ir.Operation, updates: Mapping[int, int]) -> None:
    """Says of arguments which results they become."""
    number = ir.IntegerType.get_signless(64, function.context)
    said = {argument: {BECOMES: ir.IntegerAttr.get(number, result)} for argument, result in updates.items()}
    add_argument_attributes(function, said)
