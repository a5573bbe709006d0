"""Exit code 3 is for defects of npuflow, which leave a traceback and a file; a system that refuses is no defect."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from npuflow.core.reproducer import DEFAULT_FILE
from npuflow.tools.npuflow import main
from npuflow.tools.opt import main as opt

ROOT = Path(__file__).parents[2]
PROGRAM = str(ROOT / "test/tools/run.mlir")
PLUGIN = str(ROOT / "test/core/plugins/passes.py")

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_a_directory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", [["run", "--device=toy"], ["verify", "--oracle=jit"]], ids=["run", "verify"])
def test_a_broken_pass_leaves_a_traceback_and_a_reproducer(command: list[str], capsys: Capture) -> None:
    flags = [*command[1:], "--pipeline=test-crash", f"--load={PLUGIN}"]
    assert main([command[0], PROGRAM, *flags]) == 3
    messages = capsys.readouterr().err
    assert "Traceback" in messages
    assert "passes.py" in messages
    replay = f"npuflow {command[0]} {DEFAULT_FILE} {' '.join(flags)}"
    assert f"note: {DEFAULT_FILE} reproduces this; hint: {replay}" in messages
    assert Path(DEFAULT_FILE).read_text() == f"{Path(PROGRAM).read_text().rstrip()}\n// {replay}\n"
    assert main([command[0], DEFAULT_FILE, *flags]) == 3


@pytest.mark.parametrize(
    ("broken", "command"),
    [
        ("npuflow.simulate.run.decode", ["npuflow", "run", PROGRAM, "--device=toy", "--no-verify"]),
        ("npuflow.api.shown.text_of", ["npuflow", "run", PROGRAM, "--device=toy", "--no-verify"]),
        ("npuflow.execute.verify_pipeline.make_references", ["npuflow", "verify", PROGRAM]),
        ("npuflow.tools.opt_chunk.ChunkRun._printed", ["npuflow-opt", PROGRAM]),
    ],
)
def test_a_defect_anywhere_leaves_a_traceback_and_a_reproducer(
    broken: str, command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise AssertionError("cannot be")

    monkeypatch.setattr(broken, fails)
    assert (opt if command[0] == "npuflow-opt" else main)(command[1:]) == 3
    messages = capsys.readouterr().err
    assert "Traceback" in messages
    assert f"error: {command[0]} itself failed: AssertionError: cannot be; hint: please report this" in messages
    assert f"note: {DEFAULT_FILE} reproduces this; hint: {command[0]} " in messages
    assert Path(DEFAULT_FILE).is_file()


def test_a_reproducer_that_cannot_be_written_is_said(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / DEFAULT_FILE).mkdir()
    assert main(["verify", PROGRAM, "--oracle=jit", "--pipeline=test-crash", f"--load={PLUGIN}"]) == 3
    assert "note: no reproducer is written: " in capsys.readouterr().err


def test_memory_that_runs_out_is_no_defect(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr("npuflow.api.shown.text_of", fails)
    assert main(["run", PROGRAM, "--device=toy", "--no-verify"]) == 1
    assert capsys.readouterr().err == "error: memory has run out; hint: try a smaller shape, or free memory\n"
    assert not Path(DEFAULT_FILE).exists()


@pytest.mark.parametrize(
    ("command", "streams", "message"),
    [
        (f"npuflow.tools.npuflow run {PROGRAM} --device=toy --no-verify", ">/dev/full", "No space left on device"),
        (f"npuflow.tools.npuflow run {PROGRAM} --device=toy --no-verify", ">&-", "Bad file descriptor"),
        (f"npuflow.tools.opt {PROGRAM}", ">/dev/full", "No space left on device"),
        (f"npuflow.tools.opt {PROGRAM}", ">&-", "Bad file descriptor"),
        ("npuflow.tools.opt -", "<&-", "Bad file descriptor"),
        ("npuflow.tools.npuflow --help", ">/dev/full", "No space left on device"),
    ],
)
def test_streams_that_fail_are_exit_code_1(command: str, streams: str, message: str, tmp_path: Path) -> None:
    line = f"{sys.executable} -m {command} {streams}"
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == (
        f"error: cannot use standard input or output: {message}; hint: check that it is open, and the disk\n"
    )


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/dev/full", "cannot write output file '/dev/full': No space left on device; hint: free room there"),
        ("/nowhere/report.json", "cannot open output file '/nowhere/report.json'"),
    ],
)
def test_output_files_that_cannot_be_written_are_exit_code_1(
    path: str, message: str, tmp_path: Path, capsys: Capture
) -> None:
    assert main(["run", PROGRAM, "--device=toy", "--no-verify", f"--json={path}"]) == 1
    assert f"error: {message}" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
