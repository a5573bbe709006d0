"""What can stand where on our command lines: flags and what their values may be, from what reads them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass

import npuflow.pipelines  # noqa: F401  (registers our passes and pipelines)
from npuflow.core.registry import PASSES, PIPELINES, load_entry_points
from npuflow.core.upstream import upstream_pass_names
from npuflow.target.load import device_names
from npuflow.tools.command_line import CommandLine
from npuflow.tools.flags import FileUse, Flag, flags_of
from npuflow.tools.npuflow import COMMANDS
from npuflow.tools.opt_flags import OptFlags


@dataclass(frozen=True)
class Values:
    """What a value may be: one of some words, or with `is_list` several behind commas; a file; a directory."""

    words: tuple[str, ...] = ()
    is_list: bool = False
    files: bool = False
    directories: bool = False


@dataclass(frozen=True)
class CompletedFlag:
    """A flag as it is written, `--json`; `needs_value` if it isn't whole without one, no `values` if it takes none."""

    written: str
    help: str
    values: Values | None
    needs_value: bool
    metavar: str = ""


@dataclass(frozen=True)
class CompletedCommand:
    """A command, or a subcommand: `words` are what it begins with."""

    words: tuple[str, ...]
    summary: str
    flags: tuple[CompletedFlag, ...]
    operands: Values


def completed_commands() -> tuple[CompletedCommand, ...]:
    """`npuflow` with its subcommands, then `npuflow-opt`; in it every pass and pipeline is a flag."""
    load_entry_points()
    known = _known_values()
    help_flag = CompletedFlag("--help", "print what there is", None, needs_value=False)
    version_flag = CompletedFlag("--version", "print the versions of npuflow and of MLIR", None, needs_value=False)
    names = Values(tuple(command.name for command in COMMANDS))
    commands = [CompletedCommand(("npuflow",), "", (help_flag, version_flag), names)]
    for command in COMMANDS:
        line: CommandLine[object] = importlib.import_module(command.module).COMMAND_LINE
        flags = tuple(_completed(one, known) for one in line.flags)
        commands.append(CompletedCommand(("npuflow", command.name), command.summary, flags, _operands(line, known)))
    opt = (*(_completed(one, known) for one in flags_of(OptFlags)), *_pass_flags())
    return (*commands, CompletedCommand(("npuflow-opt",), "", opt, Values(files=True)))


def _known_values() -> Mapping[str, Values]:
    """What may stand where a flag's help says `<pass,...>` and the like."""
    stages = (stage.name for pipeline in PIPELINES.values() for stage in pipeline().stages())
    return {
        "name|file": Values(device_names(), files=True),
        "pass,...": Values(tuple(sorted({*PASSES, *upstream_pass_names()})), is_list=True),
        "stage": Values(tuple(dict.fromkeys(stages))),
        "directory": Values(directories=True),
        "pipeline": Values(tuple(sorted(PIPELINES))),
    }


def _completed(one: Flag, known: Mapping[str, Values]) -> CompletedFlag:
    if one.kind is bool:
        return CompletedFlag(one.written, one.help, None, needs_value=False)
    found = known.get(one.metavar) or known.get(one.attribute)
    values = found or Values(one.choices, files=one.file is not FileUse.NONE)
    return CompletedFlag(one.written, one.help, values, one.bare is None, one.metavar)


def _operands(line: CommandLine[object], known: Mapping[str, Values]) -> Values:
    if line.operand == "file":
        return Values(files=True)
    return known.get(line.operand) or Values(tuple(line.operand.split("|")))


def _pass_flags() -> tuple[CompletedFlag, ...]:
    helps = dict.fromkeys(upstream_pass_names(), "a pass of MLIR's")
    helps |= {name: one.summary() for name, one in PASSES.items()}
    helps |= {name: one.summary() for name, one in PIPELINES.items()}
    return tuple(
        CompletedFlag(f"--{name}", helps[name], Values(), needs_value=False, metavar="options")
        for name in sorted(helps)
    )
