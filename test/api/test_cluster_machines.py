"""Programs on machines of clusters: compiled by the ordinary pipelines, executed, right, and timed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from judges import JUDGE

import npuflow
from npuflow.execute.verification import Status
from npuflow.kernels.vector_cycles import VectorOperand, VectorWork
from npuflow.schedule.data.model import Compute, Repeat, Schedule, Step
from npuflow.schedule.kernels.kernel_cycles import KernelShape, kernel_cycles
from npuflow.target import KernelClass, load_device

TAIL = """
#row = affine_map<(m, n) -> (m, n)>
#column = affine_map<(m, n) -> (n)>
func.func @tail(%a: tensor<100x70xbf16>, %b: tensor<70x50xbf16>, %bias: tensor<50xf32>) -> tensor<100x50xbf16> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<100x50xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<100x50xf32>) -> tensor<100x50xf32>
  %c = linalg.matmul ins(%a, %b : tensor<100x70xbf16>, tensor<70x50xbf16>)
                     outs(%init : tensor<100x50xf32>) -> tensor<100x50xf32>
  %out = tensor.empty() : tensor<100x50xbf16>
  %relu = linalg.generic {indexing_maps = [#row, #column, #row], iterator_types = ["parallel", "parallel"]}
      ins(%c, %bias : tensor<100x50xf32>, tensor<50xf32>) outs(%out : tensor<100x50xbf16>) {
    ^bb0(%acc: f32, %shift: f32, %unused: bf16):
      %sum = arith.addf %acc, %shift : f32
      %positive = arith.maximumf %sum, %zero : f32
      %short = arith.truncf %positive : f32 to bf16
      linalg.yield %short : bf16
  } -> tensor<100x50xbf16>
  return %relu : tensor<100x50xbf16>
}
"""

CONVOLUTION = """
func.func @conv(%x: tensor<1x20x21x23xi8>, %w: tensor<40x20x3x3xi8>) -> tensor<1x40x21x23xi32> {
  %zero = arith.constant 0 : i32
  %pad = arith.constant 0 : i8
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
    ^bb0(%n: index, %c: index, %h: index, %i: index):
      tensor.yield %pad : i8
  } : tensor<1x20x21x23xi8> to tensor<1x20x23x25xi8>
  %empty = tensor.empty() : tensor<1x40x21x23xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x40x21x23xi32>) -> tensor<1x40x21x23xi32>
  %r = linalg.conv_2d_nchw_fchw ins(%padded, %w : tensor<1x20x23x25xi8>, tensor<40x20x3x3xi8>)
                                outs(%init : tensor<1x40x21x23xi32>) -> tensor<1x40x21x23xi32>
  return %r : tensor<1x40x21x23xi32>
}
"""

SOFTMAX = """
func.func @softmax(%x: tensor<30x77xf32>) -> tensor<30x77xf32> {
  %empty = tensor.empty() : tensor<30x77xf32>
  %r = linalg.softmax dimension(1) ins(%x : tensor<30x77xf32>) outs(%empty : tensor<30x77xf32>) -> tensor<30x77xf32>
  return %r : tensor<30x77xf32>
}
"""

DEPTHWISE = """
func.func @dw(%x: tensor<1x40x23x25xi8>, %w: tensor<40x3x3xi8>) -> tensor<1x40x21x23xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1x40x21x23xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x40x21x23xi32>) -> tensor<1x40x21x23xi32>
  %r = linalg.depthwise_conv_2d_nchw_chw ins(%x, %w : tensor<1x40x23x25xi8>, tensor<40x3x3xi8>)
                                         outs(%init : tensor<1x40x21x23xi32>) -> tensor<1x40x21x23xi32>
  return %r : tensor<1x40x21x23xi32>
}
"""

POOL = """
func.func @pool(%x: tensor<1x40x23x25xi8>) -> tensor<1x40x11x12xi8> {
  %least = arith.constant -128 : i8
  %window = tensor.empty() : tensor<3x3xi8>
  %empty = tensor.empty() : tensor<1x40x11x12xi8>
  %init = linalg.fill ins(%least : i8) outs(%empty : tensor<1x40x11x12xi8>) -> tensor<1x40x11x12xi8>
  %r = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>}
      ins(%x, %window : tensor<1x40x23x25xi8>, tensor<3x3xi8>)
      outs(%init : tensor<1x40x11x12xi8>) -> tensor<1x40x11x12xi8>
  return %r : tensor<1x40x11x12xi8>
}
"""

WINDOWS = {"depthwise": DEPTHWISE, "pool": POOL}
PROGRAMS = {"tail": TAIL, "conv": CONVOLUTION, "softmax": SOFTMAX, **WINDOWS}


@pytest.mark.parametrize("device", ["npu2.7", "npu4.0"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_right(name: str, device: str) -> None:
    report = npuflow.compile(PROGRAMS[name], device=device).run(judge=JUDGE)
    (function,) = report.functions
    assert function.verified.status is Status.OK, function.verified
    assert function.time_us > 10  # the launch


def test_sums_begin_in_the_engine() -> None:
    filled = (VectorOperand(4, frozenset({0}), (0,)),)
    work = VectorWork(((0,),), (False,), (), filled, (), 4)
    fill = KernelShape("fill", (), 256, 4, vector=work, trips=(256,), beside=("i8", "i8", "i32"))
    cycles = {name: kernel_cycles(fill, load_device(name)) for name in ("npu4.0", "toy-patch")}
    assert cycles["npu4.0"] == 0 < cycles["toy-patch"]


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_of_each_channel_run_on_the_matrix_engine_in_its_types(name: str) -> None:
    def schedule(text: str, device: str = "npu4.0") -> Schedule:
        return npuflow.compile(text, device=device).functions[0].compiled.schedule

    made = schedule(WINDOWS[name])
    assert set(made.classes.values()) == {KernelClass.MATRIX}
    window, fill = sorted(calls_of(made), key=lambda call: call.kind == "fill")
    assert (fill.kind, fill.cycles) == ("fill", 0)
    assert window.cycles > 0
    floats = WINDOWS[name].replace("i8", "f32").replace("i32", "f32").replace("0 : f32", "0.0 : f32")
    assert KernelClass.VECTOR in schedule(floats.replace("-128 :", "-128.0 :")).classes.values()
    assert KernelClass.MATRIX not in schedule(WINDOWS[name], "npu2").classes.values()


def calls_of(schedule: Schedule) -> list[Compute]:
    """The kernels that are called, each once."""

    def inside(steps: Sequence[Step]) -> Iterator[Compute]:
        for step in steps:
            if isinstance(step, Repeat):
                yield from inside(step.body)
            elif isinstance(step, Compute):
                yield step

    found = (call for engine in schedule.engines.values() for call in inside(engine.program))
    return [*{call.kernel: call for call in found}.values()]


@pytest.mark.parametrize("grid", ["1,6", "2,3", "6,1", "3,1"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_clusters_share_an_op(name: str, grid: str) -> None:
    (function,) = (
        npuflow.compile(PROGRAMS[name], f"npuflow-stream-k{{grid={grid}}}", device="npu4.0").run(judge=JUDGE).functions
    )
    assert function.verified.status is Status.OK, function.verified
    (scratchpads,) = function.occupancy
    rows, columns = map(int, grid.split(","))
    assert scratchpads.memories_used == rows * columns


@pytest.mark.parametrize(
    ("loop", "shares"),
    [(0, "images"), (1, "channels"), (2, "height, with halos"), (3, "width, with halos")],
    ids=["batch", "kernels", "height", "width"],
)
def test_a_convolution_is_spread_over_any_loop(loop: int, shares: str) -> None:
    text = CONVOLUTION.replace("tensor<1x", "tensor<2x")
    tile = [-(-size // 2) if place == loop else size for place, size in enumerate((2, 40, 21, 23))]
    fields = f"grid = [1, 2], spread = [{loop}, {loop}], tile_l1 = {tile}, gather = 0"
    text = text.replace("ins(%padded", f"{{npu.strategy = #npu.strategy<{{{fields}}}>}} ins(%padded")
    (function,) = npuflow.compile(text, device="npu2.7").run(judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified
    image = next(tensor for tensor in function.traffic[-1].tensors if tensor.tensor == "arg0")
    whole = 2 * 20 * 21 * 23
    assert (image.read_bytes > whole) == ("halos" in shares)


def test_what_all_clusters_read_alike_is_sent_once() -> None:
    (function,) = npuflow.compile(TAIL, "npuflow-stream-k{grid=2,3}", device="npu4.0").functions
    streams = function.compiled.schedule.streams.values()
    inward = {stream.span: stream.multicast for stream in streams if stream.receiver.startswith("scratchpad_in")}
    assert inward == {("row",): ("column",), ("column",): ("row",)}
