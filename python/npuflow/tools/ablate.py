"""`npuflow ablate`: what each decision about functions that run in parts is worth, as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from npuflow.compiler.default import DEFAULT_PIPELINE
from npuflow.errors import ExitCode
from npuflow.network.decisions import OF_PASSES, Decision, Decisions
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.compile_flags import columns_flag, device_flag, pipeline_flag, processes
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of, write_output


@dataclass(frozen=True)
class AblateFlags:
    """Every flag with its default."""

    device: str | None = device_flag()
    columns: int | None = columns_flag()
    pipeline: str = pipeline_flag(DEFAULT_PIPELINE)
    split: bool = flag(False, "run every function of several groups of ops in parts", group="")
    add: bool = flag(
        False,
        f"begin without what passes decide ({', '.join(one.value for one in Decision if one in OF_PASSES)}), and add "
        "one after the other",
        group="",
    )
    jobs: int | None = flag(
        None, "compile in so many processes (default: the processor's cores; 1: none)", group="", metavar="n", least=1
    )
    json: str | None = flag(
        None, "write the table as JSON; '-' is stdout", group="", metavar="file", file=FileUse.WRITTEN
    )
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow ablate",
    owner=AblateFlags,
    summary="how long functions that run in parts take without each decision, and without all",
    usage="npuflow ablate <file.mlir> [--device=<name>] [flags]",
    notes=(
        "npuflow run --disable=<name,...> runs and verifies a function without decisions of this table, or fusion.",
        "Exit codes: 0 done, 1 refused, 2 usage, 3 a bug of npuflow.",
    ),
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Prints a table for each function."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, inputs = given
    path = the_only(inputs, "input file", "npuflow ablate net.mlir --device=npu2")
    check_files(flags, inputs)
    from npuflow.api.ablation import ablations_data, ablations_of, ablations_text, additions_of
    from npuflow.api.compiled import Compiled
    from npuflow.api.entry import compile as compile_source

    devices: list[str] = []

    def compiles(decided: Decisions) -> Compiled:
        """The program, its parts in its own order, of which there may be another one later."""
        left_out = [one.value for one in Decision if one not in decided or one is Decision.ORDER]
        compiled = compile_source(
            Path(path),
            flags.pipeline,
            device=flags.device,
            columns=flags.columns,
            split=flags.split or None,
            disable=left_out,
            jobs=processes(flags.jobs),
        )
        devices.append(compiled.device.name)
        return compiled

    found = list(additions_of(compiles) if flags.add else ablations_of(compiles))
    print(ablations_text(found, devices[0]), file=screen_of(flags))
    if flags.json is not None:
        write_output(flags.json, (json.dumps(ablations_data(found, devices[0]), indent=2) + "\n").encode())
    return ExitCode.OK
