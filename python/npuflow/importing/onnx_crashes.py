"""ONNX models on which torch-mlir ends the process: it does so in one of its own, and the node is named."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any

from npuflow.bindings import ir, load_onnx_importer, new_torch_context
from npuflow.errors import InputError, NpuflowError, with_hint
from npuflow.execute.limits import UNLIMITED, ProgramFailedError, limited
from npuflow.execute.sandbox import run_in_child
from npuflow.importing.lowering import FROM_ONNX, lower
from npuflow.importing.onnx_graphs import helpers, named

Lowering = Callable[[Any], ir.Module]


def lowered_apart(model: Any, lowering: Lowering, path: str) -> ir.Module:  # noqa: ANN401  (onnx has no types)
    """What a lowering makes of a model, in another process, as its assertions end the one they are in.

    Raises what it raises; where it crashes, an InputError that names the first node on which it does so alone.
    """
    load_onnx_importer()  # a fork must not load what isn't loaded yet
    context = new_torch_context()
    lower(ir.Module.parse("module {}", context), FROM_ONNX)  # passes know dialects of theirs, which are loaded by that
    try:
        return ir.Module.parse(_bytecode(model, lowering), context)
    except ProgramFailedError as error:
        found = next((node for node, alone in _each_alone(model) if _crashes(alone, lowering)), None)
        where = "" if found is None else f" on {named(found)}"
        hint = "write that part of the network in another way"
        raise InputError(with_hint(f"'{path}' cannot be imported: torch-mlir crashes{where}", hint)) from error


def _bytecode(model: Any, lowering: Lowering) -> bytes:  # noqa: ANN401
    def action() -> bytes:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a stack of calls in torch-mlir tells nobody anything
        written = BytesIO()
        lowering(model).operation.write_bytecode(written)
        return written.getvalue()

    with limited(UNLIMITED):
        return run_in_child(action, "importing a model")


def _crashes(model: Any, lowering: Lowering) -> bool:  # noqa: ANN401
    try:
        _bytecode(model, lowering)
    except ProgramFailedError:
        return True
    except NpuflowError:
        pass
    return False


def _each_alone(model: Any) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401
    """Each node, and a model of it and the constants that it reads."""
    graph = model.graph
    held = {each.name: each for each in graph.initializer}
    made = {name: node for node in graph.node if node.op_type == "Constant" for name in node.output}
    types = {each.name: each for each in (*graph.input, *graph.value_info, *graph.output)}
    for node in graph.node:
        read = dict.fromkeys(name for name in node.input if name)
        nodes = [made[name] for name in read if name in made]
        ends = [types[name] for name in read if name in types and name not in held and name not in made]
        outs = [types[name] for name in node.output if name in types]
        constants = [held[name] for name in read if name in held]
        alone = helpers().make_graph([*nodes, node], "alone", ends, outs, constants)
        yield node, helpers().make_model(alone, opset_imports=model.opset_import, ir_version=model.ir_version)
