"""Ctrl-C, SIGTERM and SIGKILL: real processes, none of which is left behind, and no file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

import npuflow

ROOT = Path(__file__).parents[2]
PROGRAM = str(ROOT / "test/tools/run.mlir")
WRONG = str(ROOT / "test/execute/Inputs/wrong_passes.py")
PACKAGE = str(Path(npuflow.__file__).parents[1])
# Only what never comes is waited for so long.
PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Place:
    """Where a command runs: with IREE's compiler replaced by one that never ends, if it is."""

    work: Path
    temporary: Path
    path: tuple[str, ...]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(self.path), "TMPDIR": str(self.temporary)}
        return subprocess.Popen(
            # Who runs the tests in the background may have Ctrl-C ignored, by what he starts as well.
            ["env", "--default-signal=INT", sys.executable, "-m", *arguments],
            cwd=self.work,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in (*self.work.iterdir(), *self.temporary.iterdir()))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in ("work", "temporary"):
        (tmp_path / name).mkdir()
    return Place(tmp_path / "work", tmp_path / "temporary", (PACKAGE,))


@pytest.fixture
def slow(place: Place, tmp_path: Path) -> Place:
    """IREE's compiler starts another program, as it starts its linker, and waits."""
    compiler = tmp_path / "path/iree/compiler/_mlir_libs/iree-compile"
    compiler.parent.mkdir(parents=True)
    (compiler.parents[1] / "__init__.py").touch()
    compiler.write_text('#!/bin/sh\necho > "$TMPDIR/object.o"\nsleep 1000 &\nwait\n')
    compiler.chmod(0o755)
    return Place(place.work, place.temporary, (str(tmp_path / "path"), PACKAGE))


def descendants(process: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        children = [int(word) for task in tasks for word in (task / "children").read_text().split()]
    except OSError:  # it has ended in the meantime
        return []
    return [one for child in children for one in (child, *descendants(child))]


def lasting(process: int) -> list[int]:
    """The descendants that are there still a second later: others end by themselves."""
    before = descendants(process)
    time.sleep(1)
    return [one for one in descendants(process) if one in before]


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < end, "what the test waits for never came"
        time.sleep(0.01)


@pytest.fixture
def ended() -> Iterator[list[int]]:
    """Processes that must be gone at the end, and are made to go."""
    processes: list[int] = []
    yield processes
    for process in filter(is_running, processes):
        os.kill(process, signal.SIGKILL)


def interrupted(command: subprocess.Popen[str], number: int, ended: list[int], at_least: int) -> tuple[int, str]:
    """The exit code and messages of a command that gets a signal once so many processes of its own stay."""

    def is_there() -> bool:
        ended[:] = lasting(command.pid)
        return len(ended) >= at_least or command.poll() is not None

    wait_for(is_there)
    assert len(ended) >= at_least
    command.send_signal(number)
    _, messages = command.communicate(timeout=PATIENCE_SECONDS)
    return command.returncode, messages


@pytest.mark.parametrize(
    ("arguments", "number", "code"),
    [
        (["npuflow.tools.npuflow", "run", PROGRAM, "--device=toy", "--json=report.json"], signal.SIGINT, 130),
        (["npuflow.tools.npuflow", "verify", PROGRAM, "--json=report.json"], signal.SIGTERM, 143),
        (["npuflow.tools.opt", PROGRAM, "--npuflow-verify", "-o", "out.mlir"], signal.SIGINT, 130),
    ],
    ids=["run", "verify", "opt"],
)
def test_one_signal_ends_a_command_while_iree_compiles(
    arguments: Sequence[str], number: int, code: int, slow: Place, ended: list[int]
) -> None:
    assert interrupted(slow.start(*arguments), number, ended, at_least=2) == (code, "")
    wait_for(lambda: not any(map(is_running, ended)))
    assert slow.files == []


def test_the_compiler_ends_even_where_the_command_cannot_end_it(slow: Place, ended: list[int]) -> None:
    code, _ = interrupted(slow.start("npuflow.tools.npuflow", "run", PROGRAM, "--device=toy"), signal.SIGKILL, ended, 2)
    assert code == -signal.SIGKILL
    wait_for(lambda: not is_running(ended[0]))  # what it has started itself ends with its work


def test_a_program_without_end_ends_with_the_command(place: Place, ended: list[int]) -> None:
    arguments = ["verify", PROGRAM, "--oracle=jit", f"--load={WRONG}", "--pipeline=npuflow-stream-k,wrong-loop-forever"]
    assert interrupted(place.start("npuflow.tools.npuflow", *arguments), signal.SIGINT, ended, 1) == (130, "")
    wait_for(lambda: not any(map(is_running, ended)))
    assert place.files == []


def test_what_is_ignored_stays_ignored() -> None:
    script = (
        "import signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        "from npuflow.tools.signals import ending_at_once\n"
        "with ending_at_once(): signal.raise_signal(signal.SIGHUP); print('goes on', file=sys.stderr)\n"
        "with ending_at_once(): signal.raise_signal(signal.SIGTERM)"
    )
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (143, "goes on\n")
