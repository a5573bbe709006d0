"""ONNX models of one node, and what they compute as npuflow and onnx have it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from npuflow.core.passes import ops_of
from npuflow.execute.jit import compile_function
from npuflow.importing.networks import import_network


def save_node(
    path: Path, node: Any, kinds: list[tuple[int, ...]], ranks: list[int], types: str = "FLOAT", **held: Any  # noqa: ANN401
) -> str:  # fmt: skip
    """A model of one node that reads tensors of these shapes, and constants, and whose results have these ranks.

    `types`: what ONNX calls the type of what it reads and makes, as `UINT8` or, where these differ, `UINT8 FLOAT`.
    """
    from onnx import TensorProto, helper, numpy_helper, save

    given, *made = (TensorProto.DataType.Value(each) for each in types.split())
    names = [name for name in node.input if name and name not in held]
    ends = [helper.make_tensor_value_info(name, given, shape) for name, shape in zip(names, kinds, strict=True)]
    shapes = [[f"{name}{dim}" for dim in range(rank)] for name, rank in zip(node.output, ranks, strict=True)]
    outs = [
        helper.make_tensor_value_info(name, (made or [given])[0], shape)
        for name, shape in zip(node.output, shapes, strict=True)
    ]
    constants = [numpy_helper.from_array(value, name) for name, value in held.items()]
    graph = helper.make_graph([node], "one", ends, outs, constants)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10), str(path))
    return str(path)


def run_both(path: str, *given: Any) -> tuple[list[Any], list[Any]]:  # noqa: ANN401
    """What is imported of a model computes, and what onnx says."""
    from onnx.reference import ReferenceEvaluator

    module = import_network(path)
    (function,) = ops_of(module.operation, "func.func")
    onnx_says = ReferenceEvaluator(path)
    expected = onnx_says.run(None, dict(zip(onnx_says.input_names, given, strict=True)))
    name = str(function.attributes["sym_name"].value)
    compiled = compile_function(module.operation, name)
    # Types without a sign are there as those of the same bits with one.
    bits = [one.view(spec.dtype) for one, spec in zip(given, compiled.signature.inputs, strict=False)]
    return list(compiled.run(bits).results), list(expected)


def drawn(*shape: int) -> Any:  # noqa: ANN401
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32)
