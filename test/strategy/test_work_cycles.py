"""What ops take on a core's tile, as the schedule's kernels take it."""

from __future__ import annotations

import npuflow
from npuflow.ops.contraction import static_matmuls
from npuflow.schedule.ir.emit import computes
from npuflow.strategy.describe_group import group_of_matmul
from npuflow.strategy.work_cycles import OpCycles, kind_of
from npuflow.target import load_device
from npuflow.testing.operator_products import Kind, Product
from npuflow.testing.programs import Types

MATMUL = Product(Kind.MATMUL, Kind.MATMUL.sizes_of(64, 64, 64), Types("bf16", "f32")).text()


def test_what_opens_sums_takes_what_its_kernel_does() -> None:
    """A core of the array sets sums to zero; a patch engine has what they begin with, and there is no kernel for it."""
    module = npuflow.parse(MATMUL, npuflow.new_context())
    (matmul,) = static_matmuls(module.operation)
    group = group_of_matmul(matmul)
    (start,) = [work for work in group.work if work.starting]
    found = {}
    for name in ("npu2", "npu4.0"):
        device = load_device(name)
        found[name] = OpCycles(start, device, kind_of(group, device), (8, 8, 8)).of_tile((16, 16, 1, 16))
        (compiled,) = npuflow.compile(MATMUL, device=name).functions
        programs = (engine.program for engine in compiled.compiled.schedule.engines.values())
        fills = [call for program in programs for call in computes(program) if call.kind == "fill"]
        assert [call.cycles > 0 for call in fills] == [found[name] > 0]
    assert found["npu2"] > 0 == found["npu4.0"]
