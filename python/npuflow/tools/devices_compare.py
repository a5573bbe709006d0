"""`npuflow devices --compare`: one program compiled for several devices, timed on each, in one table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

from npuflow.errors import ExitCode, InputError
from npuflow.tools.outputs import write_output
from npuflow.tools.progress import Progress


def compare_devices(names: Sequence[str], path: str, file: str | None, screen: TextIO) -> ExitCode:
    """Prints the table, and writes it as JSON to a file if there is one; raises if no device takes the program."""
    import npuflow
    from npuflow.report.machines import RefusedMachine, machine_table
    from npuflow.target import load_device

    for name in names:
        load_device(name)
    reports, refused, failures = [], [], []
    with Progress() as progress:
        for name in names:
            progress.step(f"compiling for {name}")
            try:
                reports.append(npuflow.compile(Path(path), device=name).run(verify=False))
            except InputError as error:
                failures.append(error)
                refused.append(RefusedMachine(name, str(error).splitlines()[0]))
    if not reports:
        raise failures[0]
    table = machine_table(reports, refused)
    print("\n".join(table.lines()), file=screen)
    if file is not None:
        write_output(file, (json.dumps(table.json(), indent=2) + "\n").encode())
    return ExitCode.OK
