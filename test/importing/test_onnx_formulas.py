"""ONNX models of one node whose numbers torch-mlir has otherwise than ONNX, or on which it ends the process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_nodes import drawn, run_both, save_node

pytestmark = pytest.mark.usefixtures("_onnx")


def agree(path: str, *given: Any, rtol: float = 1e-5) -> None:  # noqa: ANN401
    for found, expected in zip(*run_both(path, *given), strict=True):
        assert found.shape == np.shape(expected)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-6)


def test_gelu_by_tanh(tmp_path: Path) -> None:
    from onnx import helper

    node = helper.make_node("Gelu", ["x"], ["y"], approximate="tanh")
    agree(save_node(tmp_path / "gelu.onnx", node, [(9,)], [1]), np.linspace(-4, 4, 9, dtype=np.float32))


@pytest.mark.parametrize("p", [1, 2])
def test_norms_of_zeros(p: int, tmp_path: Path) -> None:
    from onnx import helper

    x = abs(drawn(3, 4))  # onnx adds up numbers with their signs
    x[1] = 0
    path = save_node(tmp_path / "norm.onnx", helper.make_node("LpNormalization", ["x"], ["y"], p=p), [(3, 4)], [2])
    with np.errstate(invalid="ignore"):  # onnx divides all the same
        agree(path, x)


def test_determinants_take_rows_in_any_order(tmp_path: Path) -> None:
    from onnx import helper

    x = np.array([[[0, 1, 2], [3, 0, 5], [1, 1, 0]], [[1, 2, 3], [2, 4, 6], [1, 0, 1]], np.eye(3)[[1, 0, 2]]])
    path = save_node(tmp_path / "det.onnx", helper.make_node("Det", ["x"], ["y"]), [(3, 3, 3)], [1])
    (found,), _ = run_both(path, x.astype(np.float32))
    np.testing.assert_allclose(found, [11, 0, -1], atol=1e-5)


@pytest.mark.parametrize("axis", [0, -1])
def test_bytes_without_a_sign_have_zero_points_for_each_channel(axis: int, tmp_path: Path) -> None:
    from onnx import helper

    held = {"s": np.array([0.5, 2, 3], np.float32), "z": np.array([0, 130, 255], np.uint8)}
    node = helper.make_node("DequantizeLinear", ["x", *held], ["y"], axis=axis)
    path = save_node(tmp_path / "bytes.onnx", node, [(3, 3)], [2], "UINT8 FLOAT", **held)
    x = np.array([[0, 1, 127], [128, 130, 200], [250, 255, 3]], np.uint8)
    agree(path, x)


@pytest.mark.parametrize("shapes", [((2, 3, 4, 5), (5,)), ((5,), (2, 3, 5, 4)), ((3, 5), (5,)), ((5,), (5,))])
def test_products_with_a_row(shapes: tuple[tuple[int, ...], tuple[int, ...]], tmp_path: Path) -> None:
    from onnx import helper

    rank = max(map(len, shapes)) - 1
    path = save_node(tmp_path / "product.onnx", helper.make_node("MatMul", ["a", "b"], ["y"]), [*shapes], [rank])
    agree(path, *(drawn(*shape) for shape in shapes))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [("->", [()]), (",", [(), ()]), ("ij,", [(2, 3), ()]), (",i->i", [(), (4,)]), ("ba,,a", [(2, 3), (), (3,)])],
)
def test_sums_with_scalars(equation: str, shapes: list[tuple[int, ...]], tmp_path: Path) -> None:
    from onnx import helper

    given = [drawn(*shape) for shape in shapes]
    expected = np.einsum(equation, *given)
    names = [f"x{number}" for number in range(len(shapes))]
    node = helper.make_node("Einsum", names, ["y"], equation=equation)
    agree(save_node(tmp_path / "sum.onnx", node, shapes, [expected.ndim]), *given)


@pytest.mark.parametrize(
    ("kind", "shape", "held", "said"),
    [
        ("Reshape", (0, 3, 4), {"s": np.array([3, 4, 0])}, {"allowzero": 1}),
        ("Softmax", (2, 0), {}, {}),
        ("MatMul", (0, 3), {"w": np.ones((3, 2), np.float32)}, {}),
        ("LayerNormalization", (0, 3), {"w": np.ones(3, np.float32)}, {}),
    ],
)
def test_nodes_that_make_nothing(
    kind: str, shape: tuple[int, ...], held: dict[str, Any], said: dict[str, int], tmp_path: Path
) -> None:
    from onnx import helper

    node = helper.make_node(kind, ["x", *held], ["y"], **said)
    rank = 3 if kind == "Reshape" else 2
    agree(save_node(tmp_path / "nothing.onnx", node, [shape], [rank], **held), np.zeros(shape, np.float32))


def test_functions_whose_inputs_are_left_out(tmp_path: Path) -> None:
    """ONNX's own inliner of functions doesn't know what type an input has that isn't there."""
    from onnx import helper

    held = {"k": drawn(2, 2, 3, 8), "v": drawn(2, 2, 3, 8), "a": drawn(2, 2, 5, 8), "b": drawn(2, 2, 5, 8)}
    node = helper.make_node("Attention", ["q", "k", "v", "", "a", "b"], ["y", "c", "d"], scale=0.5)
    agree(save_node(tmp_path / "attention.onnx", node, [(2, 2, 3, 8)], [4, 4, 4], **held), drawn(2, 2, 3, 8), rtol=1e-4)


def test_weights_of_bf16(tmp_path: Path) -> None:
    import ml_dtypes
    from onnx import helper

    held = {"w": drawn(64, 32).astype(ml_dtypes.bfloat16)}
    node = helper.make_node("Gemm", ["x", "w"], ["y"], transA=1)
    path = save_node(tmp_path / "weights.onnx", node, [(64, 4)], [2], "BFLOAT16", **held)
    x = drawn(64, 4).astype(ml_dtypes.bfloat16)
    (found,), _ = run_both(path, x)
    np.testing.assert_allclose(found.astype(float), x.astype(float).T @ held["w"].astype(float), rtol=0.05, atol=0.3)


def test_losses_are_means_by_weights(tmp_path: Path) -> None:
    from onnx import helper

    held = {"t": np.array([0, 2, 1]), "w": np.array([0.5, 2, 3], np.float32)}
    node = helper.make_node("SoftmaxCrossEntropyLoss", ["x", *held], ["y"])
    agree(save_node(tmp_path / "loss.onnx", node, [(3, 3)], [0], **held), drawn(3, 3), rtol=1e-4)
