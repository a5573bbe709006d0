"""ONNX models on which torch-mlir ends the process: an error names the node."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from npuflow.bindings import ir, new_torch_context
from npuflow.errors import InputError
from npuflow.importing.networks import import_network
from npuflow.importing.onnx_crashes import lowered_apart

pytestmark = pytest.mark.usefixtures("_onnx")


def crash_on_tanh(model: Any) -> ir.Module:  # noqa: ANN401
    if any(node.op_type == "Tanh" for node in model.graph.node):
        os.kill(os.getpid(), signal.SIGABRT)
    return ir.Module.parse("module {}", new_torch_context())


def relu_and(last: str) -> Any:  # noqa: ANN401
    from onnx import TensorProto, helper, shape_inference

    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node(last, ["y"], ["z"], name="the last")]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "z")]
    return shape_inference.infer_shapes(helper.make_model(helper.make_graph(nodes, "two", ends[:1], ends[1:])))


def test_the_node_is_named() -> None:
    why = r"'m' cannot be imported: torch-mlir crashes on node 'the last' \('onnx.Tanh', which makes 'z'\); hint: write"
    with pytest.raises(InputError, match=why):
        lowered_apart(relu_and("Tanh"), crash_on_tanh, "m")
    assert str(lowered_apart(relu_and("Relu"), crash_on_tanh, "m")).strip() == "module {\n}"


def test_a_type_on_which_torch_mlir_ends_the_process(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from onnx import TensorProto, helper, save

    node = helper.make_node("CastLike", ["x", "t"], ["y"])
    ends = [helper.make_tensor_value_info(name, TensorProto.INT4, [4]) for name in "ty"]
    graph = helper.make_graph(
        [node], "one", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4]), *ends[:1]], ends[1:]
    )
    path = str(tmp_path / "cast.onnx")
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=10), path)
    with pytest.raises(InputError, match=r"torch-mlir crashes on node \('onnx.CastLike', which makes 'y'\)"):
        import_network(path)
    assert not capfd.readouterr().err
