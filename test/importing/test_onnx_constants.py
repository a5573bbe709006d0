"""What ONNX models compute of shapes and constants is known before torch-mlir reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_nodes import drawn, run_both, save_node

from npuflow.importing.onnx_constants import work_out_constants

pytestmark = pytest.mark.usefixtures("_onnx")


def model_of(text: str) -> Any:  # noqa: ANN401
    from onnx import parser, shape_inference

    return shape_inference.infer_shapes(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]>\n{text}'))


def test_sizes_are_worked_out() -> None:
    model = model_of("""
        m (float[2,3,8] x, float n) => (float[2,24] y, float z) <int64[1] head = {2}, float big = {1}> {
            shape = Shape <start = 1> (x)
            size = ReduceProd <keepdims = 1> (shape)
            sizes = Concat <axis = 0> (head, size)
            y = Reshape (x, sizes)
            z = Mul (n, big)
        }""")
    assert work_out_constants(model)
    assert [node.op_type for node in model.graph.node] == ["Reshape", "Mul"]
    (sizes,) = (one for one in model.graph.initializer if one.name == "sizes")
    assert list(np.frombuffer(sizes.raw_data, np.int64)) == [2, 24]
    assert not work_out_constants(model)


def test_one_branch_is_left_where_it_is_known_which() -> None:
    model = model_of("""
        m (float[2,3] x) => (float[N] y) <int64 three = {3}> {
            rank = Size (x)
            more = Greater (rank, three)
            y = If (more) <
                then_branch = many () => (float[N] y1) { two = Constant <value_ints = [-1]> () y1 = Reshape (x, two) },
                else_branch = few () => (float[N] y2) { y2 = Sin (x) }
            >
        }""")
    assert work_out_constants(model)
    assert [node.op_type for node in model.graph.node] == ["Constant", "Reshape", "Identity"]


def test_branches_inside_of_a_branch_read_its_values() -> None:
    from onnx import checker

    model = model_of("""
        m (float[2] x, bool c) => (float[2] y) <bool yes = {1}> {
            a = Sin (x)
            y = If (yes) <
                then_branch = outer () => (float[2] y1) {
                    b = Cos (a)
                    y1 = If (c) <
                        then_branch = one () => (float[2] y2) { y2 = Add (a, b) },
                        else_branch = other () => (float[2] b) { b = Tan (x) }
                    >
                },
                else_branch = few () => (float[2] y3) { y3 = Neg (a) }
            >
        }""")
    assert work_out_constants(model)
    checker.check_model(model, full_check=True)
    inner = next(node for node in model.graph.node if node.op_type == "If")
    branches = {one.name: [list(node.input) for node in one.g.node] for one in inner.attribute}
    assert branches == {"then_branch": [["a", "y/b"]], "else_branch": [["x"]]}


def test_what_is_random_or_large_stays() -> None:
    model = model_of("""
        m (float[2] x) => (float[2,2000] y) <int64[2] sizes = {2, 2000}, float[1] low = {0}> {
            zeros = ConstantOfShape (sizes)
            any = RandomUniformLike (low)
            sum = Add (zeros, any)
            y = Identity (sum)
        }""")
    assert not work_out_constants(model)


@pytest.mark.parametrize("interleaved", [0, 1])
def test_positions_are_rotated_whole(interleaved: int, tmp_path: Path) -> None:
    """What is split off is nothing, by sizes that are computed of shapes."""
    from onnx import helper

    node = helper.make_node("RotaryEmbedding", ["x", "c", "s"], ["y"], interleaved=interleaved)
    held = {"c": drawn(2, 3, 4), "s": drawn(2, 3, 4)}
    path = save_node(tmp_path / "rotary.onnx", node, [(2, 5, 3, 8)], [4], **held)
    (found,), (expected,) = run_both(path, drawn(2, 5, 3, 8))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_grids_are_of_sizes_that_are_known(tmp_path: Path) -> None:
    from onnx import helper

    node = helper.make_node("AffineGrid", ["x", "sizes"], ["y"], align_corners=1)
    path = save_node(tmp_path / "grid.onnx", node, [(2, 2, 3)], [4], sizes=np.array([2, 3, 4, 5]))
    (found,), (expected,) = run_both(path, drawn(2, 2, 3))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
