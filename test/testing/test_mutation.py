"""Programs and schedules that are broken on purpose are called wrong, and those that are not aren't."""

from __future__ import annotations

from collections import Counter

import pytest

import npuflow
from npuflow.testing.ir_mutators import FaultClass, mutants_of
from npuflow.testing.mutation import MutantStatus, MutationSubject, trials
from npuflow.testing.operator_products import Kind, Product
from npuflow.testing.operator_rows import Centre, Norm, Softmax
from npuflow.testing.operator_steps import ElementwiseStep
from npuflow.testing.operator_windows import Convolution, Windows, layout_named
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import Types

CONVOLUTION = layout_named("conv_2d_nhwc_hwcf_q")
PROGRAMS: dict[str, tuple[OperatorProgram, set[FaultClass]]] = {
    "bf16 sums": (Product(Kind.MATMUL, Kind.MATMUL.sizes_of(9, 11, 70), Types("bf16", "bf16")), {FaultClass.SHIFTED}),
    "requantised": (
        Convolution(
            CONVOLUTION,
            tuple((d, s) for d, s in (("n", 1), ("h", 5), ("w", 7), ("f", 4), ("c", 3))),
            Windows((3, 3), (1, 1), (1, 1), (1, 1), (1, 1)),
            Types("i8", "i32"),
            tails=(ElementwiseStep.BIAS, ElementwiseStep.REQUANTISE),
        ),
        {FaultClass.ZERO_POINT, FaultClass.SHIFTED},
    ),
    "norm": (Norm((33, 37), next(iter(Centre)), Types("bf16", "bf16")), set()),
    "softmax": (Softmax((7, 33), 1, Types("bf16", "f32"), tails=(ElementwiseStep.TRUNCATE,)), set()),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_whatever_computes_something_else_is_caught(name: str) -> None:
    program, faults = PROGRAMS[name]
    found = list(trials(MutationSubject(program.text(), most=1)))
    survived = [f"{trial.mutant}: {trial.said}" for trial in found if trial.outcome is MutantStatus.SURVIVED]
    assert survived == []
    caught = Counter(trial.fault for trial in found if trial.outcome is MutantStatus.CAUGHT)
    always = {FaultClass.DROPPED, FaultClass.SCALED, FaultClass.HALVED, FaultClass.NEGATED}
    assert always | faults <= set(caught), caught


def test_a_mutant_that_computes_the_same_is_no_survivor() -> None:
    found = list(trials(MutationSubject(ADDITION, "toy")))
    swapped = [trial.outcome for trial in found if trial.fault is FaultClass.SWAPPED]
    assert MutantStatus.EQUIVALENT in swapped
    assert MutantStatus.SURVIVED not in swapped


def test_mutants_are_found_by_what_an_op_is() -> None:
    module = npuflow.parse(ADDITION, npuflow.new_context())
    assert {str(mutant) for mutant in mutants_of(module)} == {
        "dropped op (op at linalg.generic 2)",
        "dropped op (operation at arith.addf 3)",
        "scaled (1.02 at linalg.yield 4)",
        "halved (result at linalg.yield 4)",
        "negated (result at linalg.yield 4)",
        "swapped operands (operands at linalg.generic 2)",
    }


ADDITION = """
#id = affine_map<(d) -> (d)>
func.func @add(%a: tensor<40xf32>, %b: tensor<40xf32>) -> tensor<40xf32> {
  %e = tensor.empty() : tensor<40xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
    ins(%a, %b : tensor<40xf32>, tensor<40xf32>) outs(%e : tensor<40xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %s = arith.addf %x, %y : f32
    linalg.yield %s : f32
  } -> tensor<40xf32>
  return %r : tensor<40xf32>
}
"""
