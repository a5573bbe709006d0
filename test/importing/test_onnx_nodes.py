"""ONNX models of one node each: what torch-mlir has no op for, or another one than ONNX, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_nodes import drawn, run_both, save_node

import npuflow
from npuflow.core.passes import ops_of
from npuflow.errors import InputError
from npuflow.execute.jit import compile_function
from npuflow.importing.networks import import_network

pytestmark = pytest.mark.usefixtures("_onnx")


@pytest.mark.parametrize("is_causal", [0, 1])
def test_ops_that_are_functions_are_written_out(is_causal: int, tmp_path: Path) -> None:
    """torch-mlir has no attention of ONNX, which is a function of products and a softmax."""
    from onnx import helper

    shapes = [(2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6)]
    node = helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=is_causal)
    path = save_node(tmp_path / "attention.onnx", node, shapes, [4])
    draw = np.random.default_rng(3)
    found, expected = run_both(path, *(draw.standard_normal(shape, dtype=np.float32) for shape in shapes))
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("is_batch_first", [0, 1])
@pytest.mark.parametrize("way", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
def test_recurrent_nodes_go_any_way(kind: str, gates: int, way: str, is_batch_first: int, tmp_path: Path) -> None:
    from onnx import helper

    ways, size = 2 if way == "bidirectional" else 1, 4
    held = {"w": drawn(ways, gates * size, 3), "r": drawn(ways, gates * size, size), "b": drawn(ways, 2 * gates * size)}
    reset = {"linear_before_reset": 1} if kind == "GRU" else {}
    names = ["y", "h", "c"] if kind == "LSTM" else ["y", "h"]
    said = {"hidden_size": size, "direction": way, "layout": is_batch_first, **reset}
    node = helper.make_node(kind, ["x", *held], names, **said)
    path = save_node(tmp_path / "recurrent.onnx", node, [(2, 5, 3)], [4, 3, 3][: len(names)], **held)
    found, expected = run_both(path, drawn(2, 5, 3))
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("groups", "shape", "weights", "said"),
    [
        (2, (1, 4, 5, 6), (4, 3, 3, 4), {"strides": [2, 3], "pads": [1, 1, 1, 1], "output_padding": [1, 2]}),
        (4, (2, 4, 7), (4, 1, 5), {"strides": [2], "pads": [1, 1]}),
        (2, (1, 4, 3, 4, 3), (4, 2, 2, 3, 2), {"dilations": [1, 2, 1], "pads": [0, 2, 0, 0, 2, 0]}),
        (2, (1, 4, 5), (4, 3, 1), {"strides": [3]}),
        (2, (1, 4, 5), (4, 3, 2), {"pads": [2, 2]}),
    ],
)
def test_transposed_convolutions_come_in_groups(
    groups: int, shape: tuple[int, ...], weights: tuple[int, ...], said: dict[str, list[int]], tmp_path: Path
) -> None:
    import torch
    from onnx import helper

    dims, x, w, b = len(shape) - 2, drawn(*shape), drawn(*weights), drawn(groups * weights[1])
    node = helper.make_node("ConvTranspose", ["x", "w", "b"], ["y"], group=groups, **said)
    module = import_network(save_node(tmp_path / "conv.onnx", node, [shape], [dims + 2], w=w, b=b))
    (found,) = compile_function(module.operation, "one").run([x]).results
    convolve = getattr(torch.nn.functional, f"conv_transpose{dims}d")
    steps, pads, apart, more = (said.get(name) for name in ("strides", "pads", "dilations", "output_padding"))
    given = (torch.from_numpy(each) for each in (x, w, b))
    expected = convolve(*given, steps or 1, pads[:dims] if pads else 0, more or 0, groups, apart or 1)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("said", "sizes"),
    [
        ({"auto_pad": "SAME_UPPER", "strides": [2, 2]}, (10, 12)),
        ({"auto_pad": "SAME_LOWER", "strides": [2, 3], "dilations": [1, 2]}, (10, 18)),
        ({"output_shape": [11, 14], "strides": [2, 2]}, (11, 14)),
        ({"pads": [0, 1, 1, 0]}, (6, 7)),
    ],
)
def test_transposed_convolutions_are_padded_unevenly(
    said: dict[str, Any], sizes: tuple[int, int], tmp_path: Path
) -> None:
    from onnx import helper

    node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], **said)
    path = save_node(tmp_path / "conv.onnx", node, [(1, 2, 5, 6)], [4], w=drawn(2, 3, 3, 3))
    (found,), (expected,) = run_both(path, drawn(1, 2, 5, 6))
    assert found.shape == (1, 3, *sizes)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("zero", [{}, {"z": np.uint8(3)}])
def test_convolutions_of_bytes_are_padded_with_what_is_zero(zero: dict[str, Any], tmp_path: Path) -> None:
    from onnx import helper

    draw = np.random.default_rng(5)
    held = {"w": draw.integers(0, 255, (2, 1, 3, 3), dtype=np.uint8), **zero}
    node = helper.make_node("ConvInteger", ["x", *held], ["y"], pads=[1, 0, 2, 1])
    path = save_node(tmp_path / "conv.onnx", node, [(1, 1, 5, 6)], [4], "UINT8 INT32", **held)
    (found,), (expected,) = run_both(path, draw.integers(0, 255, (1, 1, 5, 6), dtype=np.uint8))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shapes", [((2, 4, 8), (2, 8, 5)), ((2, 4, 8), (8, 5)), ((2, 3, 4, 8), (2, 3, 8, 5))])
def test_products_of_batches_of_bytes_keep_zero_points(
    shapes: tuple[tuple[int, ...], tuple[int, ...]], tmp_path: Path
) -> None:
    from onnx import helper

    draw = np.random.default_rng(4)
    a, b = (draw.integers(-99, 99, shape, dtype=np.int8) for shape in shapes)
    scales = {"sa": np.float32(0.02), "za": np.int8(3), "sb": np.float32(0.03), "zb": np.int8(-7)}
    held = {**scales, "sy": np.float32(0.5), "zy": np.int8(2)}
    node = helper.make_node("QLinearMatMul", ["a", "sa", "za", "b", "sb", "zb", "sy", "zy"], ["y"])
    path = save_node(tmp_path / "product.onnx", node, [*shapes], [len(shapes[0])], "INT8", **held)
    (found,), (expected,) = run_both(path, a, b)
    # Which way a half is rounded depends on how scales are multiplied.
    np.testing.assert_allclose(found.astype(int), expected.astype(int), atol=1)


@pytest.mark.parametrize(
    ("starts", "ends", "dims", "steps"),
    [([6, 5, 3], [0, 0, 0], [0, 1, 2], [-1, -3, -2]), ([99], [1], [1], [-2]), ([-1], [-99], [-1], [-1])],
)
def test_slices_backwards_begin_at_the_last_element(
    starts: list[int], ends: list[int], dims: list[int], steps: list[int], tmp_path: Path
) -> None:
    from onnx import helper

    held = {name: np.array(each) for name, each in zip("sedt", (starts, ends, dims, steps), strict=True)}
    path = save_node(tmp_path / "slice.onnx", helper.make_node("Slice", ["x", *held], ["y"]), [(6, 5, 4)], [3], **held)
    (found,), (expected,) = run_both(path, drawn(6, 5, 4))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("is_aligned", [0, 1])
@pytest.mark.parametrize("outside", ["zeros", "border"])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_images_are_sampled_outside_as_well(mode: str, outside: str, is_aligned: int, tmp_path: Path) -> None:
    import torch
    from onnx import helper

    x, points = drawn(2, 3, 5, 8), 1.5 * drawn(2, 4, 3, 2)
    points[:, 0] = 0.0  # between two pixels, of which the even one is nearer
    said = {"mode": mode, "padding_mode": outside, "align_corners": is_aligned}
    node = helper.make_node("GridSample", ["x", "p"], ["y"], **said)
    module = import_network(save_node(tmp_path / "sample.onnx", node, [x.shape, points.shape], [4]))
    (found,) = compile_function(module.operation, "one").run([x, points]).results
    ways = {"linear": "bilinear", "nearest": "nearest"}
    sample = torch.nn.functional.grid_sample
    expected = sample(torch.from_numpy(x), torch.from_numpy(points), ways[mode], outside, bool(is_aligned))
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("axis", [-1, 1])
def test_rms_norms_are_along_the_last_dimensions(axis: int, tmp_path: Path) -> None:
    from onnx import helper

    node = helper.make_node("RMSNormalization", ["x", "w"], ["y"], axis=axis, epsilon=0.01)
    scale = drawn(*(3, 4, 5)[axis:])
    (found,), (expected,) = run_both(save_node(tmp_path / "norm.onnx", node, [(3, 4, 5)], [3], w=scale), drawn(3, 4, 5))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "names", "said", "why"),
    [
        ("LSTM", "xwrb   p", {}, "'onnx.LSTM' with peepholes cannot be imported; hint: leave its input P out"),
        ("GRU", "xwrbl", {}, "'onnx.GRU' with sequences of several lengths cannot be imported; hint: mask"),
        ("RNN", "xwrb", {"clip": 0.5}, "'onnx.RNN' with a clip cannot be imported; hint: leave it out"),
    ],
)
def test_what_would_be_left_out_is_refused(
    kind: str, names: str, said: dict[str, float], why: str, tmp_path: Path
) -> None:
    from onnx import helper

    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    held = {"w": drawn(1, gates * 4, 3), "r": drawn(1, gates * 4, 4), "b": drawn(1, gates * 8), "p": drawn(1, 12)}
    held["l"] = np.array([5, 4], np.int32)
    node = helper.make_node(kind, [name.strip() for name in names], ["y"], hidden_size=4, **said)
    used = {name: value for name, value in held.items() if name in names}
    with pytest.raises(InputError, match=why):
        import_network(save_node(tmp_path / "recurrent.onnx", node, [(5, 2, 3)], [4], **used))


def test_sequences_of_all_steps_have_one_length(tmp_path: Path) -> None:
    from onnx import helper

    held = {"w": drawn(1, 4, 3), "r": drawn(1, 4, 4), "b": drawn(1, 8), "l": np.array([5, 5], np.int32)}
    node = helper.make_node("RNN", ["x", *held], ["y"], hidden_size=4)
    (found,), (expected,) = run_both(
        save_node(tmp_path / "recurrent.onnx", node, [(5, 2, 3)], [4], **held), drawn(5, 2, 3)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_steps_of_recurrent_nodes_run_on_the_array(tmp_path: Path) -> None:
    """torch-mlir makes a loop of them, which no part of a function is in."""
    from onnx import helper

    held = {"w": drawn(1, 4, 3), "r": drawn(1, 4, 4), "b": drawn(1, 8)}
    node = helper.make_node("RNN", ["x", *held], ["y"], hidden_size=4, direction="reverse")
    module = import_network(save_node(tmp_path / "recurrent.onnx", node, [(3, 2, 3)], [4], **held))
    assert not ops_of(module.operation, "scf.for")
    assert npuflow.compile(module, device="toy").run().sequences[0].verified.status.value == "ok"


def test_images_are_sampled_on_the_array(tmp_path: Path) -> None:
    """Both coordinates of a point are read at known places of a dimension."""
    from onnx import helper

    node = helper.make_node("GridSample", ["x", "p"], ["y"])
    module = import_network(save_node(tmp_path / "sample.onnx", node, [(1, 2, 3, 4), (1, 2, 3, 2)], [4]))
    assert npuflow.compile(module, device="toy").run().sequences[0].verified.status.value == "ok"
