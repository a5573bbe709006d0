"""`npuflow import`: a network from PyTorch or ONNX to a file of MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuflow.errors import ExitCode, UsageError, with_hint
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.compute_type_flags import calibration_flag, calibration_of, compute_type_flag
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.limit_flags import limits_of, memory_limit_flag, time_limit_flag
from npuflow.tools.outputs import check_files, screen_of, write_output, write_output_pieces
from npuflow.tools.progress import Progress

if TYPE_CHECKING:
    from npuflow.bindings import ir
    from npuflow.compiler.conversion import Conversion
    from npuflow.execute.arrays import Array


@dataclass(frozen=True)
class ImportFlags:
    """Every flag with its default."""

    o: str | None = flag(
        None, "write the module to a file, or with '-' to stdout", group="", metavar="file", file=FileUse.WRITTEN
    )
    inputs: tuple[str, ...] = flag(
        (), "types of the inputs, where the network doesn't say them: 1x3x224x224xf32", group="", metavar="type,..."
    )
    compute_type: str | None = compute_type_flag()
    calibration: tuple[str, ...] = calibration_flag()
    time_limit: int = time_limit_flag()
    memory_limit: str | None = memory_limit_flag()
    text: bool = flag(False, "write text, with weights as hexadecimal numbers, instead of bytecode", group="")
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow import",
    owner=ImportFlags,
    summary="makes a network from PyTorch or ONNX a module of linalg on tensors",
    usage="npuflow import <MODULE.py:function | file.pt2 | file.onnx> -o <file.mlir> [flags]",
    notes=(
        "A function without arguments makes a torch.nn.Module, or one and the tuple of its inputs; a function of",
        "tensors is itself imported. What is written is MLIR's bytecode, which all commands read as they read text.",
        "Exit codes: 0 done, 1 a network that cannot be imported, 2 usage, 3 a bug of npuflow.",
    ),
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Runs the command; OK if the module is written."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, sources = given
    source = the_only(sources, "network", COMMAND_LINE.usage)
    if flags.o is None:
        raise UsageError(with_hint("there is nowhere to write to", "-o <file.mlir>, or -o - for stdout"))
    check_files(flags, [source.rpartition(":")[0] or source])
    calibration = calibration_of(flags.calibration, flags.compute_type)
    limits = limits_of(flags.time_limit, flags.memory_limit)
    from npuflow.execute.limits import limited
    from npuflow.importing.input_types import read_input_type
    from npuflow.importing.networks import import_network

    with Progress() as progress, limited(limits):
        progress.step(f"importing {source}")
        types = [read_input_type(text) for text in flags.inputs]
        module = import_network(source, types, as_products=flags.compute_type is not None)
        conversions: tuple[Conversion, ...] = ()
        if flags.compute_type is not None:
            progress.step(f"converting to {flags.compute_type}")
            module, conversions = _converted(module, flags.compute_type, calibration)
    _write(module, flags.o, flags.text)
    print(_summary(module, conversions), file=screen_of(flags))
    return ExitCode.OK


def _write(module: ir.Module, path: str, as_text: bool) -> None:
    if as_text:
        write_output(path, f"{module.operation.get_asm(enable_debug_info=True)}\n".encode())
    else:
        write_output_pieces(path, module.operation.write_bytecode)


def _converted(
    module: ir.Module, compute_type: str, calibration: list[Array] | None
) -> tuple[ir.Module, tuple[Conversion, ...]]:
    from npuflow.api.entry import convert

    converted = convert(module, compute_type, calibration)
    return converted.module, converted.conversions


def _summary(module: ir.Module, conversions: Sequence[Conversion]) -> str:
    """Each function's type, what was converted of it, and its layers."""
    lines = []
    for one in (op for op in module.body.operations if op.operation.name == "func.func"):
        lines.append(f"@{one.name.value}{one.attributes['function_type'].value}")
        lines += [line for each in conversions if each.name == one.name.value for line in _lines_of(each)]
    return "\n".join(lines).rstrip()


def _lines_of(conversion: Conversion) -> list[str]:
    from npuflow.report.conversion_text import conversion_text, layer_lines

    return [conversion_text(conversion), "", *layer_lines(conversion), ""]
