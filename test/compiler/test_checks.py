"""What is executed without being asked for, and that nothing is computed for what isn't."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest

import npuflow
from npuflow.compiler import checks
from npuflow.compiler.checks import VERIFIED_MACS, Checks, Subject
from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.sources import FunctionSource, sources_of
from npuflow.execute.references import Judge
from npuflow.execute.verification import Status

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
SCHEDULE, TEXT = (EXAMPLES / "two_cores.mlir").read_text(), (EXAMPLES / "two_cores_reference.mlir").read_text()


def source_of(text: str) -> FunctionSource:
    (source,) = sources_of(npuflow.parse(text, npuflow.new_context()))
    return source


@pytest.fixture(scope="module")
def compiled() -> CompiledFunction:
    return npuflow.compile(SCHEDULE)["matmul"].compiled


def found(subjects: Sequence[Subject], verify: bool | None, pool: Executor) -> list[Status]:
    made = Checks(subjects, verify, 0, pool, lambda _: None, Judge.JIT)
    return [made.of(subject).status for subject in subjects]


def test_what_is_large_is_executed_only_if_asked(compiled: CompiledFunction) -> None:
    small, large = (Subject(compiled, VERIFIED_MACS + more, source_of(TEXT)) for more in (0, 1))
    assert small.too_large() is None
    assert large.too_large() == f"more than {VERIFIED_MACS} multiply-accumulates, and not asked for"
    with ThreadPoolExecutor(1) as pool:
        assert found([small, large], None, pool) == [Status.OK, Status.SKIPPED]
        assert found([large], True, pool) == [Status.OK]
        assert found([small], False, pool) == [Status.SKIPPED]


def test_bytes_count_only_where_nothing_else_says_how_long_it_takes(
    compiled: CompiledFunction, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checks, "EXECUTED_BYTES", 1)
    assert Subject(compiled, 0, source_of(TEXT)).too_large() is None
    assert Subject(compiled, 0, None).too_large() == "more than 1 bytes to be moved, and not asked for"


def test_a_schedule_without_a_reference_is_executed_and_compared_with_nothing(compiled: CompiledFunction) -> None:
    with ThreadPoolExecutor(1) as pool:
        assert found([Subject(compiled, 0, None)], None, pool) == [Status.EXECUTED]


def test_another_program_than_the_schedules_is_noticed(compiled: CompiledFunction) -> None:
    zero = "arith.constant 0 : i32"
    assert zero in TEXT
    with ThreadPoolExecutor(1) as pool:
        other = source_of(TEXT.replace(zero, "arith.constant 1 : i32"))
        assert found([Subject(compiled, 0, other)], None, pool) == [Status.WRONG]
