"""Console examples in Markdown: run, excerpted and written back, so that what a page shows is what a command prints.

A fenced block that is marked `console` begins with `$ command`; the rest is its output, standard output and error
together. A comment in front of it chooses the lines to show, and what to shorten in them:

    <!-- keep: scf.for|linalg.pack -->
    <!-- shorten: strided<.*?> -->

Whatever is left out is marked by an ellipsis, `…`: on a line of its own for lines, in place for parts of a line.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from command_server import COMMANDS, HANG_SECONDS, command

ROOT = Path(__file__).resolve().parent.parent
ELLIPSIS = "…"

_BLOCK = re.compile(
    r"(?P<head>(?:<!-- keep: (?P<keep>.*?) -->\n)?(?:<!-- shorten: (?P<shorten>.*?) -->\n)?```console\n)"
    r"\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```\n"
)


@dataclass(frozen=True)
class ConsoleBlock:
    """One example: its command, what the page shows of the output, and how that is chosen."""

    command: str
    shown: str
    keep: str | None
    shorten: str | None

    def excerpt(self) -> str:
        """Runs the command; returns what the page should show."""
        lines = run(self.command).splitlines()
        if self.shorten:
            lines = [re.sub(self.shorten, ELLIPSIS, line) for line in lines]
        if self.keep:
            lines = list(kept(lines, re.compile(self.keep)))
        return "".join(f"{line}\n" for line in lines)


def kept(lines: Iterable[str], wanted: re.Pattern[str]) -> Iterator[str]:
    """The lines that match, one ellipsis for each run of others."""
    skipping = False
    for line in lines:
        if wanted.search(line):
            yield line
            skipping = False
        elif not skipping:
            yield ELLIPSIS
            skipping = True


def argv_of(line: str) -> list[str]:
    """A command line as the program and arguments to start; commands of this repository are the server's."""
    name, *arguments = shlex.split(line)
    if name in COMMANDS:
        return [*command(name), *arguments]
    if name == "python":
        return [sys.executable, *arguments]
    return [name, *arguments]


def run(line: str) -> str:
    """What a command prints when it is run in the repository's root."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    done = subprocess.run(
        argv_of(line),
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )
    return done.stdout


def blocks_in(text: str) -> list[ConsoleBlock]:
    return [_block(match) for match in _BLOCK.finditer(text)]


def refreshed(text: str) -> str:
    """The page with every console block as its command prints it now."""
    return _BLOCK.sub(_refreshed_block, text)


def _block(match: re.Match[str]) -> ConsoleBlock:
    return ConsoleBlock(match["command"], match["output"], match["keep"], match["shorten"])


def _refreshed_block(match: re.Match[str]) -> str:
    return f"{match['head']}$ {match['command']}\n{_block(match).excerpt()}```\n"
