"""ONNX models on which torch-mlir ends the process: an error names the node."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_nodes import save_node

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
    from onnx import helper

    node = helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
    held = {"s": np.float32(0.5), "z": np.uint16(3)}
    path = save_node(tmp_path / "quantize.onnx", node, [(4,)], [1], "FLOAT UINT16", **held)
    with pytest.raises(InputError, match=r"torch-mlir crashes on node \('onnx.QuantizeLinear', which makes 'y'\)"):
        import_network(path)
    assert not capfd.readouterr().err


@pytest.mark.parametrize(
    ("kind", "domain", "why"),
    [
        ("FLOAT4E2M1", "", r"input 'x' is of FLOAT4E2M1, which cannot be imported; hint: types are BOOL, INT8"),
        ("STRING", "", r"input 'x' is of STRING, which"),
        ("FLOAT", "ai.onnx.ml", r"node \('onnx.Binarizer', which makes 'y'\) is of the domain 'ai.onnx.ml', which"),
    ],
)
def test_types_and_domains_that_nothing_is_imported_of(kind: str, domain: str, why: str, tmp_path: Path) -> None:
    from onnx import TensorProto, helper, save

    node = helper.make_node("Binarizer" if domain else "Identity", ["x"], ["y"], domain=domain)
    x, y = (helper.make_tensor_value_info(name, TensorProto.DataType.Value(kind), [4]) for name in "xy")
    path = str(tmp_path / "one.onnx")
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("ai.onnx.ml", 1)]
    save(helper.make_model(helper.make_graph([node], "one", [x], [y]), opset_imports=opsets, ir_version=10), path)
    with pytest.raises(InputError, match=why):
        import_network(path)


def test_what_torch_mlir_cannot_lower_is_named_in_short(tmp_path: Path) -> None:
    from onnx import TensorProto, helper, save

    node = helper.make_node("CumSum", ["x", "axis"], ["y"])
    axis = helper.make_tensor_value_info("axis", TensorProto.INT64, [])
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    path = str(tmp_path / "one.onnx")
    save(helper.make_model(helper.make_graph([node], "one", [x, axis], [y]), ir_version=10), path)
    with pytest.raises(InputError, match=r"torch-mlir cannot lower 'aten.cumsum'; hint"):
        import_network(path)


def test_what_is_random_is_an_input(tmp_path: Path) -> None:
    from onnx import helper

    path = save_node(tmp_path / "random.onnx", helper.make_node("Bernoulli", ["x"], ["y"]), [(4,)], [1])
    with pytest.raises(InputError, match=r"node \('onnx.Bernoulli', which makes 'y'\) is random, which"):
        import_network(path)


def test_dropout_that_trains_is_refused(tmp_path: Path) -> None:
    from onnx import helper

    held = {"r": np.float32(0.5), "t": np.bool_(True)}
    path = save_node(tmp_path / "random.onnx", helper.make_node("Dropout", ["x", *held], ["y"]), [(4,)], [1], **held)
    with pytest.raises(InputError, match=r"random.onnx' draws random numbers, which cannot be imported; hint: make"):
        import_network(path)


def test_boxes_of_several_classes_are_refused(tmp_path: Path) -> None:
    from onnx import helper

    held = {"m": np.array([2])}
    node = helper.make_node("NonMaxSuppression", ["b", "s", *held], ["y"])
    path = save_node(tmp_path / "boxes.onnx", node, [(1, 5, 4), (1, 2, 5)], [2], "FLOAT INT64", **held)
    with pytest.raises(InputError, match=r"'onnx.NonMaxSuppression' of several images or classes cannot be imported"):
        import_network(path)


def test_ops_of_mlir_are_not_printed_in_messages(tmp_path: Path) -> None:
    from onnx import helper

    held = {"w": np.ones((1, 1, 2, 2), np.float32), "o": np.zeros((1, 8, 2, 2), np.float32)}
    node = helper.make_node("DeformConv", ["x", *held], ["y"], kernel_shape=[2, 2])
    path = save_node(tmp_path / "deformed.onnx", node, [(1, 1, 3, 3)], [4], **held)
    with pytest.raises(InputError) as raised:
        import_network(path)
    assert "%" not in str(raised.value)
