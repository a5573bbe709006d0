"""What is executed without being asked for, and that nothing is computed for what isn't."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path

import pytest

import npuflow
from npuflow.compiler import checks
from npuflow.compiler.checks import Checks, Subject
from npuflow.compiler.compiled_function import CompiledFunction
from npuflow.compiler.references import VERIFIED_MACS, References
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
    made = Checks(subjects, verify, References(pool, 0, Judge.JIT), lambda _: None)
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


def double(size: int) -> str:
    return f"""
    func.func @double_{size}(%x: tensor<{size}xi32>) -> tensor<{size}xi32> {{
      %y = arith.addi %x, %x : tensor<{size}xi32>
      return %y : tensor<{size}xi32>
    }}"""


@pytest.mark.parametrize(
    ("text", "is_begun"),
    [
        (double(8), True),
        (double(VERIFIED_MACS + 1), False),
        (double(8) + double(16), False),
        (double(8).replace("8x", "?x"), False),
        (
            double(8)
            .replace("arith.addi %x, %x", '"tosa.add"(%x, %x)')
            .replace(" : tensor<8xi32>\n", " : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>\n", 1),
            False,
        ),
    ],
    ids=["small", "large", "two", "dynamic", "other ops"],
)
def test_what_is_begun_ahead(text: str, is_begun: bool) -> None:
    """What is not known to be small, or to be compiled at all, waits for that."""
    with ThreadPoolExecutor(1) as pool:
        references = References(pool, 0, Judge.JIT)
        references.begin_ahead(npuflow.parse(text, npuflow.new_context()))
        names = list(references._begun)
    assert names == (["double_8"] if is_begun else [])


def test_what_is_begun_while_it_is_compiled_is_what_is_compared_with() -> None:
    with ThreadPoolExecutor(1) as pool:
        references = References(pool, 0, Judge.JIT)
        compiled = npuflow.compile(double(8), device="toy", on_given=references.begin_ahead)
        own = references.own("double_8")
        assert compiled.run_beside(references).ok
        assert references.own("double_8") is own
