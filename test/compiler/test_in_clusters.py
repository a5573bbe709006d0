"""Tensors that clusters keep where they make them: halos come from neighbours, with the same results, in less time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from judges import JUDGE

import npuflow
from npuflow.compiler import port_phases
from npuflow.compiler.compiled import Sequence
from npuflow.compiler.compiled_function import CompiledFunction, execute_function
from npuflow.execute.verification import Status
from npuflow.network.decisions import ALL_DECISIONS, Decision
from npuflow.network.plan import ValueRole
from npuflow.network.spread import TensorSpread
from npuflow.simulate.at_clusters import AtClusters
from npuflow.simulate.in_clusters import in_clusters, window_name
from npuflow.simulate.program import LAUNCH, FlatControl, FlatSend, FlatStep, Program
from npuflow.simulate.run import POISON, cycles_of_run
from npuflow.simulate.walk import with_steps
from npuflow.strategy import spread_phases
from npuflow.strategy.group import Group, Tensor
from npuflow.strategy.in_clusters import ClusterRows, exchange_seconds
from npuflow.target import Device

SIZE, CHANNELS = 56, (16, 64, 48, 32)


def image(channels: int, element: str = "i8", more: int = 0) -> str:
    return f"tensor<1x{SIZE + more}x{SIZE + more}x{channels}x{element}>"


def layer(number: int) -> str:
    """A convolution 3x3, and its sums cut off to bytes."""
    read, made = CHANNELS[number : number + 2]
    weights = f"tensor<3x3x{read}x{made}xi8>"
    return f"""
  %p{number} = tensor.pad %x{number} low[0, 1, 1, 0] high[0, 1, 1, 0] {{
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : i8
  }} : {image(read)} to {image(read, more=2)}
  %e{number} = tensor.empty() : {image(made, "i32")}
  %f{number} = linalg.fill ins(%none : i32) outs(%e{number} : {image(made, "i32")}) -> {image(made, "i32")}
  %s{number} = linalg.conv_2d_nhwc_hwcf ins(%p{number}, %w{number} : {image(read, more=2)}, {weights})
      outs(%f{number} : {image(made, "i32")}) -> {image(made, "i32")}
  %o{number} = tensor.empty() : {image(made)}
  %x{number + 1} = linalg.generic {{indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} ins(%s{number} : {image(made, "i32")})
      outs(%o{number} : {image(made)}) {{
  ^bb0(%in: i32, %out: i8):
    %shifted = arith.shrsi %in, %eight : i32
    %cut = arith.trunci %shifted : i32 to i8
    linalg.yield %cut : i8
  }} -> {image(made)}"""


def program() -> str:
    pairs = list(enumerate(pairwise(CHANNELS)))
    arguments = ", ".join(f"%w{number}: tensor<3x3x{read}x{made}xi8>" for number, (read, made) in pairs)
    return f"""
#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @layers(%x0: {image(CHANNELS[0])}, {arguments}) -> {image(CHANNELS[-1])} {{
  %zero = arith.constant 0 : i8
  %none = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  {"".join(layer(number) for number, _ in pairs)}
  return %x{len(pairs)} : {image(CHANNELS[-1])}
}}"""


# A softmax of rows that a matmul makes: it reads nothing that isn't in its cluster.
ROWS = """
#id = affine_map<(a, b) -> (a, b)>
func.func @rows(%x: tensor<402x64xi8>, %w: tensor<64x48xi8>) -> tensor<402x48xf32> {
  %none = arith.constant 0 : i32
  %sums = tensor.empty() : tensor<402x48xi32>
  %fill = linalg.fill ins(%none : i32) outs(%sums : tensor<402x48xi32>) -> tensor<402x48xi32>
  %s = linalg.matmul ins(%x, %w : tensor<402x64xi8>, tensor<64x48xi8>) outs(%fill : tensor<402x48xi32>)
      -> tensor<402x48xi32>
  %floats = tensor.empty() : tensor<402x48xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s : tensor<402x48xi32>) outs(%floats : tensor<402x48xf32>) {
  ^bb0(%in: i32, %out: f32):
    %float = arith.sitofp %in : i32 to f32
    linalg.yield %float : f32
  } -> tensor<402x48xf32>
  %r = linalg.softmax dimension(1) ins(%y : tensor<402x48xf32>) outs(%floats : tensor<402x48xf32>)
      -> tensor<402x48xf32>
  return %r : tensor<402x48xf32>
}
"""


def compile_layers(*disable: str) -> npuflow.Compiled:
    return npuflow.compile(program(), device="npu4.0", split=True, disable=("fusion", *disable))


@pytest.fixture(scope="module")
def compiled() -> npuflow.Compiled:
    return compile_layers()


@pytest.fixture(scope="module")
def sequence(compiled: npuflow.Compiled) -> Sequence:
    return compiled.sequences[0]


def spread_argument(part: CompiledFunction) -> tuple[str, TensorSpread]:
    return next((near.name, near.spread) for near in part.near if near.spread and near.name in part.arguments)


def test_all_that_is_handed_over_stays_in_clusters(compiled: npuflow.Compiled, sequence: Sequence) -> None:
    between = [value for value in sequence.plan.values if value.role is ValueRole.BETWEEN]
    assert [value.home is not None and value.home.spread is not None for value in between] == [True, True]
    (shown,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert shown.verified.status is Status.OK
    assert shown.verified.message == "bit-exact"


def test_who_lacks_nothing_begins_behind_the_launch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launched at once, a part takes as much less as the launch does: nothing goes on meanwhile."""
    monkeypatch.setattr(spread_phases, "_UNSURE", 0.1)
    compiled = npuflow.compile(ROWS, device="npu4.0", split=True, disable=("fusion",))
    parts = [part.compiled for part in compiled.sequences[0].parts]
    assert [near.spread is not None for near in parts[-1].near] == [True], "the softmax reads nothing else"
    for part in parts:
        launched = with_steps(part.program, (FlatControl,), at_once)
        launch = sum(step.cycles for engine in part.program.engines for step in engine.body if is_launch(step))
        assert cycles_of_run(part.program) - cycles_of_run(launched) == launch > 0
    (shown,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert shown.verified.status is Status.OK


def at_once(step: FlatStep) -> FlatStep:
    return replace(step, cycles=0) if isinstance(step, FlatControl) and step.name == LAUNCH else step


def is_launch(step: FlatStep) -> bool:
    return isinstance(step, FlatControl) and step.name == LAUNCH


def test_it_takes_less_time_than_through_ports(compiled: npuflow.Compiled, sequence: Sequence) -> None:
    """Against each part spread as is best for it alone, and against the same parts with slabs."""
    (own,) = compiled.run(verify=False).sequences
    (apart,) = compile_layers("spread").run(verify=False).sequences
    slabs = sequence.with_decided(ALL_DECISIONS - {Decision.SPREAD})
    assert own.time_us < apart.time_us
    assert sum(run.cycles for run in sequence.simulate()) < sum(run.cycles for run in slabs.simulate())


def test_ports_move_halos_alone(sequence: Sequence) -> None:
    """A row of 56 pixels and 64 channels above each cluster's ten but the first's, and one below but the last's."""
    part = sequence.parts[1].compiled
    name, spread = spread_argument(part)
    windows = [window_name(name, number) for number in spread.windows]
    sent = [
        step
        for engine in part.program.engines
        for step in engine.body
        if isinstance(step, FlatSend) and step.access.buffer in windows
    ]
    assert [step.access.bytes for step in sent] == [56 * 64] * 10
    assert [end - begin for begin, end in spread.windows.values()] == [
        rows * 56 * 64 for rows in (11, 12, 12, 12, 12, 7)
    ]


def test_halos_are_what_the_neighbour_has(sequence: Sequence) -> None:
    """What a cluster doesn't make isn't in its window before the neighbour's rows have come."""
    part = sequence.with_decided(ALL_DECISIONS - {Decision.PREFETCH, Decision.AHEAD}).parts[1].compiled
    name, spread = spread_argument(part)
    data = np.random.default_rng(0)
    arrays = [data.integers(-9, 9, spec.shape, spec.dtype) for spec in part.signature.inputs]
    right = execute_function(part.away(), arrays).outputs[0]
    assert np.array_equal(execute_function(part, arrays).outputs[0], right)
    number = part.arguments.index(name)
    halo = arrays[number].reshape(-1).copy()
    first = next(end for owner, _, end in spread.runs() if owner == 0)  # the row below the first cluster's
    halo[first : first + 56 * 64] = np.array(POISON, np.uint8).view(np.int8)
    other = [halo.reshape(one.shape) if n == number else one for n, one in enumerate(arrays)]
    assert not np.array_equal(execute_function(part, other).outputs[0][0, :10], right[0, :10])


def test_what_is_in_clusters_is_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A middle part has two tensors in clusters: by itself each, and the second behind the first."""
    asked: list[tuple[Program, str, TensorSpread]] = []
    exchanged: list[tuple[Tensor, Group, ClusterRows, int]] = []

    def spy_on_exchange(tensor: Tensor, group: Group, rows: ClusterRows, made: int, device: Device) -> float:
        exchanged.append((tensor, group, rows, made))
        return exchange_seconds(tensor, group, rows, made, device)

    def spy(tensor: AtClusters, spread: TensorSpread) -> Program:
        asked.append((tensor.program, tensor.tensor, spread))
        return in_clusters(tensor, spread)

    monkeypatch.setattr(port_phases, "in_clusters", spy)
    monkeypatch.setattr(spread_phases, "exchange_seconds", spy_on_exchange)
    compile_layers()
    keys = [(id(program), name, spread) for program, name, spread in asked]
    assert len(keys) == len(set(keys)) > len({key[0] for key in keys})
    assert len(exchanged) == len(set(exchanged)) == len(CHANNELS) - 2, "what is between two parts"
