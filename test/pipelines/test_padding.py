"""Padding takes no room in L2 and no traffic from L3: zeros go in on the way into L1, and the result is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pytest
from judges import JUDGE

import npuflow
from npuflow.compiler.verify_function import verify_function
from npuflow.execute.references import make_references
from npuflow.execute.verification import Status
from npuflow.schedule.data.model import Each, Repeat, Send, Step
from npuflow.testing.operator_samples import sized
from npuflow.testing.operator_windows import Convolution, Pooling, Windows, layout_named
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import Types

I8 = Types("i8", "i32")
SAME = Windows.plain((3, 3), pad=1)


@dataclass(frozen=True)
class Padded:
    """An operator, and what is said of its strategy."""

    program: OperatorProgram
    said: str = ""

    def text(self) -> str:
        if not self.said:
            return self.program.text()
        attribute = f"{{npu.strategy = #npu.strategy<{{{self.said}}}>, dilations"
        assert self.program.text().count("{dilations") == 1
        return self.program.text().replace("{dilations", attribute)


def convolution(name: str, windows: Windows, said: str = "", **sizes: int) -> Padded:
    layout = layout_named(name)
    return Padded(Convolution(layout, sized(layout, sizes), windows, I8), said)


def pooling(name: str, windows: Windows, said: str = "", **sizes: int) -> Padded:
    layout = layout_named(name)
    return Padded(Pooling(layout, sized(layout, sizes), windows, "i8"), said)


NHWC = "conv_2d_nhwc_hwcf"
STRIDED = Windows((3, 3), (2, 1), (1, 2), (1, 2), (0, 3))
WIDE = Windows((3, 3), (1, 1), (3, 3), (3, 3), (3, 3))

PADDED = {
    "the whole image in a block": convolution(NHWC, SAME, n=1, h=7, w=7, c=16, f=16),
    "read where it lies": convolution(NHWC, SAME, "gather = 0 : i64", n=1, h=9, w=8, c=8, f=8),
    "gathered": convolution(NHWC, SAME, "gather = 1 : i64", n=1, h=9, w=8, c=8, f=8),
    "gathered, strides, dilations, other padding behind than in front": convolution(
        NHWC, STRIDED, "gather = 1 : i64", n=2, h=9, w=8, c=8, f=8
    ),
    "more padding than a tile": convolution(
        NHWC, WIDE, "grid = [2, 2], spread = [1, 3], tile_l1 = [1, 1, 5, 4]", n=1, h=5, w=5, c=8, f=8
    ),
    "more padding than a tile, gathered": convolution(
        NHWC, WIDE, "gather = 1 : i64, grid = [2, 2], spread = [1, 3], tile_l1 = [1, 1, 5, 4]", n=1, h=5, w=5, c=8, f=8
    ),
    "channels first": convolution("conv_2d_nchw_fchw", STRIDED, n=1, h=6, w=7, c=8, f=8),
    "one dimension": convolution("conv_1d_nwc_wcf", Windows((3,), (1,), (2,), (2,), (1,)), n=1, w=33, c=8, f=8),
    "depthwise": convolution("depthwise_conv_2d_nhwc_hwc", STRIDED, n=1, h=9, w=9, c=16),
    "a sum of windows": pooling("pooling_nhwc_sum", SAME, n=1, h=9, w=9, c=16),
    "a maximum, of which zeros are no part": pooling(
        "pooling_nhwc_max", Windows.plain((3, 3), 2, 1), "tile_l1 = [1, 3, 9, 64]", n=1, h=9, w=9, c=64
    ),
}


@pytest.mark.parametrize("device", ["toy", "npu1", "npu2"])
@pytest.mark.parametrize("name", PADDED)
def test_zeros_go_in_behind_l2(name: str, device: str) -> None:
    text = PADDED[name].text()
    (reference,) = make_references(npuflow.parse(text, npuflow.new_context()).operation, "", 0, JUDGE)
    (function,) = npuflow.compile(text, "npuflow-stream-k", device=device).functions
    verified = verify_function(function.compiled, reference)
    assert verified.status is Status.OK, f"{verified.message} {verified.hazards[:1]}"
    engines = function.compiled.schedule.engines.values()
    padding = {engine.stage.name for engine in engines for send in sends(engine.program) if send.access.zeros}
    assert padding == {"memory_out"}


def sends(steps: Sequence[Step]) -> Iterator[Send]:
    for step in steps:
        if isinstance(step, Send):
            yield step
        elif isinstance(step, (Each, Repeat)):
            yield from sends(step.body)
