"""Networks of f32 in other types: what they compute then, and what is said of how far off that is."""

from __future__ import annotations

import numpy as np
import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.compiler.conversion import Converted
from npuflow.compiler.layer_errors import deviation
from npuflow.core.passes import ops_of
from npuflow.errors import UsageError
from npuflow.execute.arrays import Array
from npuflow.execute.jit import Executable, compile_function

SAME = "affine_map<(d0, d1) -> (d0, d1)>"
WEIGHTS = np.random.default_rng(5).uniform(-1, 1, (16, 8)).astype(np.float32)

# Two layers with a ReLU between: the first has weights, the second only what is handed over.
NETWORK = f"""
func.func @network(%x: tensor<4x16xf32>, %y: tensor<8x4xf32>) -> tensor<4x4xf32> {{
  %w = arith.constant dense<{WEIGHTS.tolist()}> : tensor<16x8xf32>
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %r = linalg.matmul ins(%x, %w : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z : tensor<4x8xf32>) -> tensor<4x8xf32>
  %h = linalg.max ins(%r, %z : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %e2 = tensor.empty() : tensor<4x4xf32>
  %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = linalg.matmul ins(%h, %y : tensor<4x8xf32>, tensor<8x4xf32>) outs(%z2 : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %s : tensor<4x4xf32>
}}
"""


@pytest.fixture(name="data")
def _data() -> list[Array]:
    generator = np.random.default_rng(7)
    return [generator.uniform(-3, 3, shape).astype(np.float32) for shape in ((4, 16), (8, 4))]


def run(converted: Converted, data: list[Array]) -> Array:
    return compile_function(converted.module.operation, "network").run(data).results[0]


def relu(x: Array) -> Array:
    return np.maximum(x, np.float32(0))


def as_bf16(x: Array) -> Array:
    """Rounded to the nearest, ties to even: 16 of the bits."""
    bits = x.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)


def as_i8(x: Array, scale: Array | float) -> Array:
    return np.asarray(np.clip(np.rint(x / scale), -127, 127))


def test_bf16_rounds_factors_and_what_is_handed_over_and_nothing_else(data: list[Array]) -> None:
    x, y = data
    hidden = as_bf16(relu(as_bf16(x) @ as_bf16(WEIGHTS)))
    found = run(npuflow.convert(NETWORK, "bf16"), data)
    np.testing.assert_allclose(found, hidden @ as_bf16(y), rtol=1e-6, atol=1e-6)
    assert np.abs(found - relu(x @ WEIGHTS) @ y).max() > 1e-3


def test_i8_has_a_scale_for_each_column_of_weights_and_one_of_the_data_for_each_tensor(data: list[Array]) -> None:
    x, y = data
    scale, scales = np.abs(x).max() / 127, np.abs(WEIGHTS).max(axis=0) / 127
    hidden = relu(as_i8(x, scale) @ as_i8(WEIGHTS, scales) * (scale * scales))
    found = run(npuflow.convert(NETWORK, "i8", data), data)
    np.testing.assert_allclose(found, as_bf16(hidden) @ as_bf16(y), rtol=2e-2, atol=2e-2)
    exact = relu(x @ WEIGHTS) @ y
    assert deviation(found, exact).relative < 0.02


def test_data_times_data_stays_bf16_though_a_layer_with_weights_reads_one_of_them(data: list[Array]) -> None:
    x, y = data
    read_twice = NETWORK.replace("ins(%h, %y", "ins(%part, %y").replace(
        "  %e2 =",
        "  %part = tensor.extract_slice %x[0, 0] [4, 8] [1, 1] : tensor<4x16xf32> to tensor<4x8xf32>\n  %e2 =",
    )
    read_twice = read_twice.replace("-> tensor<4x4xf32> {", "-> (tensor<4x4xf32>, tensor<4x8xf32>) {").replace(
        "return %s : tensor<4x4xf32>", "return %s, %h : tensor<4x4xf32>, tensor<4x8xf32>"
    )
    converted = npuflow.convert(read_twice, "i8", data)
    (conversion,) = converted.conversions
    assert [layer.factors for layer in conversion.layers] == ["i8", "bf16"]
    rounded = as_i8(x, np.abs(x).max() / 127) * (np.abs(x).max() / 127)
    np.testing.assert_allclose(run(converted, data), as_bf16(rounded[:, :8]) @ as_bf16(y), rtol=2e-2, atol=2e-2)


def test_what_is_beyond_the_calibrations_range_is_clamped(data: list[Array]) -> None:
    converted = npuflow.convert(NETWORK, "i8", [data[0] / 8, data[1]])
    most = np.abs(data[0]).max() / 8
    clamped = [np.clip(data[0], -most, most), data[1]]
    np.testing.assert_array_equal(run(converted, data), run(converted, clamped))


@pytest.mark.parametrize("kind", ["bf16", "i8"])
def test_errors_are_those_of_the_converted_program(data: list[Array], kind: str) -> None:
    converted = npuflow.convert(NETWORK, kind, data)
    (conversion,) = converted.conversions
    (said,) = conversion.results
    exact = relu(data[0] @ WEIGHTS) @ data[1]
    error = np.abs(run(converted, data).astype(np.float64) - exact)
    assert said.largest == pytest.approx(error.max(), rel=1e-3)
    assert said.relative == pytest.approx(np.linalg.norm(error) / np.linalg.norm(exact), rel=1e-3)
    assert said.magnitude == pytest.approx(np.abs(exact).max(), rel=1e-5)
    assert [layer.sizes for layer in conversion.layers] == ["4x16 by 16x8", "4x8 by 8x4"]
    assert [layer.factors for layer in conversion.layers] == [kind, "bf16"]
    assert conversion.layers[1].error.largest == pytest.approx(said.largest, rel=1e-3), "the last layer is the result"
    assert 0 < conversion.layers[0].error.relative < 0.02
    assert not [op for op in ops_of(converted.module.operation) if "npu.layers" in op.attributes]


@pytest.mark.parametrize("kind", ["bf16", "i8"])
def test_what_is_compiled_is_verified_and_the_report_says_how_far_it_is_from_f32(data: list[Array], kind: str) -> None:
    report = npuflow.compile(NETWORK, device="toy", compute_type=kind, calibration=data).run()
    checked = [*(one.verified for one in report.functions if not one.part_of), *(s.verified for s in report.sequences)]
    assert [verified.status.value for verified in checked] == ["ok"]
    assert "for f32: the result is" in report.text()
    assert f'"compute_type": "{kind}"' in report.json()


def test_a_function_without_f32_products_stays_as_it_is() -> None:
    text = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
      %e = tensor.empty() : tensor<4xf32>
      %r = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
      return %r : tensor<4xf32>
    }"""
    (conversion,) = npuflow.convert(text, "i8").conversions
    assert conversion.layers == ()
    assert conversion.results[0].largest == 0


def test_deviation_of_nothing_is_nothing() -> None:
    zeros = np.zeros(3, np.float32)
    assert deviation(zeros, zeros).relative == 0
    assert deviation(zeros + 1, zeros).relative == 1


def test_the_same_infinities_are_no_deviation() -> None:
    masked = np.array([1.0, -np.inf, 2.0], np.float32)
    assert deviation(masked, masked).relative == 0
    assert deviation(np.array([1.0, -np.inf, 3.0], np.float32), masked).largest == 1
    assert deviation(np.zeros(3, np.float32), masked).largest == np.inf


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="compute type"):
        npuflow.convert(NETWORK, "i4")
    with pytest.raises(UsageError, match="calibration is for a compute type"):
        npuflow.compile(NETWORK, calibration=[np.zeros((4, 16), np.float32)])
    with pytest.raises(UsageError, match="takes 2 arrays, got 1"):
        npuflow.convert(NETWORK, "i8", [np.zeros((4, 16), np.float32)])
    two = NETWORK + NETWORK.replace("@network", "@other")
    with pytest.raises(UsageError, match="2 public functions"):
        npuflow.convert(two, "i8", [np.zeros((4, 16), np.float32)])
    assert [one.name for one in npuflow.convert(two, "bf16").conversions] == ["network", "other"]


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are run from now on."""
    runs: list[str] = []

    def noted(module: ir.Operation, name: str, *, poison: bool) -> Executable:
        runs.append(name)
        return compile_function(module, name, poison=poison)

    monkeypatch.setattr("npuflow.compiler.layer_errors.compile_function", noted)
    return runs


def test_the_original_is_run_once_with_its_layers(monkeypatch: pytest.MonkeyPatch, data: list[Array]) -> None:
    """Ranges of factors and what layers hand on are of the same run; what was made of it takes one more."""
    runs = counted(monkeypatch)
    (conversion,) = npuflow.convert(NETWORK, "i8", data).conversions
    assert len(runs) == 2
    assert len(conversion.layers) == 2


@pytest.mark.parametrize(("limit", "why"), [("MEASURED_MACS", "640 mult"), ("MEASURED_BYTES", "GiB of weights")])
@pytest.mark.parametrize(("kind", "runs"), [("bf16", 0), ("i8", 1)])
def test_what_takes_too_much_is_run_for_ranges_alone(
    monkeypatch: pytest.MonkeyPatch, data: list[Array], limit: str, why: str, kind: str, runs: int
) -> None:
    ran = counted(monkeypatch)
    monkeypatch.setattr(f"npuflow.compiler.conversion.{limit}", 1)
    (conversion,) = npuflow.convert(NETWORK, kind, data).conversions
    assert len(ran) == runs
    assert why in conversion.unmeasured
    assert not conversion.layers


# A SiLU between two layers: an op and the product behind it read the first one's sum.
GATED = NETWORK.replace(
    "  %h = linalg.max ins(%r, %z : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>\n",
    f"""  %g = linalg.generic {{indexing_maps = [{SAME}, {SAME}], iterator_types = ["parallel", "parallel"]}}
      ins(%r : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {{
  ^bb0(%in: f32, %out: f32):
    %one = arith.constant 1.0 : f32
    %n = arith.negf %in : f32
    %x1 = math.exp %n : f32
    %a = arith.addf %x1, %one : f32
    %d = arith.divf %one, %a : f32
    linalg.yield %d : f32
  }} -> tensor<4x8xf32>
  %h = linalg.mul ins(%r, %g : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
""",
)


@pytest.mark.parametrize("compute_type", ["bf16", "i8"])
def test_errors_are_of_the_same_tensors_though_what_is_between_is_rounded(compute_type: str, data: list[Array]) -> None:
    (conversion,) = npuflow.convert(GATED, compute_type, data).conversions
    assert [0 < layer.error.relative < 0.03 for layer in conversion.layers] == [True, True]
