"""Programs with tensors at home in a memory tile: the same results, without DRAM, and every transfer takes its time."""

from __future__ import annotations

import numpy as np
import pytest

import npuflow
from npuflow.compiler.compiled_function import CompiledFunction, execute_function
from npuflow.simulate.at_home import at_home, users_of
from npuflow.simulate.faults import faults
from npuflow.simulate.home_ports import HOME_LEVEL, HomePort, SlabPort, slab_bytes
from npuflow.simulate.platform import Platform, Side
from npuflow.simulate.run import simulate
from npuflow.target import load_device
from npuflow.testing.programs import MatmulProgram, Types

NPU2 = load_device("npu2")
MATMUL = MatmulProgram(128, 256, 64, Types("i8", "i32"))


@pytest.fixture(scope="module")
def matmul() -> CompiledFunction:
    return npuflow.compile(MATMUL.text(), device="npu2").functions[0].compiled


def ports(function: CompiledFunction, *columns: int, rows: int = 0, channels: int = 1) -> list[HomePort]:
    """The left operand and the result at home in columns, so many rows at a time or all that each has in one piece."""
    sizes = {function.arguments[0]: (Side.OUT, 64), function.results[0]: (Side.IN, 256 * 4)}
    return [
        HomePort(tensor, tuple(SlabPort(c, free_channels(function, side, c)[:channels]) for c in columns), piece)
        for tensor, (side, row) in sizes.items()
        for piece in [rows * row or slab_bytes(128 * row, len(columns), NPU2)]
    ]


def free_channels(function: CompiledFunction, side: Side, column: int) -> tuple[int, ...]:
    return Platform(NPU2).free_channels(function.program, HOME_LEVEL, side, column)


@pytest.mark.parametrize("rows", [0, 1, 2])
@pytest.mark.parametrize("columns", [(6,), (5, 6), (4, 5, 6, 7)])
def test_results_are_the_same_and_come_from_the_tiles(
    matmul: CompiledFunction, columns: tuple[int, ...], rows: int
) -> None:
    homes = ports(matmul, *columns, rows=rows)
    moved = matmul.at_home(at_home(matmul.program, NPU2, homes))
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, spec.shape).astype(np.int8) for spec in matmul.signature.inputs]
    run = execute_function(moved, inputs)
    assert not list(faults(run.results))
    np.testing.assert_array_equal(run.outputs[0], inputs[0].astype(np.int32) @ inputs[1].astype(np.int32))
    levels = {memory.name: memory.level for memory in moved.program.memories}
    assert [levels[port.tensor] for port in homes] == [HOME_LEVEL] * 2
    # Nobody beside DRAM touches them, and the weights still come from there.
    for port in homes:
        beside = {f"memory tile dma {column}" for column in columns}
        assert {engine.name[: len("memory tile dma 0")] for engine in users_of(moved.program, port.tensor)} == beside
    assert all("shim" in engine.name for engine in users_of(moved.program, matmul.arguments[1]))
    assert moved.away().program == matmul.program


def test_as_many_bytes_move_and_the_control_processor_does_less(matmul: CompiledFunction) -> None:
    before, moved = simulate(matmul.program), at_home(matmul.program, NPU2, ports(matmul, 5, 6))
    after = simulate(moved.program)
    for tensor in (matmul.arguments[0], matmul.results[0]):
        assert after.traffic[tensor] == before.traffic[tensor]
    assert sum(after.stream_bytes.values()) == sum(before.stream_bytes.values())
    busy = [next(e.busy_cycles for e in run.engines if e.kind == "control") for run in (before, after)]
    assert busy[0] > busy[1]
    # Beside each slab there are chains for both tensors instead.
    assert {chain.column for chain in moved.chains if chain.descriptors} >= {5, 6}


def test_one_channel_is_as_slow_as_one_channel(matmul: CompiledFunction) -> None:
    result = matmul.results[0]
    (number, *_) = free_channels(matmul, Side.IN, 6)
    after = simulate(at_home(matmul.program, NPU2, [HomePort(result, (SlabPort(6, (number,)),), 128 * 1024)]).program)
    # 128 KiB through a channel of 7.3 bytes a cycle.
    assert after.cycles > 128 * 1024 / NPU2.dma(HOME_LEVEL).bytes_per_cycle


@pytest.mark.parametrize("rows", [0, 1])
def test_several_channels_beside_a_slab_take_less_time_and_do_the_same(matmul: CompiledFunction, rows: int) -> None:
    one, four = (ports(matmul, 6, rows=rows, channels=count) for count in (1, 4))
    slow, fast = (at_home(matmul.program, NPU2, each) for each in (one, four))
    assert simulate(fast.program).cycles < simulate(slow.program).cycles
    assert simulate(fast.program).traffic == simulate(slow.program).traffic
    (port,) = [each for each in four if each.tensor == matmul.results[0]]
    before, after = (users_of(each, port.tensor) for each in (matmul.program, fast.program))
    served = port.slabs[0].channels[: len(before)]
    assert {engine.name for engine in after} == {f"memory tile dma 6 in {number}" for number in served}
    assert len(served) > 1
    random = np.random.default_rng(0)
    inputs = [random.integers(-128, 128, spec.shape).astype(np.int8) for spec in matmul.signature.inputs]
    run = execute_function(matmul.at_home(fast), inputs)
    assert not list(faults(run.results))
    np.testing.assert_array_equal(run.outputs[0], inputs[0].astype(np.int32) @ inputs[1].astype(np.int32))


def test_what_all_go_through_row_by_row_comes_from_all_slabs_at_once(matmul: CompiledFunction) -> None:
    homes = (ports(matmul, 4, 5, 6, 7, rows=rows) for rows in (0, 1))
    in_a_row, dealt = (simulate(at_home(matmul.program, NPU2, each).program).cycles for each in homes)
    assert dealt < in_a_row
