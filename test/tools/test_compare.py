"""`npuflow compare` as a command: what it prints and writes, and what it refuses."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from command_server import HANG_SECONDS, command

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "test" / "tools" / "run.mlir")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [*command("npuflow"), *arguments]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("compare")
    for name, tiles in (("a", "32,16,64"), ("b", "32,32,64")):
        options = ["--device=toy", "--no-verify", f"--tile-l2={tiles}", f"--json={name}.json"]
        assert run(made, "run", PROGRAM, *options).returncode == 0
    (made / "bad.json").write_text("{\n}}")
    return made


def test_what_became_better_is_printed_and_written(folder: Path) -> None:
    done = run(folder, "compare", "a.json", "b.json", "--json=c.json", "--html=c.html")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("a.json -> b.json\n  device      toy (2x2 cores, 1 GHz)\n")
    assert "1 faster, 0 slower, 0 as long as before" in done.stdout
    times = [json.loads((folder / name).read_text())["functions"][0]["time_us"] for name in ("a.json", "b.json")]
    (pair,) = json.loads((folder / "c.json").read_text())["runs"]
    assert [pair["numbers"][0][side] for side in ("first", "second")] == pytest.approx([t / 1e6 for t in times])
    page = (folder / "c.html").read_text()
    assert "<title>a.json and b.json</title>" in page
    assert "{{" not in page
    backwards = run(folder, "compare", "b.json", "a.json").stdout
    assert "0 faster, 1 slower, 0 as long as before" in backwards


def test_standard_output_is_the_outputs_alone(folder: Path) -> None:
    done = run(folder, "compare", "a.json", "b.json", "--json=-")
    assert json.loads(done.stdout)["format"] == "npuflow compare"
    assert done.stderr.startswith("a.json -> b.json")


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "expected two reports, got 0; hint: npuflow compare before.json after.json"),
        (["a.json"], 2, "expected two reports, got 1"),
        (["a.json", "b.json", "a.json"], 2, "expected two reports, got 3"),
        (["a.json", "b.json", "--htm=x"], 2, "unknown flag of npuflow compare '--htm'; hint: did you mean --html"),
        (["a.json", "b.json", "--html=a.json"], 2, "--html would overwrite the input 'a.json'"),
        (["a.json", "b.json", "--html=x", "--json=x"], 2, "--json and --html both write to 'x'"),
        (["a.json", "b.json", "--json="], 2, "flag '--json' has an empty value"),
        (["a.json", "none.json"], 1, "cannot read 'none.json': No such file"),
        (["a.json", "."], 1, "cannot read '.': it is a directory"),
        (["bad.json", "a.json"], 1, "bad.json:2:2: error: this is no JSON: extra data"),
        ([PROGRAM, "a.json"], 1, "error: this is no JSON"),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, message: str, folder: Path) -> None:
    before = sorted(path.name for path in folder.iterdir())
    done = run(folder, "compare", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
