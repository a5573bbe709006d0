"""Zeros around windows that the matrix engine makes up: neither moved nor stored, with the same results."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from judges import JUDGE

import npuflow
from npuflow.execute.verification import Status
from npuflow.report.model import FunctionReport
from npuflow.schedule.check.well_formed import ill_formed
from npuflow.schedule.data.kernel_interface import KernelInterface
from npuflow.schedule.data.model import Compute, Each, Operand, Repeat, Schedule, Step
from npuflow.target import load_device
from npuflow.target.load import device_file

CONV = """
func.func @conv(%x: tensor<1x32x{rows}x{columns}xi8>, %w: tensor<{shape}xi8>) -> tensor<1x{oc}x{oh}x{ow}xi32> {{
  %zero = arith.constant 0 : i8
  %none = arith.constant 0 : i32
  %p = tensor.pad %x low[0, 0, {low}, {low}] high[0, 0, {high}, {high}] {{
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : i8
  }} : tensor<1x32x{rows}x{columns}xi8> to tensor<1x32x{ih}x{iw}xi8>
  %empty = tensor.empty() : tensor<1x{oc}x{oh}x{ow}xi32>
  %init = linalg.fill ins(%none : i32) outs(%empty : tensor<1x{oc}x{oh}x{ow}xi32>) -> tensor<1x{oc}x{oh}x{ow}xi32>
  %r = linalg.{op} {{dilations = dense<1> : tensor<2xi64>, strides = dense<{stride}> : tensor<2xi64>}}
      ins(%p, %w : tensor<1x32x{ih}x{iw}xi8>, tensor<{shape}xi8>)
      outs(%init : tensor<1x{oc}x{oh}x{ow}xi32>) -> tensor<1x{oc}x{oh}x{ow}xi32>
  return %r : tensor<1x{oc}x{oh}x{ow}xi32>
}}
"""


def convolution(
    size: tuple[int, int], window: int = 3, stride: int = 1, low: int = 1, high: int = 1, *, is_depthwise: bool = False
) -> str:
    """A convolution of 32 channels of i8."""
    oc, shape = (32, f"32x{window}x{window}") if is_depthwise else (48, f"48x32x{window}x{window}")
    ih, iw = (each + low + high for each in size)
    return CONV.format(
        rows=size[0],
        columns=size[1],
        low=low,
        high=high,
        ih=ih,
        iw=iw,
        oc=oc,
        oh=(ih - window) // stride + 1,
        ow=(iw - window) // stride + 1,
        stride=stride,
        shape=shape,
        op="depthwise_conv_2d_nchw_chw" if is_depthwise else "conv_2d_nchw_fchw",
    )


def run(source: str, device: str, *without: str) -> tuple[FunctionReport, Schedule]:
    compiled = npuflow.compile(source, device=device, disable=list(without))
    (function,) = compiled.run(verify=True, judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
    assert function.verified.message == "bit-exact"
    return function, compiled.functions[0].compiled.schedule


def operands(schedule: Schedule) -> list[Operand]:
    return [operand for engine in schedule.engines.values() for operand in _operands(engine.program)]


def _operands(steps: tuple[Step, ...]) -> Iterator[Operand]:
    for step in steps:
        if isinstance(step, Compute):
            yield from step.operands
        elif isinstance(step, (Repeat, Each)):
            yield from _operands(step.body)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> str:
    """npu4.0 with 20 KiB a scratchpad, so that an op has many tiles."""
    path = tmp_path_factory.mktemp("device") / "small.toml"
    text = device_file("npu4.0").read_text()
    path.write_text(text.replace("bytes = 1474560", "bytes = 20480"))
    return str(path)


@pytest.mark.parametrize("is_depthwise", [False, True])
@pytest.mark.parametrize(
    ("size", "window", "stride", "low", "high"),
    [((14, 14), 3, 1, 1, 1), ((23, 17), 5, 2, 2, 1), ((9, 30), 3, 2, 0, 1), ((33, 12), 7, 1, 3, 3)],
)
def test_zeros_are_made_up_in_tiles_at_edges_with_the_same_results(
    small: str, size: tuple[int, int], window: int, stride: int, low: int, high: int, is_depthwise: bool
) -> None:
    source = convolution(size, window, stride, low, high, is_depthwise=is_depthwise)
    function, schedule = run(source, small)
    without, moved = run(source, small, "padding")
    assert any(operand.access.zeros for operand in operands(schedule))
    assert not any(operand.access.zeros for operand in operands(moved))
    assert function.time_us <= without.time_us * 1.01
    run(source, "npu4.0")


def test_a_tile_of_the_whole_image_has_no_room_for_zeros() -> None:
    # 32 channels of 7x7 instead of 9x9 bytes, one slot.
    source = convolution((7, 7))
    sizes = {}
    for without in ((), ("padding",)):
        _, schedule = run(source, "npu4.0:1x1", *without)
        images = (b for b in schedule.buffers.values() if b.level == 1 and b.element_type == "i8")
        sizes[without] = [b.slot_bytes for b in images if b.slot_bytes % 49 == 0 or b.slot_bytes % 81 == 0]
    assert max(sizes[()]) % 49 == 0
    assert max(sizes[("padding",)]) % 81 == 0


def test_what_is_beyond_half_a_window_is_inserted_by_transfers(small: str) -> None:
    _, schedule = run(convolution((14, 14), 3, 1, 2, 1), small)
    assert not any(operand.access.zeros for operand in operands(schedule))


def test_a_register_that_a_device_lacks_is_a_violation(small: str) -> None:
    _, schedule = run(convolution((14, 14)), small)
    device = load_device(small).arranged(schedule.extents["row"], schedule.extents["column"])
    lacking = replace(device, patch_engine=replace(device.patch_engine, padding_share=0.0))
    kernels = {name: KernelInterface((), (), True, 0, None) for name in schedule.classes}
    what = "no register holds them"
    assert any(what in violation.what for violation in ill_formed(schedule, lacking, kernels))
    assert not any(what in violation.what for violation in ill_formed(schedule, device, kernels))
