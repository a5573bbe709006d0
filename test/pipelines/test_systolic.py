"""A systolic array: matmuls of words of 16 bits through the ordinary pipelines, verified and timed on `systolic16`."""

from __future__ import annotations

from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
import npuflow.pipelines
from npuflow.core.parsing import parse
from npuflow.core.passes import ops_of
from npuflow.dialect.context import new_context
from npuflow.errors import InputError
from npuflow.execute.verification import Status
from npuflow.schedule.build import Scheduled, build_schedule
from npuflow.schedule.kernels.kernel_cycles import kernel_cycles
from npuflow.simulate.flatten import flatten
from npuflow.simulate.run import simulate
from npuflow.target import KernelClass, load_device
from npuflow.validate.read import read_systolic_rows
from npuflow.validate.systolic_rows import Words
from npuflow.validate.systolic_steps import SingleMatmul

DEVICE = "systolic16"
MEASURED = Path(__file__).resolve().parents[2] / "benchmarks" / "measurements" / "systolic_matmuls.csv"


def matmul(m: int, k: int, n: int, result: str = "i16", word: str = "i16", zero: str = "0") -> str:
    sums = f"tensor<{m}x{n}x{result}>"
    factors = f"tensor<{m}x{k}x{word}>, tensor<{k}x{n}x{word}>"
    return f"""
func.func @matmul(%a: tensor<{m}x{k}x{word}>, %b: tensor<{k}x{n}x{word}>) -> {sums} {{
  %zero = arith.constant {zero} : {result}
  %empty = tensor.empty() : {sums}
  %fill = linalg.fill ins(%zero : {result}) outs(%empty : {sums}) -> {sums}
  %sums = linalg.matmul ins(%a, %b : {factors}) outs(%fill : {sums}) -> {sums}
  return %sums : {sums}
}}
"""


def test_the_file_says_what_the_rtl_is() -> None:
    device = load_device(DEVICE)
    (shape, *_) = device.matmul_shapes("i16", "i16", "i16")
    assert (shape.m, shape.n, shape.macs_per_cycle) == (16, 16, 256)
    assert [level.number for level in device.levels] == [1, 3]


@pytest.mark.parametrize(("m", "k", "n"), [(64, 64, 128), (40, 50, 70)])
def test_a_matmul_is_verified_and_timed(m: int, k: int, n: int) -> None:
    (function,) = npuflow.compile(matmul(m, k, n), device=DEVICE).run(judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
    # Neither the units nor DRAM, 4 words a cycle, can do with less.
    assert function.cycles >= max(m * k * n / 256, (m * k + k * n) / 4)


def test_its_array_multiplies_words_of_16_bits_only() -> None:
    source = matmul(64, 64, 64, "f32", "f32", "0.0")
    with pytest.raises(InputError, match="i16 x i16"):
        npuflow.compile(source, "npuflow-stream-k", device=DEVICE)
    (function,) = npuflow.compile(source, device=DEVICE).functions  # by the vector engine
    assert set(function.compiled.schedule.classes.values()) == {KernelClass.VECTOR}


def scheduled(source: str, tile_l2: tuple[int, ...], tile_l1: tuple[int, ...]) -> Scheduled:
    """Every block brings all that it reads, as the RTL does, and results have two slots."""
    tiles = f"tile-l2={','.join(map(str, tile_l2))} tile-l1={','.join(map(str, tile_l1))}"
    module = parse(source, new_context(), "matmul")
    npuflow.run_pipeline(module, f"npuflow-stream-k{{device={DEVICE} {tiles} depth-result=2}}")
    with module.context:
        return build_schedule(ops_of(module.operation, "func.func")[0], load_device(DEVICE), hoisted=False)


@pytest.mark.parametrize("number", [0, 60, 120, 200, 280, 350, 420, 500, 570])
def test_the_same_tiles_take_as_long_as_in_the_rtl(number: int) -> None:
    """Within a cycle, and as many words, where the RTL is held up by what it reads; docs/systolic.md has the others."""
    rows = [row for row in read_systolic_rows(str(MEASURED)) or [] if is_bound_by_reading(row.work)]
    row = rows[number * len(rows) // 576]
    work = row.work
    assert isinstance(work, SingleMatmul)
    tile = (work.tile_m, work.tile_n)
    made = scheduled(matmul(work.m, work.k, work.n), (*tile, work.k), (*tile, work.tile_k))
    results = simulate(flatten(made.schedule, load_device(DEVICE)))
    assert abs(results.cycles - row.cycles) <= 1
    moved = results.level_traffic(3)
    read = work.m * work.k * (work.n // work.tile_n) + work.k * work.n * (work.m // work.tile_m)
    assert Words(moved.read_bytes // 2, moved.written_bytes // 2) == Words(read, work.m * work.n)


def is_bound_by_reading(work: object) -> bool:
    """Whether a step's tiles, 4 words a cycle, take longer than its products and than the way out of its result."""
    assert isinstance(work, SingleMatmul)
    loads = 12 + (work.tile_m + work.tile_n) * work.tile_k / 4
    multiplied = 55 + work.tile_m * work.tile_k * work.tile_n / 256
    return loads > max(multiplied, 6 + work.tile_m * work.tile_n / 4)


def pair(m: int, k: int, between: int, n: int) -> str:
    """Two matmuls in a row."""
    sizes = {"a": (m, k), "b": (k, between), "c": (m, between), "d": (between, n), "e": (m, n)}
    a, b, c, d, e = (f"tensor<{rows}x{columns}xi16>" for rows, columns in sizes.values())
    return f"""
func.func @pair(%a: {a}, %b: {b}, %d: {d}) -> {e} {{
  %zero = arith.constant 0 : i16
  %c0 = tensor.empty() : {c}
  %c1 = linalg.fill ins(%zero : i16) outs(%c0 : {c}) -> {c}
  %c = linalg.matmul ins(%a, %b : {a}, {b}) outs(%c1 : {c}) -> {c}
  %e0 = tensor.empty() : {e}
  %e1 = linalg.fill ins(%zero : i16) outs(%e0 : {e}) -> {e}
  %e = linalg.matmul ins(%c, %d : {c}, {d}) outs(%e1 : {e}) -> {e}
  return %e : {e}
}}
"""


@pytest.mark.parametrize(("m", "k", "between", "n"), [(128, 32, 96, 48), (70, 40, 50, 30)])
def test_two_matmuls_in_a_row_hand_nothing_over_in_dram(m: int, k: int, between: int, n: int) -> None:
    (function,) = npuflow.compile(pair(m, k, between, n), device=DEVICE).run(judge=JUDGE).functions
    assert function.verified.status is Status.OK, function.verified.message
    dram = function.traffic[0]
    assert dram.write_bytes == 2 * m * n
    assert {one.tensor for one in dram.tensors} == {"arg0", "arg1", "arg2", "result0"}


@pytest.mark.parametrize(("number", "is_free"), [("0", True), ("3", False)])
def test_setting_sums_to_zero_takes_no_time(number: str, is_free: bool) -> None:
    made = scheduled(matmul(32, 32, 32, zero=number), (16, 16, 32), (16, 16, 16))
    (fill,) = (shape for shape in made.shapes if shape.kind == "fill")
    assert (kernel_cycles(fill, load_device(DEVICE)) == 0) == is_free
    assert kernel_cycles(fill, load_device("npu1")) > 0
