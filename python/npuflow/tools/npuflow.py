"""`npuflow`: the command line with a subcommand for each thing one may want."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import npuflow
from npuflow.errors import ExitCode, UsageError, unknown_name, with_hint
from npuflow.tools.entry import run_and_leave, run_command


@dataclass(frozen=True)
class Command:
    """A subcommand: its module has `run(arguments)`, and is imported when the command is called."""

    name: str
    module: str
    summary: str


COMMANDS = (
    Command("run", "npuflow.tools.run", "time a program on a device, verify it, and say what limits it"),
    Command("compare", "npuflow.tools.compare", "say what differs between two runs, from their reports"),
    Command("ablate", "npuflow.tools.ablate", "say what each decision about functions that run in parts is worth"),
    Command("devices", "npuflow.tools.devices", "list the devices, or what one of them has"),
    Command("verify", "npuflow.tools.verify", "run a pipeline and compare its result with IREE's"),
    Command("validate", "npuflow.tools.validate", "predict published measurements, and say how far off"),
    Command("allocate", "npuflow.tools.allocate", "lay buffers with lifetimes into one memory"),
    Command("split", "npuflow.tools.split", "the tiles of a layer or of fused ops, with halos and padding"),
    Command("import", "npuflow.tools.import_network", "make a network from PyTorch or ONNX a module of linalg"),
    Command("bounds", "npuflow.tools.bounds", "how little a program can move on a device, and what it moves"),
    Command("order", "npuflow.tools.order", "what orders of output tiles load, beside the best one"),
    Command("tune", "npuflow.tools.tune", "find the fastest strategies of a program with the simulator"),
    Command("completion", "npuflow.tools.completion", "make a shell complete commands, flags and names"),
)


def main(argv: list[str] | None = None) -> int:
    """Runs the command; returns the exit code (0 ok, 1 the input's fault, 2 usage, 3 our bug)."""
    return run_command("npuflow", _run, sys.argv[1:] if argv is None else argv)


def script() -> NoReturn:
    """The same as a program of its own."""
    run_and_leave(main)


def _run(arguments: Sequence[str]) -> ExitCode:
    if not arguments or arguments[0] in ("--help", "-help", "-h", "help"):
        print(help_text())
        return ExitCode.OK if arguments else ExitCode.USAGE
    if arguments[0] in ("--version", "-version"):
        from npuflow.tools.versions import version_text

        print(version_text())
        return ExitCode.OK
    chosen = next((command for command in COMMANDS if command.name == arguments[0]), None)
    if chosen is None:
        raise UsageError(_unknown(arguments[0]))
    code: ExitCode = importlib.import_module(chosen.module).run(arguments[1:])
    return code


def help_text() -> str:
    """What there is."""
    lines = [f"npuflow {npuflow.__version__}: compiles linear algebra for spatial NPUs", ""]
    lines += ["usage: npuflow <command> [flags]", "", "Commands (npuflow <command> --help says more):"]
    lines += [f"  {command.name:<10} {command.summary}" for command in COMMANDS]
    lines += ["", "  --version  print the versions of npuflow and of MLIR", "", "npuflow-opt runs single passes."]
    return "\n".join(lines)


def _unknown(name: str) -> str:
    if name.startswith("-"):
        return with_hint(f"unknown flag '{name}'", "npuflow --help; flags of a command come behind its name")
    return unknown_name("command", name, [command.name for command in COMMANDS])


if __name__ == "__main__":
    script()
