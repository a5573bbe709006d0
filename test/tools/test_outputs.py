"""Files that command lines name: outputs are apart from each other and from inputs, and `-` is standard output."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_server import HANG_SECONDS, command

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = f"--load={ROOT / 'test' / 'core' / 'plugins' / 'passes.py'}"
ADD = """func.func @f(%a: tensor<8x8xi32>) -> tensor<8x8xi32> {
  %e = tensor.empty() : tensor<8x8xi32>
  %s = linalg.add ins(%a, %a : tensor<8x8xi32>, tensor<8x8xi32>) outs(%e : tensor<8x8xi32>) -> tensor<8x8xi32>
  return %s : tensor<8x8xi32>
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in.mlir").write_text(ADD)
    (tmp_path / "link.mlir").symlink_to("in.mlir")
    (tmp_path / "same.mlir").hardlink_to(tmp_path / "in.mlir")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    name, *rest = arguments
    return subprocess.run(
        [*command(name), *rest], cwd=folder, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["npuflow", "run", "in.mlir", "--json=x", "--html=x"], "--json and --html both write to 'x'"),
        (["npuflow", "run", "in.mlir", "--json=x", "--html=./y/../x"], "--json and --html both write to './y/../x'"),
        (["npuflow", "run", "in.mlir", "--json=-", "--trace=-"], "--json and --trace both write to standard output"),
        (["npuflow", "run", "in.mlir", "--json=in.mlir"], "--json would overwrite the input 'in.mlir'"),
        (["npuflow", "run", "in.mlir", "--json=link.mlir"], "--json would overwrite the input 'link.mlir'"),
        (["npuflow", "run", "in.mlir", "--json=same.mlir"], "--json would overwrite the input 'same.mlir'"),
        (["npuflow", "run", "in.mlir", "--device=d.toml:2", "--json=d.toml"], "--json would overwrite the input"),
        (["npuflow", "run", "-", "--reference=in.mlir", "--json=in.mlir"], "--json would overwrite the input"),
        (["npuflow", "verify", "in.mlir", "--json=in.mlir"], "--json would overwrite the input"),
        (["npuflow", "validate", "in.mlir", "--json=in.mlir"], "--json would overwrite the input"),
        (["npuflow-opt", "in.mlir", "-o", "in.mlir"], "-o would overwrite the input 'in.mlir'"),
        (["npuflow-opt", "in.mlir", "--mlir-generate-reproducer=-"], "-o and --mlir-generate-reproducer both write to"),
        (
            ["npuflow-opt", "in.mlir", "-o", "x", "--mlir-pass-pipeline-crash-reproducer=x"],
            "-o and --mlir-pass-pipeline-crash-reproducer both write to 'x'",
        ),
    ],
)
def test_what_would_be_lost_is_refused_before_anything_is_done(
    arguments: list[str], message: str, folder: Path
) -> None:
    before = sorted(path.name for path in folder.iterdir())
    done = run(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / "in.mlir").read_text() == ADD


@pytest.mark.parametrize(("path", "why"), [("none/out.csv", "No such file or directory"), (".", "Is a directory")])
def test_where_nothing_can_be_written_is_said_before_anything_is_done(path: str, why: str, folder: Path) -> None:
    done = run(folder, "npuflow", "import", "in.mlir", "-o", path)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error: cannot open output file '{path}': {why}; hint: check the directory" in done.stderr


def test_devices_may_take_several_outputs(folder: Path) -> None:
    done = run(folder, "npuflow", "run", "in.mlir", "--device=toy", f"--json={os.devnull}", f"--html={os.devnull}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_report_on_standard_output_is_alone_there(folder: Path) -> None:
    done = run(folder, "npuflow", "run", "in.mlir", "--device=toy", "--json=-", "--html=page.html")
    assert json.loads(done.stdout)["functions"][0]["name"] == "f"
    assert done.stderr.startswith("@f(8x8xi32)")
    assert (folder / "page.html").is_file()
    assert run(folder, "npuflow", "run", "in.mlir", "--device=toy", "--html=-").stdout.startswith("<!")
    assert json.loads(run(folder, "npuflow", "run", "in.mlir", "--device=toy", "--trace=-").stdout)["traceEvents"]
    assert [path.name for path in folder.glob("-*")] == []


def test_checks_on_standard_output_are_alone_there(folder: Path) -> None:
    done = run(folder, "npuflow", "verify", "in.mlir", "--pipeline=cse", "--json=-")
    assert json.loads(done.stdout)["ok"] is True
    assert "right: @f" in done.stderr


def test_a_reproducer_that_is_asked_for_replays_without_a_failure(folder: Path) -> None:
    made = run(folder, "npuflow-opt", "in.mlir", "--canonicalize", "--mlir-generate-reproducer=r.mlir")
    assert made.returncode == 0
    assert 'pipeline: "builtin.module(canonicalize)"' in (folder / "r.mlir").read_text()
    again = run(folder, "npuflow-opt", "--run-reproducer", "r.mlir")
    assert (again.returncode, again.stdout) == (0, made.stdout)
    both = run(folder, "npuflow-opt", "in.mlir", "--split-input-file", "--mlir-generate-reproducer=r.mlir")
    assert both.returncode == 2


def test_a_reproducer_is_there_although_the_pass_fails(folder: Path) -> None:
    arguments = ["in.mlir", PLUGIN, "--test-refuse", "--mlir-generate-reproducer=r.mlir", "-o", "out.mlir"]
    assert run(folder, "npuflow-opt", *arguments).returncode == 1
    assert 'pipeline: "builtin.module(test-refuse)"' in (folder / "r.mlir").read_text()
    assert not (folder / "out.mlir").exists()


def test_a_failures_reproducer_may_go_to_standard_output(folder: Path) -> None:
    named = "--mlir-pass-pipeline-crash-reproducer=-"
    done = run(folder, "npuflow-opt", "in.mlir", PLUGIN, "--test-refuse", named)
    assert 'pipeline: "builtin.module(test-refuse)"' in done.stdout
    assert "note: standard output reproduces this with 1 pass" in done.stderr
    assert "mlir_reproducer" not in run(folder, "npuflow-opt", "in.mlir", "--cse", named).stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_said_to_be_that(folder: Path) -> None:
    done = run(folder, "npuflow", "run", "in.mlir", "--device=toy", "--no-verify", "--json=/dev/full")
    assert done.returncode == 1
    hint = "free room there, or write to another place"
    assert f"error: cannot write output file '/dev/full': No space left on device; hint: {hint}" in done.stderr


@pytest.mark.parametrize("flag", ["--jobs=0", "--jobs=-1"])
def test_counts_begin_at_one(flag: str, folder: Path) -> None:
    done = run(folder, "npuflow", "run", "in.mlir", "--device=toy", flag)
    number = flag.partition("=")[2]
    assert done.returncode == 2
    assert f"flag '--jobs' cannot be '{number}'; hint: give a number, 1 or larger" in done.stderr
