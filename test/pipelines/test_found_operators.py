"""What drawn operators and the table of operators found to be refused or wrong, and is right since."""

from __future__ import annotations

import pytest
from judges import JUDGE
from operator_cases import Case, reference_of, run

import npuflow
from npuflow.execute.verification import Status
from npuflow.testing.operator_places import Placed, PositionUse
from npuflow.testing.operator_products import Kind, Product
from npuflow.testing.operator_rows import Centre, Elementwise, Norm, Pairwise, Reduction
from npuflow.testing.operator_samples import sized
from npuflow.testing.operator_steps import ElementwiseStep
from npuflow.testing.operator_windows import Convolution, Pool, Pooling, Windows, layout_named
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import Types


def convolution(op: str, types: Types, windows: Windows, **sizes: int) -> Convolution:
    layout = layout_named(op)
    return Convolution(layout, sized(layout, sizes), windows, types)


NHWF = layout_named("conv_2d_nhwc_hwcf")
NHWC = layout_named("pooling_nhwc_max")
FLOAT, I8 = Types("f32", "f32"), Types("i8", "i32")
SAME = Windows.plain((3, 3), pad=1)

FOUND: dict[str, tuple[OperatorProgram, str]] = {
    "a padded block that is streamed: a slice of a slice of a size that isn't constant": (
        convolution("conv_2d_nhwc_hwcf", FLOAT, SAME, n=1, h=28, w=28, c=64, f=64),
        "npu1",
    ),
    "padding on all sides and overhanging channels: five bounds of one transfer": (
        convolution("conv_2d_nhwgc_gfhwc", Types("bf16", "f32"), SAME, n=1, h=10, w=9, g=3, f=10, c=6),
        "npu2",
    ),
    "a window that fills its padded image, which a matmul cannot read": (
        Convolution(
            NHWF,
            sized(NHWF, {"n": 3, "h": 1, "w": 1, "f": 33, "c": 4}),
            Windows((4, 1), (1, 3), (1, 1), (3, 0), (0, 0)),
            Types("i16", "i32"),
        ),
        "toy",
    ),
    "rows and columns of cores read one mask: it is divided in two ways": (
        Pooling(NHWC, sized(NHWC, {"n": 1, "h": 28, "w": 28, "c": 64}), Windows.plain((3, 3), 2, 1), "i8"),
        "npu1",
    ),
    "four operands for every core: more descriptors than a memory tile has": (
        Elementwise((512, 512), ((0, 1),) * 4, Pairwise.ADD, FLOAT),
        "npu2",
    ),
    "three of them and one by rows: descriptors of one lane": (
        Elementwise((512, 512), ((0, 1), (0, 1), (0, 1), (1,)), Pairwise.ADD, FLOAT),
        "npu2",
    ),
    "a prime sum, streamed with what is left over, behind an op that makes it wider": (
        Product(
            Kind.TURNED_VECMAT,
            Kind.TURNED_VECMAT.sizes_of(20011, 1),
            Types("i8", "i32"),
            head=True,
            tails=(ElementwiseStep.RESIDUAL, ElementwiseStep.REQUANTISE),
            one_op_per_tail=True,
        ),
        "npu2",
    ),
    "weights and rows for single rows of cores, all in one lane: 32 descriptors for even channels": (
        Norm((4, 4099), Centre.LAYER, Types("bf16", "f32")),
        "npu1",
    ),
    "results whose patterns edges cut off beside them": (
        Norm((129, 6007), Centre.LAYER, FLOAT, tails=(ElementwiseStep.RESIDUAL,)),
        "npu1",
    ),
    "three inputs for single rows and one for all of them": (
        Elementwise(
            (2, 8, 3, 1024), ((0, 1, 2, 3), (0, 1, 2, 3), (2, 1), (0, 1, 2, 3)), Pairwise.MIN, Types("i8", "i8")
        ),
        "npu1",
    ),
    "buffers that fit L1 only without their alignment": (
        Product(Kind.MATVEC, Kind.MATVEC.sizes_of(7, 2047), FLOAT, by_name=True),
        "toy",
    ),
    "a window whose taps are streamed over an image with zeros in front of it": (
        convolution(
            "conv_2d_nhwc_fhwc", I8, Windows((2, 4), (1, 1), (1, 1), (1, 2), (1, 0)), n=1, h=3, w=65, f=31, c=1024
        ),
        "toy",
    ),
    "the same by memory tiles that insert zeros, dilated": (
        convolution(
            "conv_2d_nhwc_fhwc", I8, Windows((1, 2), (1, 3), (1, 2), (0, 1), (0, 0)), n=1, h=65, w=3, f=14, c=8192
        ),
        "npu2",
    ),
    "positions along four loops, a bias and a residual: more buffers than a core has locks for": (
        Placed(
            (2, 4, 3, 13),
            PositionUse.RAMP,
            "i8",
            tails=(ElementwiseStep.BIAS, ElementwiseStep.RESIDUAL, ElementwiseStep.REQUANTISE),
        ),
        "npu1",
    ),
    "eleven inputs of all kinds, whose lanes depended on their order": (
        Elementwise(
            (17, 2),
            ((0, 1), (1, 0), (0,), (0,), (1, 0), (0,), (0,), (0, 1), (0,), (0, 1), (0, 1)),
            Pairwise.ADD,
            Types("i32", "i32"),
        ),
        "npu1",
    ),
}

FOUND_IN = {
    "a split sum's parts, between the two dimensions of L2's packed tiles": (
        Product(
            Kind.TWO_SUMS,
            Kind.TWO_SUMS.sizes_of(2, 4093, 17, 2),
            Types("i32", "i32"),
            tails=(ElementwiseStep.RESIDUAL,),
        ),
        "toy",
        "npuflow-pack-peel",
    ),
    "an outer product of a few rows by many columns, with a tail": (
        Product(
            Kind.OUTER,
            Kind.OUTER.sizes_of(4, 4099),
            Types("i32", "i32"),
            tails=(ElementwiseStep.CHANNEL_SCALE, ElementwiseStep.BIAS),
        ),
        "npu1",
        "npuflow-pad-pack",
    ),
}


FOUND_ON = {
    "six inputs for one core, all through one of its two lanes": (
        Elementwise((20011,), ((0,),) * 6, Pairwise.ADD, Types("i8", "i32")),
        "npu1",
        "grid=1,1",
    ),
    "nine inputs on the four rows that somebody asks for": (
        Elementwise((1021,), ((0,),) * 9, Pairwise.ADD, Types("i8", "i32")),
        "npu1",
        "grid=4,1",
    ),
}


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found_is_right(what: str) -> None:
    program, device = FOUND[what]
    case = Case(program, device, "npuflow-stream-k", "")
    verified = run(case, reference_of(case))
    assert verified.status is Status.OK, f"{verified.message} {verified.hazards[:1]}"


@pytest.mark.parametrize("what", FOUND_IN)
def test_what_was_found_by_one_pipeline_is_right(what: str) -> None:
    case = Case(*FOUND_IN[what], "")
    verified = run(case, reference_of(case))
    assert verified.status is Status.OK, f"{verified.message} {verified.hazards[:1]}"


@pytest.mark.parametrize("what", FOUND_ON)
def test_what_was_found_on_a_grid_is_right(what: str) -> None:
    program, device, options = FOUND_ON[what]
    case = Case(program, device, "npuflow-stream-k", options)
    verified = run(case, reference_of(case))
    assert verified.status is Status.OK, f"{verified.message} {verified.hazards[:1]}"


def test_a_sum_is_streamed_over_what_has_zeros_in_front_of_it() -> None:
    """Each piece begins at its own place: the first one within the zeros, the others behind them."""
    text = """func.func @sum(%a: tensor<4x40000xi32>) -> tensor<4xi32> {
      %zero = arith.constant 0 : i32
      %padded = tensor.pad %a low[0, 3] high[0, 997] {
      ^bb0(%i: index, %j: index):
        tensor.yield %zero : i32
      } : tensor<4x40000xi32> to tensor<4x41000xi32>
      %empty = tensor.empty() : tensor<4xi32>
      %filled = linalg.fill ins(%zero : i32) outs(%empty : tensor<4xi32>) -> tensor<4xi32>
      %sum = linalg.generic {
        indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (m)>],
        iterator_types = ["parallel", "reduction"]
      } ins(%padded : tensor<4x41000xi32>) outs(%filled : tensor<4xi32>) {
      ^bb0(%x: i32, %total: i32):
        %square = arith.muli %x, %x : i32
        %more = arith.addi %square, %total : i32
        linalg.yield %more : i32
      } -> tensor<4xi32>
      return %sum : tensor<4xi32>
    }"""
    for device in ("toy", "npu1"):
        (function,) = npuflow.compile(text, device=device).run(verify=True, judge=JUDGE).functions
        assert function.verified.status is Status.OK, f"{device}: {function.verified.message}"


def test_what_is_made_block_by_block_is_read_whole() -> None:
    program = Reduction((1000, 200), (0, 1), Pool.SUM, FLOAT)
    # In one schedule: parts that hand over in L3 don't show it.
    (function,) = npuflow.compile(program.text(), device="npu1", split=False).run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message


@pytest.mark.parametrize("device", ["npu1", "npu2"])
@pytest.mark.parametrize("rows", [5, 13])
def test_slices_of_a_product_begin_and_end_within_columns_of_cores(device: str, rows: int) -> None:
    """Three gates of 33 each, of which the memory tiles of two columns hold 56 and 43."""
    text = f"""
    #same = affine_map<(m, n) -> (m, n)>
    #loops = ["parallel", "parallel"]
    func.func @gates(%x: tensor<{rows}x33xf32>, %w: tensor<33x99xf32>) -> tensor<{rows}x33xf32> {{
      %zero = arith.constant 0.0 : f32
      %sums = tensor.empty() : tensor<{rows}x99xf32>
      %filled = linalg.fill ins(%zero : f32) outs(%sums : tensor<{rows}x99xf32>) -> tensor<{rows}x99xf32>
      %product = linalg.matmul ins(%x, %w : tensor<{rows}x33xf32>, tensor<33x99xf32>)
                               outs(%filled : tensor<{rows}x99xf32>) -> tensor<{rows}x99xf32>
      %a = tensor.extract_slice %product[0, 0] [{rows}, 33] [1, 1] : tensor<{rows}x99xf32> to tensor<{rows}x33xf32>
      %b = tensor.extract_slice %product[0, 33] [{rows}, 33] [1, 1] : tensor<{rows}x99xf32> to tensor<{rows}x33xf32>
      %c = tensor.extract_slice %product[0, 66] [{rows}, 33] [1, 1] : tensor<{rows}x99xf32> to tensor<{rows}x33xf32>
      %empty = tensor.empty() : tensor<{rows}x33xf32>
      %joined = linalg.generic {{indexing_maps = [#same, #same, #same, #same], iterator_types = #loops}}
        ins(%a, %b, %c : tensor<{rows}x33xf32>, tensor<{rows}x33xf32>, tensor<{rows}x33xf32>)
        outs(%empty : tensor<{rows}x33xf32>) {{
      ^bb0(%i: f32, %j: f32, %k: f32, %out: f32):
        %some = arith.mulf %i, %j : f32
        %all = arith.addf %some, %k : f32
        linalg.yield %all : f32
      }} -> tensor<{rows}x33xf32>
      return %joined : tensor<{rows}x33xf32>
    }}"""
    (function,) = npuflow.compile(text, device=device, split=False).run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
