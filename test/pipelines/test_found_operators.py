"""What drawn operators and the table of operators found to be refused or wrong, and is right since."""

from __future__ import annotations

import pytest
from operator_cases import Case, reference_of, run

import npuflow
from npuflow.execute.operator_products import Kind, Product
from npuflow.execute.operator_rows import Elementwise, Pairwise, Reduction
from npuflow.execute.operator_samples import sized
from npuflow.execute.operator_steps import Step
from npuflow.execute.operator_windows import Convolution, Pool, Pooling, Windows, layout_named
from npuflow.execute.operators import OperatorProgram
from npuflow.execute.programs import Types
from npuflow.execute.verification import Status


def convolution(op: str, types: Types, windows: Windows, **sizes: int) -> Convolution:
    layout = layout_named(op)
    return Convolution(layout, sized(layout, sizes), windows, types)


NHWF = layout_named("conv_2d_nhwc_hwcf")
NHWC = layout_named("pooling_nhwc_max")
FLOAT = Types("f32", "f32")
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
            tails=(Step.RESIDUAL, Step.REQUANTISE),
            one_op_per_tail=True,
        ),
        "npu2",
    ),
}


@pytest.mark.parametrize("what", FOUND)
def test_what_was_found_is_right(what: str) -> None:
    program, device = FOUND[what]
    case = Case(program, device, "npuflow-stream-k", "")
    verified = run(case, reference_of(case))
    assert verified.status is Status.OK, f"{verified.message} {verified.hazards[:1]}"


def test_what_is_made_block_by_block_is_read_whole() -> None:
    program = Reduction((1000, 200), (0, 1), Pool.SUM, FLOAT)
    # In one schedule: parts that hand over in L3 don't show it.
    (function,) = npuflow.compile(program.text(), device="npu1", split=False).run(verify=True).functions
    assert function.verified.status is Status.OK, function.verified.message
