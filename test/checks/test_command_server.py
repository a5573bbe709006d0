"""A command of the server is what it is as a process: arguments, streams, directory, environment, and how it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import command_server
import pytest
from command_server import COMMANDS, HANG_SECONDS, command

PROGRAM = "func.func @f() -> index { %one = arith.constant 1 : index return %one : index }"

# A pass that ends the process in a way of its own, or tells what it sees of it.
PLUGIN = """
import os, sys, time
from dataclasses import dataclass

import npuflow

@npuflow.register_pass
@dataclass(frozen=True)
class Do(npuflow.Pass):
    "Does it."
    name = "test-do"
    what: str = npuflow.option("pass", "a statement")

    def run(self, op, context):
        exec(self.what.replace("~", " "))
"""

# What it sees, on both of its streams; and what it leaves to be done: by a thread, and at its end.
SEES = "print(os.environ['SEEN'],~sys.argv[1:],~os.getcwd());print(sys.stdout.isatty(),~file=sys.stderr)"
GOES_ON = "import~atexit,threading;atexit.register(print,'at~last');threading.Timer(0.1,print,['later']).start()"


def own(name: str) -> list[str]:
    """The command as a process of its own."""
    return [sys.executable, "-c", f"import sys; from {COMMANDS[name]} import main; sys.exit(main())"]


def ends(argv: list[str], text: str, cwd: Path) -> tuple[int, str, str]:
    environment = {**os.environ, "SEEN": "here"}
    done = subprocess.run(
        argv, input=text, capture_output=True, text=True, cwd=cwd, env=environment, timeout=HANG_SECONDS, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--canonicalize"], 0),
        (["--canonicalise"], 2),
        (["missing.mlir"], 1),
        (["--load=plugin.py", f"--test-do=what={SEES}"], 0),
        (["--load=plugin.py", f"--test-do=what={GOES_ON}"], 0),
        (["--load=plugin.py", "--test-do=what=os._exit(7)"], 7),
        (["--load=plugin.py", "--test-do=what=os.abort()"], -signal.SIGABRT),
        (["--load=plugin.py", "--test-do=what=os.kill(os.getpid(),~9)"], -signal.SIGKILL),
    ],
)
def test_commands_end_as_processes_do(arguments: list[str], code: int, tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    served = ends([*command("npuflow-opt"), *arguments], PROGRAM, tmp_path)
    assert served[0] == code
    assert served == ends([*own("npuflow-opt"), *arguments], PROGRAM, tmp_path)


def test_output_that_cannot_be_written_ends_a_command_alike() -> None:
    def ended(argv: list[str]) -> tuple[int, str]:
        with Path("/dev/full").open("w") as full:
            done = subprocess.run([*argv, "--help"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stderr.splitlines()[-1]

    assert ended(command("npuflow-opt"))[0] != 0
    assert ended(command("npuflow-opt")) == ended(own("npuflow-opt"))


def test_commands_leave_nothing_to_each_other(tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    assert ends([*command("npuflow-opt"), "--load=plugin.py", "--test-do"], PROGRAM, tmp_path)[0] == 0
    assert ends([*command("npuflow-opt"), "--test-do"], PROGRAM, tmp_path)[0] == 2


def test_a_command_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    (tmp_path / "plugin.py").write_text(PLUGIN)
    forever = "open('began','w').write(str(os.getpid())),~time.sleep(3600)"
    argv = [*command("npuflow-opt"), "--load=plugin.py", f"--test-do=what={forever}"]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, cwd=tmp_path) as client:
        assert client.stdin is not None
        client.stdin.write(PROGRAM.encode())
        client.stdin.close()
        began = tmp_path / "began"
        while not (began.exists() and began.read_text()):
            time.sleep(0.01)
        client.kill()
    while Path("/proc", began.read_text()).exists():
        time.sleep(0.01)


def test_a_server_ends_with_who_started_it() -> None:
    code = (
        "import command_server as c, subprocess; subprocess.run(p := [*c.start(), 'npuflow', '--help']); print(p[-3])"
    )
    path = {**os.environ, "PYTHONPATH": str(Path(command_server.__file__).parent)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=path, check=True)
    assert "usage: npuflow" in done.stdout
    socket = Path(done.stdout.splitlines()[-1])
    while socket.parent.exists():
        time.sleep(0.01)
