"""Where cores are loaded one after the other between parts, parts with little to do take few of them."""

from __future__ import annotations

from importlib.resources import files
from math import prod
from pathlib import Path
from typing import Any

import pytest

import npuflow
from npuflow.bindings import ir
from npuflow.compiler import residency
from npuflow.compiler.compiled import Function
from npuflow.compiler.core_loads import core_seconds, stream_seconds
from npuflow.compiler.home_phases import HomePhases
from npuflow.compiler.residency import Resident
from npuflow.core.passes import Pass, PassContext
from npuflow.frontend.check_input import CheckInput
from npuflow.fusion.fuse_matmuls import FuseMatmuls
from npuflow.network.calls import CallList
from npuflow.network.plan import plan_of
from npuflow.simulate.program import Program
from npuflow.testing.operator_chains import Layers


def chain(count: int, rows: int, size: int) -> str:
    """So many matmuls in a row, each behind a sine, which keeps them from being one."""
    square, whole = f"tensor<{size}x{size}xf32>", f"tensor<{rows}x{size}xf32>"
    pairs = "".join(
        f"""
  %m{n} = linalg.matmul ins(%x{n}, %w{n} : {whole}, {square}) outs(%f : {whole}) -> {whole}
  %x{n + 1} = linalg.generic {{indexing_maps = [#same, #same], iterator_types = ["parallel", "parallel"]}}
      ins(%m{n} : {whole}) outs(%e : {whole}) {{
  ^bb0(%in: f32, %out: f32):
    %s = math.sin %in : f32
    linalg.yield %s : f32
  }} -> {whole}"""
        for n in range(count)
    )
    arguments = ", ".join([f"%x0: {whole}", *(f"%w{n}: {square}" for n in range(count))])
    return f"""
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @main({arguments}) -> {whole} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {whole}
  %f = linalg.fill ins(%zero : f32) outs(%e : {whole}) -> {whole}
  {pairs}
  return %x{count} : {whole}
}}"""


def normed(count: int, rows: int, size: int) -> str:
    """So many matmuls in a row, each behind rows that are divided by their norms: short parts that can't be one."""
    narrow, wide, norms = f"tensor<{rows}x{size}xbf16>", f"tensor<{rows}x{size}xf32>", f"tensor<{rows}xf32>"
    square = f"tensor<{size}x{size}xbf16>"
    steps = "".join(
        f"""
  %m{n} = linalg.matmul ins(%x{n}, %w : {narrow}, {square}) outs(%f : {wide}) -> {wide}
  %s{n} = linalg.generic {{indexing_maps = [#same, #row], iterator_types = ["parallel", "reduction"]}}
      ins(%m{n} : {wide}) outs(%z : {norms}) {{
  ^bb0(%in: f32, %sum: f32):
    %q = arith.mulf %in, %in : f32
    %a = arith.addf %q, %sum : f32
    linalg.yield %a : f32
  }} -> {norms}
  %x{n + 1} = linalg.generic {{indexing_maps = [#same, #row, #same], iterator_types = ["parallel", "parallel"]}}
      ins(%m{n}, %s{n} : {wide}, {norms}) outs(%e : {narrow}) {{
  ^bb0(%in: f32, %sum: f32, %out: bf16):
    %p = arith.addf %sum, %one : f32
    %q = math.rsqrt %p : f32
    %a = arith.mulf %in, %q : f32
    %c = arith.truncf %a : f32 to bf16
    linalg.yield %c : bf16
  }} -> {narrow}"""
        for n in range(count)
    )
    return f"""
#same = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @main(%x0: {narrow}, %w: {square}) -> {narrow} {{
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : f32
  %e = tensor.empty() : {narrow}
  %sums = tensor.empty() : {wide}
  %rows = tensor.empty() : {norms}
  %f = linalg.fill ins(%zero : f32) outs(%sums : {wide}) -> {wide}
  %z = linalg.fill ins(%zero : f32) outs(%rows : {norms}) -> {norms}
  {steps}
  return %x{count} : {narrow}
}}"""


def recurrence(count: int, size: int) -> str:
    """So many steps whose state the next one multiplies, and whose output, of that state, it multiplies by weights."""
    row, square = f"tensor<1x{size}xf32>", f"tensor<{size}x{size}xf32>"
    steps = "".join(
        f"""
  %c{n + 1} = linalg.generic {{indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}}
      ins(%c{n}, %m{n} : {row}, {row}) outs(%e : {row}) {{
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  }} -> {row}
  %h{n + 1} = linalg.generic {{indexing_maps = [#same, #same, #same], iterator_types = ["parallel", "parallel"]}}
      ins(%m{n}, %c{n + 1} : {row}, {row}) outs(%e : {row}) {{
  ^bb0(%p: f32, %q: f32, %out: f32):
    %s = math.sin %q : f32
    %t = arith.addf %p, %s : f32
    linalg.yield %t : f32
  }} -> {row}
  %m{n + 1} = linalg.matmul ins(%h{n + 1}, %w : {row}, {square}) outs(%f : {row}) -> {row}"""
        for n in range(count)
    )
    return f"""
#same = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%m0: {row}, %c0: {row}, %w: {square}) -> {row} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {row}
  %f = linalg.fill ins(%zero : f32) outs(%e : {row}) -> {row}
  {steps}
  return %m{count} : {row}
}}"""


def compiled(program: str, device: str, disable: str = "") -> npuflow.Compiled:
    return npuflow.compile(program, device=device, split=True, disable=[disable] if disable else [])


def cores(found: npuflow.Compiled) -> list[int]:
    (sequence,) = found.sequences
    return [prod(part.compiled.grid) for part in sequence.parts]


def test_small_parts_take_few_cores_and_are_right() -> None:
    program = normed(3, 64, 64)
    few, all_ = compiled(program, "npu1"), compiled(program, "npu1", "cores")
    assert sum(cores(few)) < sum(cores(all_))
    assert few.sequences[0].seconds < 0.8 * all_.sequences[0].seconds
    (sequence,) = few.run(verify=True).sequences
    assert sequence.verified.status.value == "ok"


def test_parts_with_much_to_do_keep_theirs() -> None:
    """700 million multiply-accumulates take 16 cores of 1 GHz some 40 ms, which loading them is nothing to."""
    program = chain(2, 512, 832)
    assert cores(compiled(program, "npu1")) == cores(compiled(program, "npu1", "cores"))


def test_where_tiles_are_sent_their_programs_nothing_is_gained_by_fewer() -> None:
    few, all_ = (compiled(chain(3, 24, 40), "npu2", without) for without in ("", "cores"))
    assert cores(few) == cores(all_)


def test_a_core_takes_what_changes_take_of_each() -> None:
    """What is in place already counts for nothing."""
    (sequence,) = compiled(normed(3, 64, 64), "npu1", "cores").sequences
    phases = sequence.phases({part.name: part.simulate() for part in sequence.parts})
    changes = sum(phase.change_us for phase in phases) * 1e-6
    names = [part.name for part in sequence.parts]
    counted = [prod(part.compiled.grid) for at, part in enumerate(sequence.parts) if at and names[at - 1] != names[at]]
    assert changes > 0
    assert core_seconds(sequence) == pytest.approx(changes / sum(counted))


def test_what_stays_on_the_chip_is_looked_for_once_of_the_same_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts on all cores, and on fewer until that gains nothing: those that are taken are known when all is done."""
    looked: list[list[Program]] = []
    found = residency.resident

    def counted(calls: CallList, phases: HomePhases | None, **how: Any) -> Resident:  # noqa: ANN401
        assert phases is not None
        looked.append([phases.parts[call.name].program for call in calls.calls])
        return found(calls, phases, **how)

    monkeypatch.setattr(residency, "resident", counted)
    compiled(normed(3, 64, 64), "npu1")
    assert len(looked) > 1
    assert len(looked) == len({tuple(map(id, programs)) for programs in looked})


def streams(part: Function) -> int:
    """Of packets that set up a part's tiles: one for each memory tile, and for the cores of a column, or of all."""
    columns = part.compiled.grid[1]
    return columns + (1 if columns == part.compiled.device.columns else columns)


def are_alike(one: Function, other: Function) -> bool:
    """Whether parts do the same to tensors of the same types: whatever their constants are."""
    both = (one.compiled.signature, other.compiled.signature)
    inputs, outputs = ([own.inputs for own in both], [own.outputs for own in both])
    return one.kinds == other.kinds and inputs[0] == inputs[1] and outputs[0] == outputs[1]


def test_short_parts_that_wait_for_their_tiles_take_fewer_columns() -> None:
    program = normed(8, 64, 64)
    few, all_ = compiled(program, "npu2"), compiled(program, "npu2", "tries")
    (sequence,) = all_.sequences
    waiting, calls = stream_seconds(sequence), [*zip(sequence.parts, sequence.timed, strict=True)]
    for part in sequence.parts:
        own = [phase.change_us * 1e-6 / streams(other) for other, phase in calls if are_alike(other, part)]
        assert waiting.get(part.name, 0.0) == pytest.approx(sum(own) / len(own))
    assert waiting
    assert sum(cores(few)) < sum(cores(all_))
    assert few.sequences[0].seconds < 0.97 * sequence.seconds
    (sequence,) = few.run(verify=True).sequences
    assert sequence.verified.status.value == "ok"


def test_what_short_parts_hand_over_is_in_few_memory_tiles(tmp_path: Path) -> None:
    """Each that has some of it is sent descriptors of its own, which a short phase leaves no time to prepare."""
    text, device = (files("npuflow.target") / "devices" / "npu2.toml").read_text(), tmp_path / "soon.toml"
    device.write_text(text.replace("packet_seconds = 0.7e-6", "packet_seconds = 1e-9"))
    program = recurrence(5, 128)
    few, many = (compiled(program, name, "tries") for name in ("npu2", str(device)))
    assert 0 < slabs(few) < slabs(many)
    (sequence,) = few.run(verify=True).sequences
    assert sequence.verified.status.value == "ok"


def slabs(found: npuflow.Compiled) -> int:
    """The slabs of what stays on the chip."""
    (sequence,) = found.sequences
    return sum(len(value.home.slabs) for value in plan_of(sequence.compiled.calls).values if value.home is not None)


def test_a_function_is_normalised_once_however_often_it_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    normalised, fused = (count_runs(kind, monkeypatch) for kind in (CheckInput, FuseMatmuls))
    compiled(Layers(2, 64, 128).text(), "npu2")
    assert len(normalised) == 1
    assert len(fused) > 1


def count_runs(kind: type[Pass], monkeypatch: pytest.MonkeyPatch) -> list[Pass]:
    """The passes of a kind that run from now on."""
    found: list[Pass] = []
    run = kind.run

    def counted(self: Pass, op: ir.Operation, context: PassContext) -> None:
        found.append(self)
        run(self, op, context)

    monkeypatch.setattr(kind, "run", counted)
    return found
