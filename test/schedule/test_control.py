"""In which order the control processor sets up tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import npuflow
from npuflow.simulate.program import FlatLoop, FlatRelease, FlatStep

# Four blocks of two rows' sum. Two operands share the rows' channels and are set up block by block, the result at once.
SUM = """
#map = affine_map<(i, j) -> (i, j)>
func.func @f(%x: tensor<1x2048xbf16>, %y: tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {
  %e = tensor.empty() : tensor<1x2048xbf16>
  %s = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x, %y : tensor<1x2048xbf16>, tensor<1x2048xbf16>) outs(%e : tensor<1x2048xbf16>)
      attrs = {npu.strategy = #npu.strategy<{grid = [4, 1], spread = [1, 1], tile_l1 = [1, 128]}>} {
  ^bb0(%a: bf16, %b: bf16, %_: bf16):
    %sum = arith.addf %a, %b : bf16
    linalg.yield %sum : bf16
  } -> tensor<1x2048xbf16>
  return %s : tensor<1x2048xbf16>
}
"""


def tasks_of(steps: Sequence[FlatStep]) -> Iterator[str]:
    """Whose task queues are filled, turn by turn."""
    for step in steps:
        if isinstance(step, FlatLoop):
            yield from list(tasks_of(step.body)) * step.count
        elif isinstance(step, FlatRelease):
            yield step.semaphore.partition("[")[0]


def test_results_are_set_up_behind_the_operands_of_the_first_block() -> None:
    (function,) = npuflow.compile(SUM, device="npu1").functions
    (control,) = (engine for engine in function.compiled.program.engines if engine.kind == "control")
    block = 2 * 4 * ["shim_out0_task"]
    assert list(tasks_of(control.body)) == [*block, "shim_in_task", *block, *block, *block]
