"""Matrix instructions that take patches of pixels: results, and cycles before and after lines are reshaped."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from judges import JUDGE
from operator_cases import FAMILIES, Case, cases, reference_of, run
from profiles import drawn
from test_drawn_operators import FEW, MANY, is_honest

import npuflow
from npuflow.execute.verification import Status
from npuflow.report import json_report, text
from npuflow.report.model import FunctionReport
from npuflow.schedule.data.model import Access, Each, Repeat, Send, Step
from npuflow.schedule.kernels.kernel_cycles import Reshape
from npuflow.testing.operator_products import Product
from npuflow.testing.operator_windows import Convolution
from npuflow.testing.operators import OperatorProgram

DEVICE = "toy-patch"
TILES = "npuflow-stream-k{grid=2,2 tile-l2=128,128,48 tile-l1=64,64,48}"


def convolution(op: str, image: str, weights: str, result: str, stride: int = 1) -> str:
    """A convolution of i8 to i32, of linalg's name."""
    return f"""
func.func @conv(%x: tensor<{image}xi8>, %w: tensor<{weights}xi8>) -> tensor<{result}xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<{result}xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<{result}xi32>) -> tensor<{result}xi32>
  %r = linalg.conv_2d_{op} {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}
      ins(%x, %w : tensor<{image}xi8>, tensor<{weights}xi8>) outs(%init : tensor<{result}xi32>) -> tensor<{result}xi32>
  return %r : tensor<{result}xi32>
}}
"""


COLUMNS = {
    "nhwc_fhwc": ("1x2048x1x48", "256x1x1x48", "1x2048x1x256"),
    "nhwc_hwcf": ("1x1x2048x48", "1x1x48x256", "1x1x2048x256"),
    "nchw_fchw": ("1x48x2048x1", "256x48x1x1", "1x256x2048x1"),
}


def report_of(source: str, pipeline: str = "npuflow-stream-k") -> FunctionReport:
    (function,) = npuflow.compile(source, pipeline, device=DEVICE).run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
    assert function.verified.message == "bit-exact"
    return function


@pytest.mark.parametrize("op", COLUMNS)
def test_a_column_of_pixels_takes_a_quarter_of_the_cycles_reshaped_to_an_image(op: str) -> None:
    # A core's tile is 64 x 64 x 48. Its 64 pixels, or channels where those come first, are 16 patches in a column but
    # 4 in an image of 4x16; 4 times 16 channels, 3 sums of 16, 256 cycles for an instruction, nothing else.
    source = convolution(op, *COLUMNS[op])
    function = report_of(source, TILES)
    assert function.reshapes is not None
    (reshape,) = function.reshapes.kernels.values()
    assert reshape == Reshape((64, 1), (4, 16), 16 * 4 * 3 * 256, 4 * 4 * 3 * 256)
    # Each core computes 32 tiles. Before the reshape nothing takes longer than that: what is left is the way in of the
    # first block (launch, descriptors, data) and the way out of the last result, which all of both runs have.
    computing = 32 * reshape.cycles_before
    assert computing < function.reshapes.cycles_before < 1.2 * computing
    assert 2 * function.cycles < function.reshapes.cycles_before


def test_the_reshape_is_in_the_access_pattern_of_the_tile() -> None:
    # The transfer into L1 steps over the image: 4 rows of 16 pixels of 48 channels, which go in 3 parts of 16.
    (function,) = npuflow.compile(convolution("nhwc_fhwc", *COLUMNS["nhwc_fhwc"]), TILES, device=DEVICE).functions
    schedule = function.compiled.schedule
    accesses = [access for engine in schedule.engines.values() for access in sent(engine.program)]
    patterns = [(access.sizes, access.strides) for access in accesses]
    assert ((4, 3, 16, 16), (16 * 48, 16, 48, 1)) in patterns


def sent(steps: tuple[Step, ...]) -> Iterator[Access]:
    for step in steps:
        if isinstance(step, Send):
            yield step.access
        elif isinstance(step, (Repeat, Each)):
            yield from sent(step.body)


def test_the_report_says_so() -> None:
    source = convolution("nhwc_fhwc", "1x64x1x16", "16x1x1x16", "1x64x1x16")
    report = npuflow.compile(source, "npuflow-stream-k{tile-l1=64,16,16}", device=DEVICE).run(verify=False)
    (function,) = report.functions
    assert function.reshapes is not None
    ((kernel, reshape),) = function.reshapes.kernels.items()
    lines = [line.split() for line in text.text_of(report).splitlines() if "pixels to" in line]
    assert f"{function.reshapes.cycles_before}" in lines[0]
    assert lines[1][0] == f"{kernel}:"
    assert {f"{reshape.cycles}", f"{reshape.cycles_before}"} <= set(lines[1])
    # 64 pixels and 16 channels, sums of 16: 4 patches, or 16 in a column.
    assert json.loads(json_report.json_of(report))["functions"][0]["reshapes"] == {
        "cycles_before": function.reshapes.cycles_before,
        "kernels": {kernel: {"line": [64, 1], "image": [4, 16], "cycles_before": 4096, "cycles": 1024}},
    }


def test_other_devices_and_types_say_nothing() -> None:
    source = convolution("nhwc_fhwc", "1x64x1x16", "16x1x1x16", "1x64x1x16")
    (function,) = npuflow.compile(source, device="toy").run(verify=False).functions
    assert function.reshapes is None
    (function,) = npuflow.compile(source.replace("xi8>", "xi16>"), device=DEVICE).run(verify=False).functions
    assert function.reshapes is None


@pytest.mark.parametrize(
    ("op", "image", "weights", "result", "stride"),
    [
        ("nhwc_hwcf", "1x18x18x16", "3x3x16x32", "1x16x16x32", 1),
        ("nchw_fchw", "1x16x18x18", "32x16x3x3", "1x32x16x16", 1),
        ("nhwc_hwcf", "1x15x13x5", "3x3x5x7", "1x13x11x7", 1),
        ("nchw_fchw", "1x3x9x11", "17x3x3x3", "1x17x4x5", 2),
        ("nhwc_hwcf", "1x29x1x20", "3x1x20x19", "1x27x1x19", 1),
        ("nhwc_hwcf", "2x7x7x33", "1x1x33x17", "2x7x7x17", 1),
        ("nchw_fchw", "2x33x7x7", "17x33x1x1", "2x17x7x7", 1),
        ("nhwc_fhwc", "1x97x1x48", "19x1x1x48", "1x97x1x19", 1),
        ("nchw_fchw", "1x48x97x1", "19x48x1x1", "1x19x97x1", 1),
        ("nhwc_hwcf", "1x14x14x16", "1x1x16x32", "1x7x7x32", 2),
    ],
)
def test_convolutions_are_right(op: str, image: str, weights: str, result: str, stride: int) -> None:
    report_of(convolution(op, image, weights, result, stride))


@pytest.mark.parametrize("family", [Convolution, Product], ids=lambda family: family.__name__)
def test_drawn_operators_are_right(family: type[OperatorProgram]) -> None:
    @drawn(FEW, MANY)
    @given(cases(FAMILIES[family]))
    def check(found: Case) -> None:
        case = replace(found, device=DEVICE, options="")
        reference = reference_of(case)
        refusal = ""
        try:
            verified = run(case, reference)
        except npuflow.InputError as error:
            refusal = str(error)
        if refusal:
            assert is_honest(refusal, reference), f"{case}: {refusal}"
            return
        assert verified.status is Status.OK, f"{case}: {verified.message} {verified.hazards[:1]}"

    check()
