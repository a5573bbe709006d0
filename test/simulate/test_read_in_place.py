"""Programs that read a tensor where it stays in memory tiles: the same numbers, brought once or not at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import npuflow
from npuflow.compiler.compiled_function import CompiledFunction, FunctionalRun, execute_function
from npuflow.simulate.at_home import AtHome
from npuflow.simulate.faults import faults
from npuflow.simulate.home_ports import HOME_LEVEL
from npuflow.simulate.home_tasks import NotAtHomeError
from npuflow.simulate.program import FlatAffine, FlatLoop, FlatSend, FlatStep
from npuflow.simulate.read_in_place import brought_in_place, home_of, pieces_read, read_in_place
from npuflow.simulate.run import simulate
from npuflow.simulate.tile_pieces import TilePieces, pieces_of_tiles
from npuflow.target import load_device

NPU2 = load_device("npu2")
MATMUL = """
func.func @f(%x: tensor<{m}x64xi8>, %w: tensor<64x{n}xi8>) -> tensor<{m}x{n}xi32> {{
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<{m}x{n}xi32>
  %sums = linalg.fill ins(%zero : i32) outs(%empty : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  %r = linalg.matmul {{npu.strategy = #npu.strategy<{{grid = [4, 8], {said}}}>}}
      ins(%x, %w : tensor<{m}x64xi8>, tensor<64x{n}xi8>) outs(%sums : tensor<{m}x{n}xi32>) -> tensor<{m}x{n}xi32>
  return %r : tensor<{m}x{n}xi32>
}}
"""
WHOLE = "tile_l2 = [128, 256, 64], tile_l1 = [32, 32, 64]"
# K in two pieces for L2, each in two for L1: a core's part of a block comes in several transfers.
CUT = "tile_l2 = [128, 256, 32], tile_l1 = [32, 32, 16]"


def matmul(m: int, n: int, said: str) -> CompiledFunction:
    return npuflow.compile(MATMUL.format(m=m, n=n, said=said), device="npu2")["f"].compiled


def checked(function: CompiledFunction, moved: AtHome) -> FunctionalRun:
    """A run that makes the right results, without races and without anything read that nobody wrote."""
    random = np.random.default_rng(0)
    x, w = (random.integers(-128, 128, spec.shape).astype(np.int8) for spec in function.signature.inputs)
    run = execute_function(function.at_home(moved), [x, w])
    assert not list(faults(run.results))
    np.testing.assert_array_equal(run.outputs[0], x.astype(np.int32) @ w.astype(np.int32))
    for number, found in run.brought.items():
        np.testing.assert_array_equal(found, (x, w)[number])
    return run


# Rows of cores share the left operand's rows, columns the right one's columns.
@pytest.mark.parametrize("said", [WHOLE, CUT])
@pytest.mark.parametrize(
    ("operand", "pieces"), [(0, TilePieces((0, 1, 2, 3), 32 * 64)), (1, TilePieces((*range(8),), 32))]
)
def test_what_is_brought_is_found(said: str, operand: int, pieces: TilePieces) -> None:
    function = matmul(128, 256, said)
    tensor = function.arguments[operand]
    assert pieces_read(function.program, NPU2, tensor) == pieces
    before = simulate(function.program)

    brought = brought_in_place(function.program, NPU2, tensor)
    assert set(checked(function, brought).brought) == {operand}
    after = simulate(brought.program)
    assert after.cycles <= before.cycles
    assert after.traffic[tensor] == before.traffic[tensor]
    levels = {memory.name: memory.level for memory in brought.program.memories}
    assert (levels[tensor], levels[home_of(tensor)]) == (NPU2.dram_level, HOME_LEVEL)

    found = read_in_place(function.program, NPU2, tensor)
    assert not checked(function, found).brought
    assert {memory.level for memory in found.program.memories if memory.name == tensor} == {HOME_LEVEL}
    assert simulate(found.program).cycles < after.cycles
    # The channels that brought it have nothing left to do; those to cores step through it with one descriptor.
    assert sorted(chain.descriptors for chain in found.chains) == [0] * len(pieces.columns) + [1] * len(pieces.columns)


def test_what_comes_again_and_again_isnt_brought_but_may_be_found() -> None:
    function = matmul(256, 512, CUT)
    for tensor in function.arguments:
        with pytest.raises(NotAtHomeError, match="several times"):
            brought_in_place(function.program, NPU2, tensor)
        moved = read_in_place(function.program, NPU2, tensor)
        checked(function, moved)
        read = simulate(moved.program).level_traffic(NPU2.dram_level).read_bytes
        assert read < simulate(function.program).level_traffic(NPU2.dram_level).read_bytes


def test_what_is_cut_off_at_edges_stays_in_dram() -> None:
    function = matmul(128, 192, WHOLE)
    with pytest.raises(NotAtHomeError, match="cut off"):
        read_in_place(function.program, NPU2, function.arguments[1])


FOUR = """
#id = affine_map<(i, j) -> (i, j)>
func.func @f(%a: tensor<3x48xf32>, %b: tensor<3x48xf32>, %c: tensor<3x48xf32>, %d: tensor<3x48xf32>)
    -> tensor<3x48xf32> {
  %empty = tensor.empty() : tensor<3x48xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%a, %b, %c, %d : tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48xf32>, tensor<3x48xf32>)
      outs(%empty : tensor<3x48xf32>)
      attrs = {npu.strategy = #npu.strategy<{grid = [2, 2], spread = [1, 0], tile_l1 = [1, 16]}>} {
  ^bb0(%p: f32, %q: f32, %s: f32, %t: f32, %out: f32):
    %u = arith.addf %p, %q : f32
    %v = arith.mulf %s, %t : f32
    %w = arith.subf %u, %v : f32
    linalg.yield %w : f32
  } -> tensor<3x48xf32>
  return %r : tensor<3x48xf32>
}
"""


def test_what_only_dram_knows_the_edges_of_stays_there_too() -> None:
    """Four operands share lanes, so tiles get whole rows of 32, of which DRAM sends 16; a fourth row isn't there."""
    function = npuflow.compile(FOUR, device="npu2")["f"].compiled
    for tensor in function.arguments:
        with pytest.raises(NotAtHomeError, match="cut off"):
            read_in_place(function.program, NPU2, tensor)


def test_what_begins_in_front_of_a_buffer_is_not_read_in_place() -> None:
    """As channels to cores do that go through padded rows: what is in front is cut off."""
    function = matmul(128, 256, WHOLE)
    tensor = function.arguments[0]
    kept = {one.name for one in read_in_place(function.program, NPU2, tensor).program.buffers}
    gone = {one.name for one in function.program.buffers} - kept

    def earlier(step: FlatStep) -> FlatStep:
        if isinstance(step, FlatLoop):
            return replace(step, body=tuple(map(earlier, step.body)))
        if not isinstance(step, FlatSend) or step.access.buffer not in gone:
            return step
        return replace(step, access=replace(step.access, offset=FlatAffine(-(10**6))))

    engines = [replace(engine, body=tuple(map(earlier, engine.body))) for engine in function.program.engines]
    for move in (read_in_place, brought_in_place):
        with pytest.raises(NotAtHomeError, match="cores get more of it than comes"):
            move(replace(function.program, engines=tuple(engines)), NPU2, tensor)


def test_results_are_not_read() -> None:
    function = matmul(128, 256, WHOLE)
    assert pieces_read(function.program, NPU2, function.results[0]) is None
    with pytest.raises(NotAtHomeError, match="only reads"):
        read_in_place(function.program, NPU2, function.results[0])


def test_pieces_come_in_turn() -> None:
    assert pieces_of_tiles(np.array([3, 3, 5, 5, 3, 3]), 1) == TilePieces((3, 5), 2)
    assert pieces_of_tiles(np.array([3, 3, 5, 5, 3, 3]), 4) == TilePieces((3, 5), 8)
    for others in ([3, 3, 5, 3, 3, 5], [3, 3, -1, -1]):
        with pytest.raises(NotAtHomeError, match="in turn"):
            pieces_of_tiles(np.array(others), 1)
