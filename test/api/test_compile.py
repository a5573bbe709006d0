"""The Python API as a user calls it: parse, run a pipeline, look at the result, many times and in threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import npuflow
from npuflow.bindings import passmanager
from npuflow.errors import ExitCode

ROOT = Path(__file__).resolve().parents[2]
MATMUL = (ROOT / "examples" / "matmul.mlir").read_text()
PIPELINES = ("npuflow-stream-k", "npuflow-pad-pack", "npuflow-pack-peel")
OPTIONS = "{grid=2,2 pack=4,8,8}"


def compiled(pipeline: str, source: str = MATMUL) -> str:
    module = npuflow.parse(source, npuflow.new_context())
    npuflow.run_pipeline(module, pipeline)
    return str(module)


def test_every_public_name_is_there() -> None:
    assert [name for name in npuflow.__all__ if getattr(npuflow, name, None) is None] == []


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'compile_it'"):
        npuflow.compile_it  # noqa: B018  (looking it up is the test)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_two_compilations_in_one_process_agree(pipeline: str) -> None:
    first = compiled(pipeline + OPTIONS)
    assert compiled(pipeline + OPTIONS) == first
    assert "memref<" in first


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_compiling_runs_the_pipelines_that_a_user_sees(pipeline: str) -> None:
    asked = pipeline + OPTIONS
    assert str(npuflow.compile(MATMUL, asked).module) == compiled(f"{asked},npuflow-schedule")


def test_a_pipeline_that_schedules_itself_gives_the_same_and_private_functions_stay() -> None:
    helper = "func.func private @helper(%a: tensor<8xi32>) -> tensor<8xi32> { return %a : tensor<8xi32> }"
    (alone,) = npuflow.compile(MATMUL, PIPELINES[0] + OPTIONS).functions
    (function,) = npuflow.compile(MATMUL + helper, f"{PIPELINES[0]}{OPTIONS},npuflow-schedule").functions
    assert (function.name, function.sizes, function.strategy) == (alone.name, alone.sizes, alone.strategy)
    assert function.simulate().cycles == alone.simulate().cycles


def test_one_context_compiles_two_modules() -> None:
    context = npuflow.new_context()
    modules = [npuflow.parse(MATMUL, context) for _ in range(2)]
    for module in modules:
        npuflow.run_pipeline(module, PIPELINES[0] + OPTIONS)
    assert str(modules[0]) == str(modules[1]) == compiled(PIPELINES[0] + OPTIONS)


def test_threads_with_their_own_contexts_agree_with_one_thread() -> None:
    jobs = [pipeline + OPTIONS for pipeline in PIPELINES] * 4
    alone = {job: compiled(job) for job in jobs[:3]}
    with ThreadPoolExecutor(max_workers=4) as pool:
        together = list(pool.map(compiled, jobs))
    assert together == [alone[job] for job in jobs]


def test_a_failure_in_one_thread_stays_there() -> None:
    def attempt(source: str) -> str:
        try:
            return compiled("canonicalize", source)
        except npuflow.InputError as error:
            return str(error.diagnostics[0].message)

    good, bad = "func.func @f() { return }", "func.func @f() { return"
    with ThreadPoolExecutor(max_workers=4) as pool:
        results = list(pool.map(attempt, [good, bad] * 8))
    assert all("func.func @f()" in text for text in results[::2])
    assert all("expected" in text for text in results[1::2])


def syntax_error() -> None:
    npuflow.parse("func.func @f(", npuflow.new_context(), "broken.mlir")


def invalid_ir() -> None:
    npuflow.parse("func.func @f() -> i32 { return }", npuflow.new_context(), "broken.mlir")


@pytest.mark.parametrize("cause", [syntax_error, invalid_ir])
def test_bad_input_is_located_in_the_named_source(cause: Callable[[], None]) -> None:
    with pytest.raises(npuflow.InputError) as caught:
        cause()
    location = caught.value.diagnostics[0].location
    assert location is not None
    assert (location.file, location.line) == ("broken.mlir", 1)
    assert caught.value.exit_code is ExitCode.INPUT


def test_every_error_of_a_pass_is_in_the_exception() -> None:
    function = """func.func @{name}(%a: tensor<?x8xi32>, %b: tensor<8x8xi32>, %c: tensor<?x8xi32>) -> tensor<?x8xi32> {{
      %0 = linalg.matmul ins(%a, %b : tensor<?x8xi32>, tensor<8x8xi32>) outs(%c : tensor<?x8xi32>) -> tensor<?x8xi32>
      return %0 : tensor<?x8xi32>
    }}
    """
    source = function.format(name="f") + function.format(name="g")
    with pytest.raises(npuflow.InputError) as caught:
        npuflow.run_pipeline(npuflow.parse(source, npuflow.new_context(), "dynamic.mlir"), PIPELINES[0])
    lines = {d.location.line for d in caught.value.diagnostics if d.location}
    assert lines == {2, 6}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("npuflow-stream", "unknown pass 'npuflow-stream'; hint: did you mean npuflow-stream-k"),
        ("npuflow-stream-k{grd=2,2}", "unknown option of npuflow-stream-k 'grd'; hint: did you mean grid"),
        ("npuflow-stream-k{grid=2}", "option 'grid' of npuflow-stream-k cannot be '2': expected 2 values, got 1"),
        ("npuflow-stream-k{pack=a,b,c}", "expected an integer"),
        ("builtin.module(cse", "expected"),
        ("cse{", "missing closing '}'"),
    ],
)
def test_wrong_pipeline_text_is_a_usage_error(text: str, message: str) -> None:
    with pytest.raises(npuflow.UsageError) as caught:
        npuflow.parse_pipeline(text)
    assert message in str(caught.value)
    assert caught.value.exit_code is ExitCode.USAGE


def test_what_is_only_remarked_on_needs_no_location() -> None:
    """Three bytes are no whole word: the simulator moves them, and says so where that can be said."""
    module = npuflow.parse(
        """func.func @f(%a: tensor<3xi8>, %b: tensor<3xi8>) -> tensor<3xi8> {
          %e = tensor.empty() : tensor<3xi8>
          %r = linalg.add ins(%a, %b : tensor<3xi8>, tensor<3xi8>) outs(%e : tensor<3xi8>) -> tensor<3xi8>
          return %r : tensor<3xi8>
        }""",
        npuflow.new_context(),
    )
    with module.context:
        passmanager.PassManager.parse("builtin.module(strip-debuginfo)").run(module.operation)
    assert npuflow.compile(module, device="npu2").run(verify=True).functions[0].verified.status.value == "ok"
