"""Programs for a machine without L2 and cores: they compile, compute what they should, and take what paper says."""

from __future__ import annotations

from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
from npuflow.compiler.verify_function import verify_function
from npuflow.errors import InputError
from npuflow.execute.references import make_references
from npuflow.execute.verification import Status
from npuflow.schedule.data.model import Compute, Each, Repeat, Step
from npuflow.simulate.run import simulate

DEVICE = "toy-scratchpad"
LAUNCH, SET_UP = 1000, 100

MATMUL = """
#mn = affine_map<(m, n) -> (m, n)>
func.func @matmul(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>) -> tensor<{m}x{n}xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<{m}x{n}xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %sum = linalg.matmul ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>) outs(%init : tensor<{m}x{n}xi32>)
    -> tensor<{m}x{n}xi32>
  %result = linalg.generic {{indexing_maps = [#mn, #mn], iterator_types = ["parallel", "parallel"]}}
      ins(%sum : tensor<{m}x{n}xi32>) outs(%empty : tensor<{m}x{n}xi32>) {{
  ^bb0(%x: i32, %out: i32):
    %positive = arith.maxsi %x, %zero : i32
    linalg.yield %positive : i32
  }} -> tensor<{m}x{n}xi32>
  return %result : tensor<{m}x{n}xi32>
}}
"""
CONVOLUTION = """
func.func @convolution(%a: tensor<1x{i}x{i}x8xi8>, %w: tensor<3x3x8x{c}xi8>) -> tensor<1x{o}x{o}x{c}xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1x{o}x{o}x{c}xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x{o}x{o}x{c}xi32>) -> tensor<1x{o}x{o}x{c}xi32>
  %image = tensor.pad %a low[0, {p}, {p}, 0] high[0, {p}, {p}, 0] {{
  ^bb0(%n: index, %h: index, %w0: index, %ch: index):
    %pad = arith.constant 0 : i8
    tensor.yield %pad : i8
  }} : tensor<1x{i}x{i}x8xi8> to tensor<1x{q}x{q}x8xi8>
  %result = linalg.conv_2d_nhwc_hwcf ins(%image, %w : tensor<1x{q}x{q}x8xi8>, tensor<3x3x8x{c}xi8>)
    outs(%init : tensor<1x{o}x{o}x{c}xi32>) -> tensor<1x{o}x{o}x{c}xi32>
  return %result : tensor<1x{o}x{o}x{c}xi32>
}}
"""
CONTINUED = """
func.func @continued(%a: tensor<{m}x{k}xi8>, %b: tensor<{k}x{n}xi8>, %c: tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32> {{
  %sum = linalg.matmul ins(%a, %b : tensor<{m}x{k}xi8>, tensor<{k}x{n}xi8>) outs(%c : tensor<{m}x{n}xi32>)
    -> tensor<{m}x{n}xi32>
  return %sum : tensor<{m}x{n}xi32>
}}
"""
SOFTMAX = """
func.func @softmax(%a: tensor<{m}x{n}xf32>) -> tensor<{m}x{n}xf32> {{
  %empty = tensor.empty() : tensor<{m}x{n}xf32>
  %result = linalg.softmax dimension(1) ins(%a : tensor<{m}x{n}xf32>) outs(%empty : tensor<{m}x{n}xf32>)
    -> tensor<{m}x{n}xf32>
  return %result : tensor<{m}x{n}xf32>
}}
"""


def matmul(m: int, n: int, k: int) -> str:
    return MATMUL.format(m=m, n=n, k=k)


def continued(m: int, n: int, k: int) -> str:
    return CONTINUED.format(m=m, n=n, k=k)


def convolution(size: int, channels: int, padding: int = 0) -> str:
    padded = size + 2 * padding
    return CONVOLUTION.format(i=size, q=padded, o=padded - 2, c=channels, p=padding)


def softmax(m: int, n: int) -> str:
    return SOFTMAX.format(m=m, n=n)


def cycles_of(steps: tuple[Step, ...]) -> list[int]:
    """How long each kernel's call takes, in the order of the program."""
    inner = [cycles_of(step.body) if isinstance(step, (Repeat, Each)) else [] for step in steps]
    own = [[step.cycles] if isinstance(step, Compute) else [] for step in steps]
    return [cycles for pair in zip(own, inner) for some in pair for cycles in some]


def run(text: str, pipeline: str = "npuflow-stream-k") -> tuple[int, dict[str, list[int]]]:
    """The cycles of the whole, and those of each engine's kernels."""
    (function,) = npuflow.compile(text, pipeline, device=DEVICE).functions
    engines = function.compiled.schedule.engines
    return simulate(function.compiled.program).cycles, {name: cycles_of(e.program) for name, e in engines.items()}


def test_a_matmul_with_a_tail_takes_what_paper_says() -> None:
    # Four steps of K of 16x16x16. Setting the sums to zero writes 1024 bytes, 32 a cycle; a step is 4096
    # multiplications, 64 a cycle, and those sums in and out of registers. The tail is 32 vectors and then
    # a chain of 3 cycles.
    cycles, kernels = run(matmul(16, 16, 64), "npuflow-stream-k{tile-l2=16,16,16 tile-l1=16,16,16}")
    assert kernels["matrix"] == [1024 // 32, 4096 // 64 + 2 * 1024 // 32]
    assert kernels["vector"] == [32 + 3]
    # Both operands' tasks are set up, the second one's first 256 bytes come at 4 a cycle; then the matrix engine is the
    # slowest, and 1024 bytes of results leave.
    assert cycles == LAUNCH + 2 * SET_UP + 256 // 4 + 4 * 128 + 35 + 1024 // 4


def test_a_convolution_takes_what_paper_says() -> None:
    # Four blocks of 4 pixels of 8 channels: 128 bytes of sums, and 4 * 8 * 72 multiplications.
    cycles, kernels = run(convolution(6, 8))
    assert kernels["matrix"] == [128 // 32, 4 * 8 * 72 // 64 + 2 * 128 // 32]
    # The image's task is set up second; its first block is 3x6 pixels of 8 bytes. Weights (576 bytes) come before
    # it, and only with these does the matrix engine begin: 4 cycles to set sums to zero. Then it is the slowest.
    image, weights = LAUNCH + 2 * SET_UP + 3 * 6 * 8 // 4, LAUNCH + SET_UP + 576 // 4
    assert cycles == max(image, weights + 4) + 44 + 3 * (4 + 44) + 128 // 4


def test_a_softmax_takes_what_paper_says() -> None:
    # Four blocks of a row. The first one's maxima are set to their start before anything has come.
    cycles, kernels = run(softmax(4, 32))
    assert "matrix" not in kernels
    first, *others = kernels["vector"]
    assert (first, sum(others)) == (1, 70)
    assert cycles == LAUNCH + SET_UP + 128 // 4 + 70 + 3 * (1 + 70) + 128 // 4


@pytest.mark.parametrize("pipeline", ["npuflow-stream-k", "npuflow-pad-pack"])
@pytest.mark.parametrize(
    "text",
    [
        *(matmul(37, 41, 64), matmul(16, 16, 64), matmul(64, 80, 96), matmul(1, 19, 40)),
        *(continued(37, 41, 64), continued(16, 16, 16), continued(70, 81, 300)),
        *(convolution(10, 16), convolution(9, 8, padding=1), convolution(13, 24, padding=1)),
        *(softmax(32, 64), softmax(7, 33)),
    ],
)
def test_programs_compute_what_they_should(text: str, pipeline: str) -> None:
    (reference,) = make_references(npuflow.parse(text, npuflow.new_context()).operation, "", 0, JUDGE)
    (function,) = npuflow.compile(text, pipeline, device=DEVICE).functions
    verified = verify_function(function.compiled, reference)
    assert verified.status is Status.OK, f"{verified.message} {verified.hazards[:1]}"
    schedule = function.compiled.schedule
    assert {buffer.level for buffer in schedule.buffers.values()} == {1, 3}
    assert {engine.stage.name for engine in schedule.engines.values()} <= {
        *("port_out", "scratchpad_in", "matrix", "vector", "scratchpad_out", "port_in", "control")
    }


def test_blocks_that_come_in_pieces_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        npuflow.compile(matmul(37, 41, 64), "npuflow-pack-peel", device=DEVICE)
    assert "is filled in pieces, and the device has no L2; hint: use npuflow-stream-k" in str(caught.value)


def _cores_without_memory_tiles(tmp_path: Path) -> str:
    """The scratchpad's file with four of them, each with engines and ways of its own, shims beside the columns."""
    text = (Path(npuflow.__file__).parent / "target" / "devices" / "toy-scratchpad.toml").read_text()
    text = text.replace("rows = 1", "rows = 2", 1).replace("columns = 1", "columns = 2", 1)
    dram = text.index('name = "DRAM"')
    shared = text[:dram].replace('"array"', '"core"') + text[dram:].replace('"array"', '"core"')
    for name, by in (('name = "DRAM"', "array"), ('name = "port dma"', "column"), ('name = "bus"', "column")):
        start = shared.index(name)
        shared = shared[:start] + shared[start:].replace('shared_by = "core"', f'shared_by = "{by}"', 1)
    path = tmp_path / "cores.toml"
    path.write_text(shared)
    return str(path)


@pytest.mark.parametrize("grid", ["1,1", "1,2", "2,1", "2,2"])
@pytest.mark.parametrize("text", [matmul(37, 41, 64), softmax(4, 32)], ids=["matmul", "softmax"])
def test_cores_without_level_2_share_an_op(text: str, grid: str, tmp_path: Path) -> None:
    device = _cores_without_memory_tiles(tmp_path)
    (function,) = npuflow.compile(text, f"npuflow-stream-k{{grid={grid}}}", device=device).functions
    assert function.compiled.schedule.extents["row"] == int(grid[0])
    (reference,) = make_references(npuflow.parse(text, npuflow.new_context()).operation, "", 0, JUDGE)
    assert verify_function(function.compiled, reference).status is Status.OK


def test_what_goes_by_rows_and_by_columns_takes_two_lanes(tmp_path: Path) -> None:
    shipped = Path(npuflow.__file__).parent / "target" / "devices" / "toy.toml"
    path = tmp_path / "lane.toml"
    path.write_text(shipped.read_text().replace("lanes = 2", "lanes = 1"))
    with pytest.raises(InputError, match=r"by rows of cores and .* by columns, each in .* has 1"):
        npuflow.compile(matmul(37, 41, 64), device=str(path))


def test_a_device_with_a_grid_needs_level_2(tmp_path: Path) -> None:
    shipped = Path(npuflow.__file__).parent / "target" / "devices" / "toy-scratchpad.toml"
    path = tmp_path / "wide.toml"
    path.write_text(shipped.read_text().replace("columns = 1", "columns = 2", 1))
    with pytest.raises(InputError) as caught:
        npuflow.compile(softmax(4, 32), device=str(path))
    assert "'toy-scratchpad' lacks level 2, a DMA engine at level 2" in str(caught.value)
