"""Programs with tensors at home in scratchpads that DRAM's DMAs reach: the same results, without DRAM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import npuflow
from npuflow.compiler.compiled_function import CompiledFunction, execute_function
from npuflow.simulate.by_ports import by_ports
from npuflow.simulate.faults import faults
from npuflow.simulate.home_ports import NearTensor
from npuflow.simulate.platform import DRAM_READ, DRAM_TOTAL, DRAM_WRITE
from npuflow.simulate.program import Cause
from npuflow.simulate.run import simulate
from npuflow.target import load_device
from npuflow.testing.programs import MatmulProgram, Types

NPU4 = load_device("npu4.0")
MATMUL = MatmulProgram(96, 256, 64, Types("i8", "i32"))


@pytest.fixture(scope="module")
def matmul() -> CompiledFunction:
    return npuflow.compile(MATMUL.text(), device="npu4.0").functions[0].compiled


def moved(function: CompiledFunction, slabs: int) -> CompiledFunction:
    """The left operand and the result at home, in so many slabs."""
    sizes = {function.arguments[0]: 96 * 64, function.results[0]: 96 * 256 * 4}
    near = [NearTensor(name, size // slabs) for name, size in sizes.items()]
    return function.at_home(by_ports(function.program, NPU4, near))


@pytest.mark.parametrize("slabs", [1, 2, 3])
def test_results_are_the_same_and_dram_moves_the_rest(matmul: CompiledFunction, slabs: int) -> None:
    near = moved(matmul, slabs)
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, spec.shape).astype(np.int8) for spec in matmul.signature.inputs]
    run = execute_function(near, inputs)
    assert not list(faults(run.results))
    np.testing.assert_array_equal(run.outputs[0], inputs[0].astype(np.int32) @ inputs[1].astype(np.int32))
    levels = {memory.name: memory.level for memory in near.program.memories}
    at_home = (matmul.arguments[0], matmul.results[0])
    assert [levels[name] for name in at_home] == [NPU4.home_level] * 2
    before, after = simulate(matmul.program), simulate(near.program)
    assert {name: after.traffic[name] for name in at_home} == {name: before.traffic[name] for name in at_home}
    weights = after.traffic[matmul.arguments[1]].read_bytes
    assert after.resource_bytes[DRAM_WRITE] == 0
    assert after.resource_bytes[DRAM_READ] == after.resource_bytes[DRAM_TOTAL] == weights


def test_in_one_slab_it_takes_no_longer_and_each_part_is_started(matmul: CompiledFunction) -> None:
    before = simulate(matmul.program).cycles
    after = [simulate(moved(matmul, slabs).program) for slabs in (1, 3)]
    assert after[0].cycles <= before
    # 32 rows of 96 are in one slab each: whoever moves more of them begins more often, and is handed more descriptors.
    control = [next(e for e in run.engines if e.name == "control").spent[Cause.CONTROL] for run in after]
    starts = [sum(engine.spent[Cause.START] for engine in run.engines) for run in after]
    assert control[0] < control[1]
    assert starts[0] < starts[1]


def test_a_device_says_what_its_dmas_reach() -> None:
    assert load_device("npu2").home_level == 2
    assert NPU4.home_level == 1
    away = tuple(replace(dma, reaches=0) for dma in NPU4.dmas)
    assert replace(NPU4, dmas=away).home_level is None
    assert load_device("toy-scratchpad").home_level is None
