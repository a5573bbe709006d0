"""`npuflow run` as a command: exit codes, files, what it says about wrong schedules."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_server import HANG_SECONDS, command

from npuflow.errors import UsageError
from npuflow.tools.compile_flags import processes
from npuflow.tools.npuflow import main

ROOT = Path(__file__).resolve().parents[2]
SMALL = """func.func @matmul(%a: tensor<33x40xi8>, %b: tensor<40x50xi8>) -> tensor<33x50xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<33x50xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<33x50xi32>) -> tensor<33x50xi32>
  %sum = linalg.matmul
    ins(%a, %b : tensor<33x40xi8>, tensor<40x50xi8>) outs(%fill : tensor<33x50xi32>) -> tensor<33x50xi32>
  return %sum : tensor<33x50xi32>
}
"""


def run(*arguments: str, text: str = SMALL, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command("npuflow"), *arguments],
        input=text,
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=HANG_SECONDS,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["run"], 2, "expected one input file, got 0"),
        (["run", "-", "--no-such-flag"], 2, "unknown flag of npuflow run '--no-such-flag'"),
        (["run", "-", "--verify", "--no-verify"], 2, "exclude each other"),
        (["run", "-", "--split", "--no-split"], 2, "exclude each other"),
        (["run", "-", "--window=1:2"], 2, "--window is for the page, and there is none; hint: add --html=FILE"),
        (["run", "-", "--html=p.html", "--window=2us:1us"], 2, "begins at 2 us and ends at 1 us"),
        (["run", "-", "--html=p.html", "--window="], 2, "flag '--window' has an empty value"),
        (["run", "-", "--kernel-macs-per-cycle=fast"], 2, "cannot be 'fast'"),
        (["run", "-", "--kernel-macs-per-cycle=0"], 2, "give a number from 0.001 to 1e9"),
        (["run", "-", "--pipeline=npuflow-strem-k"], 2, "did you mean npuflow-stream-k"),
        (["run", "-", "--tile-l2=a,b,c"], 2, "expected an integer"),
        (["run", "missing.mlir"], 1, "no such file"),
        (["run", "-", "--device=npu9"], 2, "did you mean npu2"),
        (["run", "-", "--device="], 2, "flag '--device' has an empty value"),
        (["run", "-", "--device", ""], 2, "flag '--device' has an empty value"),
        (["run", "-", "--device=npu2", "--columns=9"], 1, "a grid of 1x9 cores doesn't fit"),
        (["run", "-", "--grid=9,9"], 1, "<stdin>:5:10: error: grid 9x9"),
        (["run", "-", "--pipeline=canonicalize"], 1, "still works on tensor<"),
        (["devices", "nothing"], 2, "unknown device 'nothing'"),
        (["devices", "--all"], 2, "unknown flag of npuflow devices"),
    ],
)
def test_what_cannot_be_run_is_refused(arguments: list[str], code: int, said: str) -> None:
    result = run(*arguments)
    assert (result.returncode, said in result.stderr) == (code, True), result.stderr
    assert "Traceback" not in result.stderr


def test_what_only_matmuls_are_mapped_by_is_refused_where_there_is_none() -> None:
    exponentials = """func.func @f(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
      %e = tensor.empty() : tensor<8x8xf32>
      %r = linalg.exp ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
      return %r : tensor<8x8xf32>
    }"""
    result = run("run", "-", "--device=toy", "--no-verify", "--tile-l1=4,4,4", "--depth-l1=1", text=exponentials)
    assert result.returncode == 2
    assert "--tile-l1, --depth-l1 would change nothing: '-' has no matmul that is compiled as one" in result.stderr
    assert run("run", "-", "--device=toy", "--no-verify", "--grid=1,2", text=exponentials).returncode == 0


def test_files_are_written_and_agree_with_each_other(tmp_path: Path) -> None:
    files = ["--json=r.json", "--trace=t.json", "--html=p.html"]
    result = run("run", "-", "--device=toy", *files, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    report = json.loads((tmp_path / "r.json").read_text())
    assert f"{report['functions'][0]['cycles']} cycles" in result.stdout
    assert "verified    bit-exact, against IREE" in result.stdout
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert str(report["functions"][0]["cycles"]) in (tmp_path / "p.html").read_text()


def test_nothing_is_written_when_the_input_is_refused(tmp_path: Path) -> None:
    result = run("run", "-", "--grid=9,9", "--json=r.json", "--html=p.html", cwd=tmp_path)
    assert result.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_a_window_chooses_what_the_page_shows(tmp_path: Path) -> None:
    result = run("run", "-", "--device=toy", "--no-verify", "--html=p.html", "--window=1us:2us", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert '"begin":1000,"covered":2000,' in (tmp_path / "p.html").read_text()
    late = run("run", "-", "--device=toy", "--no-verify", "--html=q.html", "--window=1s:", cwd=tmp_path)
    assert (late.returncode, (tmp_path / "q.html").exists()) == (2, False)
    assert "the window begins at 1 s, the run ends at " in late.stderr


def test_runs_are_alike_to_the_byte(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run("run", "-", f"--json={name}.json", f"--trace={name}.trace", cwd=tmp_path).returncode == 0
    for kind in ("json", "trace"):
        assert (tmp_path / f"a.{kind}").read_bytes() == (tmp_path / f"b.{kind}").read_bytes()


def test_devices_lists_what_there_is() -> None:
    listed = [line.split()[0] for line in run("devices").stdout.splitlines()]
    names = ["npu1", "npu1-hawk", "npu2", "npu2.7", "npu4.0", "systolic16", "toy", "toy-patch", "toy-scratchpad"]
    assert listed == names
    assert "16x16x16 in patches of 4x4" in run("devices", "toy-patch").stdout
    details = run("devices", "toy:1").stdout
    assert "2 rows x 1 columns at 1 GHz" in details
    # 64 MAC/cycle on two cores
    assert "0.256 Tops/s in all" in details


def test_devices_says_where_files_are(tmp_path: Path) -> None:
    whole, part = run("devices", "npu2", "npu2:2x4", "--path").stdout.splitlines()
    assert whole == part
    assert 'name = "npu2"' in Path(whole).read_text()
    assert len(run("devices", "--path").stdout.splitlines()) == len(run("devices").stdout.splitlines())
    (tmp_path / "mine.toml").write_text(Path(whole).read_text())
    assert run("devices", "mine.toml:1", "--path", cwd=tmp_path).stdout == f"{tmp_path / 'mine.toml'}\n"
    assert run("devices", "none.toml", "--path", cwd=tmp_path).returncode == 1


def test_the_input_may_judge_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "small.mlir"
    file.write_text(SMALL)
    assert main(["run", str(file), "--device=toy", "--oracle=jit"]) == 0
    assert "verified    bit-exact, against the input's own execution\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flag", "code", "message"),
    [
        ("--time-limit=0", 2, "the time limit cannot be 0; hint: give a number of seconds, 1 or larger"),
        ("--memory-limit=2X", 2, "the memory limit cannot be '2X'; hint: give bytes, or as 512M or 4G"),
        ("--memory-limit=4K", 1, "the functional run of @matmul needs"),
    ],
)
def test_limits_of_a_run(
    flag: str,
    code: int,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "small.mlir"
    file.write_text(SMALL)
    monkeypatch.setattr("npuflow.compiler.references.make_reference", None)  # refused before the work
    assert main(["run", str(file), "--device=toy", "--verify", flag]) == code
    assert message in capsys.readouterr().err


def test_processes_are_what_a_flag_or_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUFLOW_JOBS", "3")
    assert processes(None) == 3
    assert processes(2) == 2
    for nothing in ("0", "-1", "all", "1.5"):
        monkeypatch.setenv("NPUFLOW_JOBS", nothing)
        with pytest.raises(UsageError, match=f"NPUFLOW_JOBS cannot be '{nothing}'; hint: give a number, 1 or larger"):
            processes(None)
        assert processes(2) == 2
    for unset in (lambda: monkeypatch.setenv("NPUFLOW_JOBS", ""), lambda: monkeypatch.delenv("NPUFLOW_JOBS")):
        unset()
        assert processes(None) == len(os.sched_getaffinity(0))


def test_more_processes_say_the_same() -> None:
    two = SMALL + SMALL.replace("@matmul", "@narrow").replace("40x50", "40x18").replace("33x50", "33x18")
    one, more = (run("run", "-", "--device=toy", "--oracle=jit", f"--jobs={jobs}", text=two) for jobs in (1, 3))
    assert one.returncode == 0
    assert "@narrow" in one.stdout
    assert (more.stdout, more.stderr, more.returncode) == (one.stdout, one.stderr, 0)
