"""ONNX models, made here node by node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import npuflow
from npuflow.core.passes import ops_of
from npuflow.errors import InputError, UsageError
from npuflow.importing.input_types import read_input_type
from npuflow.importing.networks import import_network

pytestmark = pytest.mark.usefixtures("_onnx")

WEIGHTS = np.random.default_rng(0).standard_normal((24, 16), dtype=np.float32)
BIAS = np.random.default_rng(1).standard_normal(16, dtype=np.float32)


def save_linear(path: Path, batch: int | str, last: str = "Relu") -> str:
    """relu(x @ WEIGHTS + BIAS)."""
    from onnx import TensorProto, checker, helper, numpy_helper, save

    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"]), helper.make_node(last, ["y"], ["z"])]
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [batch, size]) for name, size in (("x", 24), ("z", 16))
    ]
    held = [numpy_helper.from_array(WEIGHTS, "w"), numpy_helper.from_array(BIAS, "b")]
    graph = helper.make_graph(nodes, "linear", ends[:1], ends[1:], held)
    model: Any = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    if last == "Relu":
        checker.check_model(model)
    save(model, str(path))
    return str(path)


def test_a_model_computes_what_it_says(tmp_path: Path) -> None:
    module = import_network(save_linear(tmp_path / "linear.onnx", 4))
    given = np.random.default_rng(2).standard_normal((4, 24), dtype=np.float32)
    (found,) = npuflow.compile(module, device="toy")["linear"].execute(given)
    np.testing.assert_allclose(found, np.maximum(given @ WEIGHTS + BIAS, 0), rtol=1e-5, atol=1e-5)


def test_large_weights_are_resources(tmp_path: Path) -> None:
    module = import_network(save_linear(tmp_path / "linear.onnx", 4))
    values = [str(op.attributes["value"]) for op in ops_of(module.operation, "arith.constant")]
    assert [value for value in values if value.startswith("dense_resource")] == [
        "dense_resource<weight> : tensor<24x16xf32>"
    ]
    assert WEIGHTS.tobytes().hex().upper() in module.operation.get_asm()


def test_sizes_that_a_model_leaves_open_can_be_given(tmp_path: Path) -> None:
    path = save_linear(tmp_path / "linear.onnx", "batch")
    module = import_network(path, [read_input_type("6x24xf32")])
    (function,) = ops_of(module.operation, "func.func")
    assert str(function.attributes["function_type"].value) == "(tensor<6x24xf32>) -> tensor<6x16xf32>"


@pytest.mark.parametrize(
    ("types", "said"),
    [
        (["4x24xf32", "1xf32"], "the model has 1 inputs, 2 are given"),
        (["4xf32"], "input 'x' has 2 dimensions, not 4xf32"),
        (["4x25xf32"], "input 'x' has a size of 24, not 25"),
    ],
)
def test_types_that_do_not_fit_are_refused(types: list[str], said: str, tmp_path: Path) -> None:
    path = save_linear(tmp_path / "linear.onnx", "batch")
    with pytest.raises(UsageError, match=said):
        import_network(path, [read_input_type(text) for text in types])


def test_an_op_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    path = save_linear(tmp_path / "linear.onnx", 4, last="Mystery")
    with pytest.raises(InputError, match=r"linear\.onnx' cannot be imported: .*Mystery"):
        import_network(path)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.onnx"
    file.write_text("nothing of the kind")
    with pytest.raises(InputError, match=r"text\.onnx' cannot be imported"):
        import_network(str(file))
