"""Kernels say which class of engines runs them: a toy whose cores are a matrix and a vector engine around one L1."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
from npuflow.compiler.verify_function import verify_function
from npuflow.execute.references import make_references
from npuflow.execute.verification import Status
from npuflow.schedule.data.model import Compute, Each, Repeat, Schedule, Step
from npuflow.target import KernelClass

sys.path.insert(0, str(Path(__file__).parent))

from hand_written import changed, errors

TOY = (resources.files("npuflow.target") / "devices" / "toy.toml").read_text()

MATMUL = """
#mn = affine_map<(m, n) -> (m, n)>
#n = affine_map<(m, n) -> (n)>
func.func @matmul(%a: tensor<37x64xi8>, %b: tensor<64x41xi8>, %bias: tensor<41xi32>) -> tensor<37x41xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<37x41xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<37x41xi32>) -> tensor<37x41xi32>
  %sum = linalg.matmul ins(%a, %b : tensor<37x64xi8>, tensor<64x41xi8>) outs(%init : tensor<37x41xi32>)
    -> tensor<37x41xi32>
  %result = linalg.generic {indexing_maps = [#mn, #n, #mn], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %bias : tensor<37x41xi32>, tensor<41xi32>) outs(%empty : tensor<37x41xi32>) {
  ^bb0(%x: i32, %y: i32, %out: i32):
    %added = arith.addi %x, %y : i32
    %positive = arith.maxsi %added, %zero : i32
    linalg.yield %positive : i32
  } -> tensor<37x41xi32>
  return %result : tensor<37x41xi32>
}
"""
CONVOLUTION = """
func.func @convolution(%a: tensor<1x10x10x8xi8>, %w: tensor<3x3x8x16xi8>) -> tensor<1x8x8x16xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<1x8x8x16xi32>
  %init = linalg.fill ins(%zero : i32) outs(%empty : tensor<1x8x8x16xi32>) -> tensor<1x8x8x16xi32>
  %result = linalg.conv_2d_nhwc_hwcf ins(%a, %w : tensor<1x10x10x8xi8>, tensor<3x3x8x16xi8>)
    outs(%init : tensor<1x8x8x16xi32>) -> tensor<1x8x8x16xi32>
  return %result : tensor<1x8x8x16xi32>
}
"""
SOFTMAX = """
func.func @softmax(%a: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %empty = tensor.empty() : tensor<32x64xf32>
  %result = linalg.softmax dimension(1) ins(%a : tensor<32x64xf32>) outs(%empty : tensor<32x64xf32>)
    -> tensor<32x64xf32>
  return %result : tensor<32x64xf32>
}
"""


@pytest.fixture
def two_engines(tmp_path: Path) -> str:
    """The toy with two engines beside each L1, each as the toy's one."""
    begin, end = TOY.index('[[engines]]\nname = "core"'), TOY.index("[[dmas]]")
    core = TOY[begin:end]
    engines = (core.replace('"core"', f'"{name}"', 1).replace('"all"', f'"{name}"') for name in ("matrix", "vector"))
    path = tmp_path / "two.toml"
    path.write_text(TOY[:begin] + "".join(engines) + TOY[end:])
    return str(path)


def kernels_of(schedule: Schedule, engine: str) -> set[str]:
    def calls(steps: tuple[Step, ...]) -> set[str]:
        inner = (calls(step.body) for step in steps if isinstance(step, (Repeat, Each)))
        return {step.kind for step in steps if isinstance(step, Compute)}.union(*inner)

    return calls(schedule.engines[engine].program) if engine in schedule.engines else set()


@pytest.mark.parametrize(
    ("text", "matrix", "vector"),
    [
        (MATMUL, {"fill", "matmul"}, {"elementwise"}),
        (CONVOLUTION, {"fill", "window"}, set()),
        (SOFTMAX, set(), {"fill", "reduction", "elementwise"}),
    ],
    ids=["matmul", "convolution", "softmax"],
)
def test_each_engine_runs_the_kernels_of_its_class(
    text: str, matrix: set[str], vector: set[str], two_engines: str
) -> None:
    (reference,) = make_references(npuflow.parse(text, npuflow.new_context()).operation, "", 0, JUDGE)
    (function,) = npuflow.compile(text, device=two_engines).functions
    verified = verify_function(function.compiled, reference)
    assert verified.status is Status.OK, f"{verified.message} {verified.hazards[:1]}"
    schedule = function.compiled.schedule
    assert (kernels_of(schedule, "matrix"), kernels_of(schedule, "vector")) == (matrix, vector)
    assert {kernels.value for kernels in schedule.classes.values()} == {
        name for name, kinds in (("matrix", matrix), ("vector", vector)) if kinds
    }


def test_a_sum_is_handed_from_the_matrix_to_the_vector_engine(two_engines: str) -> None:
    (function,) = npuflow.compile(MATMUL, device=two_engines).functions
    names = [name for name in function.compiled.schedule.semaphores if "_matrix_to_vector" in name]
    assert names
    assert all(
        name.replace("_matrix_to_vector", "_vector_to_matrix") in function.compiled.schedule.semaphores
        for name in names
    )


def test_on_a_device_with_one_engine_classes_are_said_as_well() -> None:
    (function,) = npuflow.compile(MATMUL, device="toy").functions
    assert set(function.compiled.schedule.classes.values()) == set(KernelClass)
    assert kernels_of(function.compiled.schedule, "core") == {"fill", "matmul", "elementwise"}


def by_hand(stage: str, kernels: str, device: str) -> str:
    """The hand-written schedule, its kernel for one class of engines and called by a stage."""
    text = changed(
        ('#npu.device<"toy", {}>', f'#npu.device<"{device}", {{}}>'), ('stage = "core",', f'stage = "{stage}",')
    )
    kernel = "@multiply(%x: memref<64xi32, 2>, %y: memref<64xi32, 2>)"
    return changed((f"{kernel} {{", f'{kernel} attributes {{npu.class = "{kernels}"}} {{'), text=text)


def test_an_engine_of_another_class_is_refused(two_engines: str) -> None:
    assert errors(by_hand("vector", "vector", two_engines)) == []
    (found,) = errors(by_hand("matrix", "vector", two_engines))
    expected = "'core' calls 'multiply', which is for engines of class 'vector'; hint: let stage vector call it"
    assert expected in found


def test_an_unknown_class_is_refused() -> None:
    (found,) = errors(by_hand("core", "tensor", "toy"))
    assert "unknown npu.class 'tensor'; hint: " in found
