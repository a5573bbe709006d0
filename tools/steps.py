"""What `tools/check` and `tools/nightly` share: steps and how they are run, with a line for each.

Every step runs even if an earlier one failed; the exit code is 1 if any did.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(sysconfig.get_path("scripts"))
WORKERS = str(min(2, os.cpu_count() or 1))
# Python need not compile its modules anew in each process, whatever is usual where the tests run.
ENVIRONMENT = {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": ""}


@dataclass(frozen=True)
class Command:
    """A program to run in the repository's root, with what it needs in its environment."""

    argv: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Step:
    """One check. `summary` picks the lines of its output that say how it ended.

    One that `shares` may run beside its neighbours: it leaves cores idle and measures nothing.
    """

    name: str
    help: str
    commands: Callable[[], Sequence[Command]]
    summary: Callable[[list[str]], list[str]] = lambda lines: lines[-1:]
    shares: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a step ended."""

    step: Step
    passed: bool
    seconds: float
    closing_lines: list[str]

    @property
    def line(self) -> str:
        return f"{self.step.name:<10} {'ok' if self.passed else 'FAILED'} {self.seconds:6.1f} s"


def tool(name: str) -> str:
    """The program of that name next to this Python, else the one on PATH."""
    local = SCRIPTS / name
    return str(local) if local.exists() else shutil.which(name) or str(local)


def module(name: str, *arguments: str, **environment: str) -> Command:
    return Command((sys.executable, "-m", name, *arguments), tuple(environment.items()))


def script(name: str, *arguments: str, **environment: str) -> Command:
    """A Python script, by its path from the repository's root."""
    return Command((sys.executable, str(ROOT / name), *arguments), tuple(environment.items()))


def run_command(command: Command, echo: bool) -> tuple[int, list[str]]:
    """Runs a command; returns its exit code and output lines, echoing them as they come if asked to."""
    process = subprocess.Popen(
        command.argv,
        cwd=ROOT,
        env={**os.environ, **ENVIRONMENT, **dict(command.environment)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    lines: list[str] = []
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if echo:
                print(line, end="", flush=True)
    return process.returncode, lines


def run_steps(steps: Sequence[Step], verbose: bool) -> list[Outcome]:
    """Runs steps in this order, those that share the machine side by side with their neighbours."""
    outcomes: list[Outcome] = []
    for shares, group in itertools.groupby(steps, key=lambda step: step.shares):
        with ThreadPoolExecutor(int(WORKERS) if shares else 1) as pool:
            outcomes += pool.map(partial(run_step, verbose=verbose), group)
    return outcomes


def run_step(step: Step, verbose: bool) -> Outcome:
    """Runs a step and prints what a reader needs: everything if it failed or if `verbose`, else one line."""
    echo = verbose and not step.shares
    title = f"{step.name:<10} "
    if not step.shares:
        print(title, end="\n" if verbose else "", flush=True)
    start = time.monotonic()
    passed, output = True, []
    try:
        for command in step.commands():
            code, lines = run_command(command, echo)
            passed = passed and code == 0  # any code counts, pytest's 5 ("no tests collected") too
            output += lines
    except OSError as error:
        passed = False
        output.append(f"{error.filename}: {error.strerror}; hint: pip install '.[test,check]', and a C++ compiler")
    closing = step.summary([line for line in output if line.strip()])
    outcome = Outcome(step, passed, time.monotonic() - start, closing)
    shown = output if not echo and (verbose or not passed) else []
    print(outcome.line if step.shares else outcome.line.removeprefix(title), *shown, sep="\n", flush=True)
    return outcome


def parser_of(doc: str | None, steps: Sequence[Step]) -> argparse.ArgumentParser:
    """Takes names of steps, and --verbose; its help lists them."""
    described = "\n".join(f"  {step.name:<10} {step.help}" for step in steps)
    parser = argparse.ArgumentParser(
        description=f"{doc}\nsteps:\n{described}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("steps", nargs="*", metavar="STEP", help="steps to run; all by default")
    parser.add_argument("-v", "--verbose", action="store_true", help="show all output as it comes")
    return parser


def chosen(parser: argparse.ArgumentParser, steps: Sequence[Step], names: Sequence[str]) -> list[Step]:
    """The steps of these names, all if there are none; an unknown one is a usage error."""
    known = [step.name for step in steps]
    unknown = sorted(set(names) - set(known))
    if unknown:
        parser.error(f"unknown step {', '.join(unknown)}; hint: the steps are {', '.join(known)}")
    return [step for step in steps if not names or step.name in names]
