"""Constants that lie in DRAM as channels read them: one task reads several, and nothing else changes."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
from npuflow.compiler.compiled import Sequence
from npuflow.execute.verification import Status
from npuflow.network.decisions import ALL_DECISIONS, Decision, Decisions
from npuflow.network.plan import tables_of_one_call
from npuflow.simulate.channel_tasks import ChannelTask, tasks_of

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program

WIDTH = 64
# Prefetches and tasks that are set up ahead differ where there are fewer tasks.
BY_ITSELF = ALL_DECISIONS - {Decision.PREFETCH, Decision.TASKS}


def layers(*, shares: bool, as_tables: bool = True) -> str:
    """Products with tables, and a sum with one behind each, which is the same for all where they share it."""
    p = Program("layers")

    def constant(seed: int, rows: int) -> str:
        return p.table(seed, rows, WIDTH) if as_tables else p.argument(rows, WIDTH)

    x, beside = p.argument(32, WIDTH), constant(0, 32)
    for number in range(3):
        other = beside if shares else constant(10 + number, 32)
        x = p.add(p.matmul(x, constant(1 + number, WIDTH)), other)
    return p.text(x)


def compiled(text: str, device: str = "npu2") -> npuflow.Compiled:
    return npuflow.compile(text, "npuflow-stream-k{fuse=false}", device=device, split=True)


@pytest.fixture(scope="module")
def made() -> npuflow.Compiled:
    return compiled(layers(shares=False))


def tasks(sequence: Sequence, decided: Decisions) -> list[list[ChannelTask]]:
    """Of each phase, what channels out of DRAM do."""
    parts = sequence.with_decided(decided).parts
    return [
        [task for one in part.compiled.program.engines if one.kind == "shim dma out" for task in tasks_of(one)]
        for part in parts
    ]


def test_results_are_right_and_phases_no_longer(made: npuflow.Compiled) -> None:
    (sequence,) = made.sequences
    (shown,) = made.run(verify=True, judge=JUDGE).sequences
    assert shown.verified.status is Status.OK
    apart = sequence.with_decided(ALL_DECISIONS - {Decision.TABLES})
    assert sequence.seconds < apart.seconds
    assert apart.with_decided(ALL_DECISIONS).changes == sequence.changes


def test_channels_send_the_same_in_fewer_tasks(made: npuflow.Compiled) -> None:
    (sequence,) = made.sequences
    joined, apart = tasks(sequence, BY_ITSELF), tasks(sequence, BY_ITSELF - {Decision.TABLES})
    assert sum(map(len, joined)) < sum(map(len, apart))
    for own, others in zip(joined, apart, strict=True):
        assert [step for task in own for step in task.transfers] == [
            step for task in others for step in task.transfers
        ], "each channel sends the same, in the same order"
    parts = sequence.with_decided(BY_ITSELF).parts
    assert any(len(task.transfers) > 1 for own in joined for task in own)
    for part, own in zip(parts, joined, strict=True):
        ends = {stream.name: stream.receivers for stream in part.compiled.program.streams}
        for task in own:
            assert len({ends[step.stream] for step in task.transfers}) == 1, "it goes one way"
            assert max(Counter(step.access for step in task.transfers).values()) == 1, "it reads nothing twice"


def test_each_task_is_handed_out_once(made: npuflow.Compiled) -> None:
    (sequence,) = made.sequences
    for decided in (BY_ITSELF, BY_ITSELF - {Decision.TABLES}):
        own = sequence.with_decided(decided)
        for part, moved in zip(own.parts, tasks(sequence, decided), strict=True):
            runs = part.simulate()
            control = next(one for one in runs.program.engines if one.kind == "control")
            handed = sum(1 for step in control.body if getattr(step, "name", "") == "descriptor")
            out = sum(1 for one in runs.program.engines if one.kind == "shim dma in" for _ in tasks_of(one))
            assert handed == len(moved) + out


@pytest.mark.parametrize("text", [layers(shares=True, as_tables=False), layers(shares=False, as_tables=False)])
def test_what_others_lay_out_takes_its_own_tasks(text: str) -> None:
    (sequence,) = compiled(text).sequences
    assert tables_of_one_call(sequence.compiled.calls) == frozenset()
    assert tasks(sequence, BY_ITSELF) == tasks(sequence, BY_ITSELF - {Decision.TABLES})


def test_what_several_phases_read_lies_as_it_is() -> None:
    (sequence,) = compiled(layers(shares=True)).sequences
    calls = sequence.compiled.calls
    shared = {number for number, count in Counter(n for one in calls.calls for n in one.inputs).items() if count > 1}
    assert shared - set(range(calls.arguments)), "a table is read by several"
    assert not shared & tables_of_one_call(calls)


def test_ports_that_write_to_scratchpads_take_a_task_for_each() -> None:
    (sequence,) = compiled(layers(shares=False), "npu4.0").sequences
    assert [part.compiled.program for part in sequence.with_decided(BY_ITSELF).parts] == [
        part.compiled.program for part in sequence.with_decided(BY_ITSELF - {Decision.TABLES}).parts
    ]
