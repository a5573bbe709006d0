"""ONNX models that scale images, as onnx itself does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx_nodes import drawn, run_both, save_node

import npuflow
from npuflow.errors import InputError
from npuflow.importing.networks import import_network

pytestmark = pytest.mark.usefixtures("_onnx")


def saved(path: Path, shape: tuple[int, ...], said: dict[str, Any], **numbers: list[float]) -> str:
    from onnx import helper

    held = {name: np.array(each, np.int64 if name == "sizes" else np.float32) for name, each in numbers.items() if each}
    names = ["x", *(name if name in held else "" for name in ("roi", "scales", "sizes"))]
    return save_node(path / "resize.onnx", helper.make_node("Resize", names, ["y"], **said), [shape], [4], **held)


@pytest.mark.parametrize("scales", [[1, 1, 0.6, 0.85], [1, 1, 2.3, 1.7], [1, 1, 0.2, 3]])
@pytest.mark.parametrize("way", ["align_corners", "half_pixel", "half_pixel_symmetric", "asymmetric"])
@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
def test_factors_that_make_parts_of_pixels(mode: str, way: str, scales: list[float], tmp_path: Path) -> None:
    said = {"mode": mode, "coordinate_transformation_mode": way}
    (found,), (expected,) = run_both(saved(tmp_path, (1, 2, 5, 7), said, scales=scales), drawn(1, 2, 5, 7))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "said",
    [
        {"mode": "linear", "antialias": 1},
        {"mode": "cubic", "antialias": 1, "cubic_coeff_a": -0.5},
        {"mode": "cubic", "exclude_outside": 1},
        {"mode": "nearest", "keep_aspect_ratio_policy": "not_larger"},
        {"mode": "linear", "keep_aspect_ratio_policy": "not_smaller"},
        {"mode": "nearest", "nearest_mode": "round_prefer_ceil", "coordinate_transformation_mode": "align_corners"},
    ],
)
@pytest.mark.parametrize("sizes", [[3, 4], [9, 8]])
def test_all_that_onnx_knows_of_some_dimensions(said: dict[str, Any], sizes: list[float], tmp_path: Path) -> None:
    path = saved(tmp_path, (1, 2, 6, 9), {"axes": [2, 3], **said}, sizes=sizes)
    (found,), (expected,) = run_both(path, drawn(1, 2, 6, 9))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_parts_of_an_image_with_another_number_around(tmp_path: Path) -> None:
    said = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 9.0}
    path = saved(tmp_path, (1, 1, 4, 4), said, roi=[0, 0, 0.4, -0.6, 1, 1, 1.2, 0.5], sizes=[1, 1, 3, 5])
    (found,), (expected,) = run_both(path, drawn(1, 1, 4, 4))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_an_infinite_pixel_is_read_where_it_is_alone(tmp_path: Path) -> None:
    x = drawn(1, 1, 2, 4)
    x[..., 3] = np.inf
    (found,), _ = run_both(saved(tmp_path, x.shape, {"mode": "linear"}, scales=[1, 1, 1, 2]), x)
    assert np.isfinite(found[..., :5]).all()


def test_factors_that_are_computed_are_refused_where_they_matter(tmp_path: Path) -> None:
    from onnx import TensorProto, helper, save

    node = helper.make_node("Resize", ["x", "", "s"], ["y"], coordinate_transformation_mode="align_corners")
    names = {"x": [1, 1, 4, 4], "s": [4], "y": [1, 1, 6, 6]}
    x, s, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in names.items())
    graph = helper.make_graph([node], "one", [x, s], [y])
    path = str(tmp_path / "resize.onnx")
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10), path)
    with pytest.raises(InputError, match=r"'onnx.Resize' with align_corners by factors that are computed"):
        import_network(path)


def test_images_are_scaled_on_the_array(tmp_path: Path) -> None:
    path = saved(tmp_path, (1, 2, 4, 6), {"mode": "linear"}, scales=[1, 1, 2, 1.5])
    assert npuflow.compile(import_network(path), device="toy").run().sequences[0].verified.status.value == "ok"
