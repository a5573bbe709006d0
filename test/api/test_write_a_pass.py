"""The worked example of a pass, run as its documentation says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import npuflow
from npuflow.core.registry import PASSES

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "write_a_pass.py"

MATMUL = """
func.func @f(%a: tensor<{m}x8xi32>, %b: tensor<8x8xi32>, %c: tensor<{m}x8xi32>) -> tensor<{m}x8xi32> {{
  %0 = linalg.matmul ins(%a, %b : tensor<{m}x8xi32>, tensor<8x8xi32>) outs(%c : tensor<{m}x8xi32>) -> tensor<{m}x8xi32>
  return %0 : tensor<{m}x8xi32>
}}
"""


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    npuflow.load_plugin(str(EXAMPLE))


@pytest.mark.parametrize(("rows", "options", "marked"), [(16, "", True), (17, "", False), (17, "{rows=17}", True)])
def test_the_pass_marks_thin_matmuls_only(rows: int, options: str, marked: bool) -> None:
    module = npuflow.parse(MATMUL.format(m=rows), npuflow.new_context())
    sink = npuflow.run_pipeline(module, f"my-flatten-thin{options}")
    assert ("npu.strategy = #npu.strategy<{grid = [1, 4]}>" in str(module)) is marked
    assert len(sink.diagnostics) == marked


def test_its_options_are_documented() -> None:
    assert PASSES["my-flatten-thin"].summary() == "Puts matmuls with few rows on one row of cores."
    with pytest.raises(npuflow.UsageError, match=r"unknown option of my-flatten-thin 'row'; hint: did you mean rows\?"):
        npuflow.parse_pipeline("my-flatten-thin{row=1}")


def test_the_script_prints_its_remark_and_the_strategy() -> None:
    run = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True)
    assert run.stdout.startswith("-:3:8: remark: [my-flatten-thin] 4 rows, at most 8: one row of cores\n")
    assert "npu.strategy" in run.stdout
