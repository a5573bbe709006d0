"""Ops of ONNX that are functions of others: written out where torch-mlir has no op of their own."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Mapping
from typing import Any

from npuflow.importing.onnx_graphs import Graph, helpers
from npuflow.importing.packages import load_package

# torch-mlir has a name for the first, and nothing behind it; of losses it has few, and divides by a sum of no weights.
WITHOUT_LOWERING = ("RotaryEmbedding", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
_OF_ONNX = "onnx."
_DOMAIN = "npuflow.functions"


def with_functions_written_out(model: Any, names: Collection[str]) -> Any:  # noqa: ANN401  (onnx has no types)
    """The model with these ops (`onnx.Attention`) as what ONNX says they compute; None where it says it of none.

    Shapes have been inferred. ONNX's own inliner of such ops fails where an optional input is left out, so that each
    is a function of the model first.
    """
    written, kinds = type(model)(), {name.removeprefix(_OF_ONNX) for name in names}
    written.CopyFrom(model)
    types = Graph(written).types
    for number, node in enumerate(written.graph.node):
        if node.domain or node.op_type not in kinds:
            continue
        function = _function_of(node, types, Graph(written).version)
        if function is not None:
            function.domain, function.name = _DOMAIN, f"{node.op_type}_{number}"
            node.domain, node.op_type = function.domain, function.name
            written.functions.append(function)
    if len(written.functions) == len(model.functions):
        return None
    written.opset_import.append(helpers().make_opsetid(_DOMAIN, 1))
    inliner: Any = importlib.import_module("onnx.inliner")
    return inliner.inline_local_functions(written)


def _function_of(node: Any, types: Mapping[str, Any], version: int) -> Any:  # noqa: ANN401
    """What a node computes, which may depend on its attributes and its inputs' types; None if ONNX doesn't say it."""
    onnx = load_package("onnx", "importing an ONNX model")
    if not onnx.defs.has(node.op_type, version):
        return None
    schema, function = onnx.defs.get_schema(node.op_type, version, ""), onnx.FunctionProto()
    has = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in has and attribute.default_value.name:
            node.attribute.append(attribute.default_value)
    of_types = [each for each in schema.context_dependent_function_opset_versions if each <= version]
    of_all = [each for each in schema.function_opset_versions if each <= version]
    if of_types:
        given = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
        made = schema.get_context_dependent_function_with_opset_version(max(of_types), node.SerializeToString(), given)
    elif of_all:
        made = schema.get_function_with_opset_version(max(of_all))
    else:
        return None
    function.ParseFromString(made)
    for needed in function.opset_import:
        needed.version = needed.version if needed.domain else version
    return function
