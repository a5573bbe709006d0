"""Weights that phases before bring: into windows that are free, with the same results, in less time."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from judges import JUDGE

import npuflow
from npuflow.compiler.compiled import Sequence
from npuflow.compiler.compiled_function import execute_function
from npuflow.compiler.home_phases import buffer_places
from npuflow.compiler.known_residents import KnownResidents
from npuflow.compiler.phases import phase_changes
from npuflow.compiler.prefetch import prefetched
from npuflow.compiler.prefetch_fills import PhaseFills
from npuflow.compiler.spare_time import ReadyPhase, SpareTime
from npuflow.execute.verification import Status
from npuflow.network.decisions import ALL_DECISIONS, Decision
from npuflow.simulate.platform import Platform
from npuflow.simulate.prefetch import NOTHING_AHEAD, FirstFills, NotAheadError
from npuflow.simulate.run import cycles_of_run

SIZE, CHANNELS, LAYERS = 7, 256, 4


def layer(number: int) -> str:
    """A convolution 3x3, and its sums cut off to bytes."""
    image, wide = f"tensor<1x{CHANNELS}x{SIZE}x{SIZE}xi8>", f"tensor<1x{CHANNELS}x{SIZE}x{SIZE}xi32>"
    padded, weights = f"tensor<1x{CHANNELS}x{SIZE + 2}x{SIZE + 2}xi8>", f"tensor<{CHANNELS}x{CHANNELS}x3x3xi8>"
    return f"""
  %p{number} = tensor.pad %x{number} low[0, 0, 1, 1] high[0, 0, 1, 1] {{
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : i8
  }} : {image} to {padded}
  %e{number} = tensor.empty() : {wide}
  %f{number} = linalg.fill ins(%none : i32) outs(%e{number} : {wide}) -> {wide}
  %s{number} = linalg.conv_2d_nchw_fchw ins(%p{number}, %w{number} : {padded}, {weights})
      outs(%f{number} : {wide}) -> {wide}
  %o{number} = tensor.empty() : {image}
  %x{number + 1} = linalg.generic {{indexing_maps = [#id, #id],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} ins(%s{number} : {wide})
      outs(%o{number} : {image}) {{
  ^bb0(%in: i32, %out: i8):
    %shifted = arith.shrsi %in, %eight : i32
    %cut = arith.trunci %shifted : i32 to i8
    linalg.yield %cut : i8
  }} -> {image}"""


def program() -> str:
    image, weights = f"tensor<1x{CHANNELS}x{SIZE}x{SIZE}xi8>", f"tensor<{CHANNELS}x{CHANNELS}x3x3xi8>"
    arguments = ", ".join(f"%w{number}: {weights}" for number in range(LAYERS))
    return f"""
#id = affine_map<(a, b, c, d) -> (a, b, c, d)>
func.func @layers(%x0: {image}, {arguments}) -> {image} {{
  %zero = arith.constant 0 : i8
  %none = arith.constant 0 : i32
  %eight = arith.constant 8 : i32
  {"".join(map(layer, range(LAYERS)))}
  return %x{LAYERS} : {image}
}}"""


@pytest.fixture(scope="module", params=["npu4.0", "npu2"])
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> npuflow.Compiled:
    """Where ports reach scratchpads, and where what comes goes through memory tiles.

    With so few phases, npu2's control processor has no time left; this one writes a descriptor as fast as a word.
    """
    text = (files("npuflow.target") / "devices" / f"{request.param}.toml").read_text()
    text = re.sub(r"(?m)^(descriptor|packet)_seconds = \S+", r"\1_seconds = 0.09e-6", text)
    device = tmp_path_factory.mktemp("devices") / f"{request.param}.toml"
    device.write_text(text)
    return npuflow.compile(program(), "npuflow-stream-k{fuse=false}", device=device, split=True)


@pytest.fixture(scope="module")
def sequence(compiled: npuflow.Compiled) -> Sequence:
    return compiled.sequences[0]


def test_phases_are_shorter_and_results_right(compiled: npuflow.Compiled, sequence: Sequence) -> None:
    (shown,) = compiled.run(verify=True, judge=JUDGE).sequences
    assert shown.verified.status is Status.OK
    assert shown.verified.message == "bit-exact"
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.PREFETCH})
    assert all(part.compiled.ahead == NOTHING_AHEAD for part in apart.parts)
    brought = [one.number for part in sequence.parts for one in part.compiled.ahead.brings]
    assert set(brought) <= set(range(1, LAYERS + 1)), "what is brought are weights"
    assert len(set(brought)) >= 2
    before, after = (sum(run.cycles for run in one.simulate()) for one in (apart, sequence))
    assert after < before
    # And back again.
    assert sum(run.cycles for run in apart.with_decided(ALL_DECISIONS).simulate()) == after


def test_reports_count_every_byte_of_a_memory_once(compiled: npuflow.Compiled, sequence: Sequence) -> None:
    assert sequence.device.home_level is not None
    level = sequence.device.level(sequence.device.home_level)
    taken = np.zeros((len(sequence.parts), sequence.device.rows * sequence.device.columns, level.bytes), bool)
    for phase, compiled_part in enumerate(part.compiled for part in sequence.parts):
        names = compiled_part.memory_names(level.number)
        for number, (begin, end) in buffer_places(compiled_part.program, names).values():
            taken[phase, number, begin:end] = True
    for value in sequence.plan.values:
        for slab, size in value.slabs:
            first, last = value.at_home
            taken[first : last + 1, slab.column, slab.address : slab.address + size] = True
    for first, last, number, place in landed_windows(sequence):
        taken[first : last + 1, number, place] = True
    (shown,) = compiled.run(verify=False).sequences
    assert shown.peak_bytes[level.name] == taken.sum(axis=2).max() <= level.usable_bytes


def test_dram_moves_no_more(sequence: Sequence) -> None:
    def moved(one: Sequence) -> int:
        runs = one.simulate()
        return sum(run.traffic[m.name].read_bytes for run in runs for m in run.program.memories if m.level == 3)

    apart = sequence.with_decided(ALL_DECISIONS - {Decision.PREFETCH})
    assert moved(sequence) == moved(apart)


def landed_windows(sequence: Sequence) -> list[tuple[int, int, int, slice]]:
    """The phase that brings something, the one that finds it, the memory's number, and the bytes there."""
    found = []
    for phase, part in enumerate(sequence.parts):
        for one in part.compiled.ahead.brings:
            readers = (
                n for n, call in enumerate(sequence.compiled.calls.calls) if n > phase and one.number in call.inputs
            )
            reader = next(readers)
            found += [(phase, reader, *place) for place in one.prefetch.places]
    return found


def test_what_is_brought_lies_in_windows_that_are_free(sequence: Sequence) -> None:
    windows = landed_windows(sequence)
    assert windows
    level = sequence.device.home_level
    assert level is not None
    for first, last, number, place in windows:
        for phase in range(first, last + 1):
            compiled = sequence.parts[phase].compiled
            inside = {name for one in compiled.ahead.brings for name in one.buffer_names}
            inside |= {buffer.name for one in compiled.ahead.finds for buffer in one.buffers}
            own = buffer_places(compiled.program, compiled.memory_names(level))
            for other, (begin, end) in (taken for name, taken in own.items() if name not in inside):
                assert other != number or place.stop <= begin or end <= place.start
        for value in sequence.plan.values:
            begins, ends = value.at_home
            for slab, size in value.slabs if begins <= last and first <= ends else ():
                assert slab.column != number or place.stop <= slab.address or slab.address + size <= place.start
    for n, (first, last, number, place) in enumerate(windows):
        for other_first, other_last, other, taken in windows[n + 1 :]:
            if other == number and other_first <= last and first <= other_last:
                assert place.stop <= taken.start or taken.stop <= place.start


def test_a_phase_computes_with_what_was_brought(sequence: Sequence) -> None:
    # All else is right: with zeros in the place of weights, sums are zeros.
    finding = [part.compiled for part in sequence.parts if part.compiled.ahead.finds]
    part = finding[-1]
    rng = np.random.default_rng(0)
    inputs = [rng.integers(-128, 128, spec.shape).astype(spec.dtype) for spec in part.signature.inputs]
    places = [place for one in part.ahead.finds for place in one.places]
    zeros = {(n, place.start): np.zeros(place.stop - place.start, np.uint8) for n, place in places}
    values = {one.number: np.zeros(one.prefetch.bytes, np.uint8) for one in part.ahead.brings}
    (found,) = execute_function(part, inputs, values, zeros).outputs
    (right,) = execute_function(part.away(), inputs).outputs
    assert np.any(found != right)


def test_slots_that_are_filled_before_begin_full(sequence: Sequence) -> None:
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.PREFETCH, Decision.AHEAD})
    part = apart.parts[1].compiled
    assert part.device.home_level is not None
    memories = Platform(part.device.arranged(*part.grid)).memory_names(part.device.home_level)
    weights = next(m.name for m in part.program.memories if m.bytes == CHANNELS * CHANNELS * 9)
    prefetch, behind = FirstFills(part.program, weights, memories).found()
    filled = sum(slots for _, slots in prefetch.buffers.values())
    assert filled == sum(len(arrival.landings) for arrival in prefetch.arrivals)
    before = {one.name: one.initial for one in part.program.semaphores}
    full = sum(max(0, one.initial - before[one.name]) for one in behind.semaphores)
    empty = sum(max(0, before[one.name] - one.initial) for one in behind.semaphores)
    assert full == empty == filled


def test_what_nobody_reads_is_said(sequence: Sequence) -> None:
    part = sequence.parts[0].compiled.away()
    with pytest.raises(NotAheadError, match="no slot is filled"):
        FirstFills(part.program, "nobody", ()).found()


def test_without_room_nothing_is_brought(sequence: Sequence) -> None:
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.PREFETCH, Decision.AHEAD})
    parts = [part.compiled for part in apart.parts]
    device = parts[0].device
    levels = tuple(replace(one, bytes=1024) if one.number == device.home_level else one for one in device.levels)
    small = [replace(part, device=replace(device, levels=levels)) for part in parts]
    changes = phase_changes(parts, ALL_DECISIONS)
    found = prefetched(apart.compiled.calls, small, changes, KnownResidents())
    assert all(phase.ahead == NOTHING_AHEAD for phase in found)


def test_no_program_is_timed_twice(sequence: Sequence, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a part, wherever its buffers lie, whatever trial it is of, and if it is planned again."""
    timed, time = [], ReadyPhase.time

    def noted(ready: ReadyPhase) -> SpareTime | None:
        program = ready.tasks.program
        buffers = (replace(one, address_bytes=0) for one in program.buffers)
        memories = (replace(one, bytes=0) for one in program.memories)
        timed.append((ready.part.name, replace(program, buffers=tuple(buffers), memories=tuple(memories))))
        return time(ready)

    monkeypatch.setattr(ReadyPhase, "time", noted)
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.PREFETCH, Decision.AHEAD})
    parts = [part.compiled for part in apart.parts]
    changes, known = phase_changes(parts, ALL_DECISIONS), KnownResidents()
    found = prefetched(apart.compiled.calls, parts, changes, known)
    assert any(phase.ahead.brings for phase in found)
    assert len(timed) == len(set(timed)) > len(parts)
    assert prefetched(apart.compiled.calls, parts, changes, known) == found
    assert len(timed) == len(set(timed))


def test_slots_are_as_many_as_can_be_filled(sequence: Sequence) -> None:
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.PREFETCH, Decision.AHEAD})
    part = apart.parts[1].compiled
    assert part.device.home_level is not None
    memories = Platform(part.device.arranged(*part.grid)).memory_names(part.device.home_level)
    weights = next(m.name for m in part.program.memories if m.bytes == CHANNELS * CHANNELS * 9)
    begins = PhaseFills(part.program, [(1, weights)], memories)
    deeper = begins.deeper(64)
    if deeper is None:
        assert begins.whole.firsts[1].moved_bytes == CHANNELS * CHANNELS * 9, "buffers hold all of it"
        return
    assert deeper.moved_bytes > begins.whole.moved_bytes
    filled = {buffer.name: slots for buffer, (_, slots) in deeper.firsts[1].buffers.items()}
    assert all(filled[name] == depth for name, depth in deeper.depths.items())
    assert cycles_of_run(deeper.program) <= cycles_of_run(begins.whole.program)
    # Of one transfer no more than a slot is left.
    one = begins.of(deeper.arrivals[:1], deeper)
    assert [len(first.arrivals) for first in one.firsts.values()] == [1]
