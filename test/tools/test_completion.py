"""`npuflow completion`: what shells complete, asked of bash itself, beside what the commands read."""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command_server import HANG_SECONDS, command

from npuflow.core.registry import PASSES, PIPELINES
from npuflow.target.load import device_names
from npuflow.tools.flags import flags_of
from npuflow.tools.npuflow import COMMANDS, main
from npuflow.tools.opt_flags import OptFlags
from npuflow.tools.run_flags import RunFlags

BASH = shutil.which("bash") or "bash"
ASK = """
source "$1"; shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_npuflow "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


def script_for(shell: str) -> str:
    done = subprocess.run(
        [*command("npuflow"), "completion", shell], capture_output=True, text=True, timeout=HANG_SECONDS, check=True
    )
    return done.stdout


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("completion") / "npuflow.bash"
    file.write_text(script_for("bash"))
    return file


def completed(script: Path, *words: str, cwd: Path | None = None) -> list[str]:
    """What bash offers for the last of `words`; as bash does, `=` stands alone."""
    argv = [BASH, "--norc", "-c", ASK, "ask", str(script), *words]
    return subprocess.run(argv, capture_output=True, text=True, cwd=cwd, check=True).stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["npuflow", ""], [one.name for one in COMMANDS]),
        (["/usr/bin/npuflow", "ver"], ["verify"]),
        (["npuflow", "run", "--det"], ["--details"]),
        (["npuflow", "run", "--json"], ["--json="]),
        (["npuflow", "run", "--oracle", "=", ""], ["iree", "jit"]),
        (["npuflow", "run", "--oracle", "="], ["iree", "jit"]),
        (["npuflow", "run", "--oracle=j"], ["--oracle=jit"]),
        (["npuflow", "run", "-oracle", "i"], ["iree"]),
        (["npuflow", "run", "--split", "--no"], ["--no-split", "--no-verify"]),
        (["npuflow", "run", "--no-such", "=", "x"], []),
        (["npuflow", "completion", ""], ["bash", "zsh", "fish"]),
        (["npuflow-opt", "--npuflow-stream"], ["--npuflow-stream-k"]),
        (["npuflow-opt", "--mlir-print-ir-after", "=", "cse,canonicalize-"], []),
        (["npuflow-opt", "--mlir-print-ir-after", "=", "cse,npuflow-peel"], ["cse,npuflow-peel-k"]),
        (["npuflow-opt", "--stop-after", "=", "buff"], ["bufferize"]),
    ],
)
def test_what_bash_offers(words: list[str], offered: list[str], script: Path, tmp_path: Path) -> None:
    assert completed(script, *words, cwd=tmp_path) == offered


def test_flags_are_those_that_the_commands_read(script: Path) -> None:
    offered = {word.rstrip("=") for word in completed(script, "npuflow", "run", "--")}
    assert offered == {one.written for one in flags_of(RunFlags)}
    offered = {word.rstrip("=") for word in completed(script, "npuflow-opt", "--")}
    expected = {one.written for one in flags_of(OptFlags)} - {"-o"}
    assert {word for word in offered if not word.startswith("--npuflow-")} >= expected
    assert offered >= {f"--{name}" for name in (*PASSES, *PIPELINES) if name.startswith("npuflow-")}
    assert "--canonicalize" in offered


def test_devices_and_files_are_offered_where_a_device_is_asked_for(script: Path, tmp_path: Path) -> None:
    (tmp_path / "npu9 mine.toml").touch()
    (tmp_path / "program.mlir").touch()
    assert completed(script, "npuflow", "devices", "toy", cwd=tmp_path) == [n for n in device_names() if "toy" in n]
    assert completed(script, "npuflow", "run", "--device", "=", "npu9", cwd=tmp_path) == ["npu9", "mine.toml"]
    assert completed(script, "npuflow", "run", "pro", cwd=tmp_path) == ["program.mlir"]
    assert completed(script, "npuflow-opt", "-o", "pro", cwd=tmp_path) == ["program.mlir"]


def test_directories_alone_are_offered_for_a_directory(script: Path, tmp_path: Path) -> None:
    (tmp_path / "dumps").mkdir()
    (tmp_path / "dump.mlir").touch()
    assert completed(script, "npuflow-opt", "--mlir-print-ir-tree-dir", "=", "du", cwd=tmp_path) == ["dumps"]


def test_a_tab_completes_in_a_terminal(script: Path, tmp_path: Path) -> None:
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(tmp_path)
        os.execve(
            BASH, ["bash", "--norc", "--noprofile", "-i"], {"PATH": os.environ["PATH"], "TERM": "dumb", "PS1": "> "}
        )
    try:
        os.write(terminal, f"source {script}; echo rea''dy\n".encode())
        shown_until(terminal, "ready\r\n")
        os.write(terminal, b"npuflow run --orac\tji\tx")
        shown_until(terminal, "npuflow run --oracle=jit x")
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def shown_until(terminal: int, expected: str) -> None:
    """Reads what is shown until something is."""
    shown, end = "", time.monotonic() + 60
    while expected not in shown:
        assert time.monotonic() < end, shown
        if select.select([terminal], [], [], 1.0)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_every_flag_with_its_help(shell: str) -> None:
    text = script_for(shell)
    for known in flags_of(RunFlags):
        name = known.written if shell == "zsh" else f"-l {known.name}"
        assert name in text, known
    assert "print the parts of sequences each on a screen of its own" in text
    binary = shutil.which(shell)
    if binary is not None:
        subprocess.run([binary, "-n"], input=text, text=True, check=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "expected one shell, got 0"), (["bsh"], "unknown shell 'bsh'; hint: did you mean bash, zsh, fish?")],
)
def test_wrong_shells(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", *arguments]) == 2
    assert message in capsys.readouterr().err
