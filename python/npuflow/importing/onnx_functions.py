"""Ops of ONNX that are functions of others: written out where torch-mlir has no op of their own."""

from __future__ import annotations

import importlib
from collections.abc import Collection
from typing import Any

from npuflow.importing.packages import load_package

# torch-mlir has a name for this one, and nothing behind it.
WITHOUT_LOWERING = ("RotaryEmbedding",)
_OF_ONNX = "onnx."


def with_functions_written_out(model: Any, names: Collection[str]) -> Any:  # noqa: ANN401  (onnx has no types)
    """The model with these ops (`onnx.Attention`) as what ONNX says they compute; None where it says it of none."""
    inliner: Any = importlib.import_module("onnx.inliner")
    version = next((one.version for one in model.opset_import if not one.domain), 1)
    functions = [("", kind) for name in names if _is_function(kind := name.removeprefix(_OF_ONNX), version)]
    used = {node.op_type for node in model.graph.node if not node.domain}
    functions = [each for each in functions if each[1] in used]
    if not functions:
        return None
    return inliner.inline_selected_functions(model, functions, inline_schema_functions=True)


def _is_function(kind: str, version: int) -> bool:
    onnx = load_package("onnx", "importing an ONNX model")
    if not onnx.defs.has(kind, version):
        return False
    schema = onnx.defs.get_schema(kind, version, "")
    return bool(schema.has_function or schema.has_context_dependent_function)
