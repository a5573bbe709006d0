"""Which files of npuflow a matmul passes on its way from MLIR text to a report, in the order in which it meets them.

A file is passed when one of its functions is called; that it is imported doesn't count. The trace is of a process that
has done nothing before, so that no cache leaves anything out: `python tools/way_of_a_tensor.py` prints the page.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

import npuflow
from npuflow.report.text import text_of

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = Path(npuflow.__file__).resolve().parent
EXAMPLE = ROOT / "examples" / "matmul.mlir"
DEVICE = "npu1"


class Trace:
    """The files of the package whose functions are called, the first call of each in order; imports don't count.

    `package` is the folder of the package, for paths below it.
    """

    def __init__(self, package: Path = PACKAGE) -> None:
        self.package = package
        self.files: dict[str, None] = {}
        self._importing = threading.local()
        self._names: dict[str, str | None] = {}

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if code.co_name == "<module>":
            depth = getattr(self._importing, "depth", 0)
            self._importing.depth = depth + {"call": 1, "return": -1}.get(event, 0)
        elif event == "call" and not getattr(self._importing, "depth", 0):
            name = self._name(code.co_filename)
            if name is not None:
                self.files.setdefault(name)

    def _name(self, file: str) -> str | None:
        if file not in self._names:
            path = Path(file)
            inside = self.package in path.parents
            self._names[file] = path.relative_to(self.package).as_posix() if inside else None
        return self._names[file]


def passed_files() -> list[str]:
    """What a matmul passes when it is compiled, timed and reported, relative to the package."""
    trace = Trace()
    threading.setprofile(trace)
    sys.setprofile(trace)
    try:
        text_of(npuflow.compile(EXAMPLE, device=DEVICE).run(verify=False))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(trace.files)


def by_room(files: Sequence[str]) -> Mapping[str, list[str]]:
    """The files of each room, rooms in the order in which they are met."""
    rooms: dict[str, list[str]] = {}
    for file in files:
        room, _, rest = file.partition("/")
        name = room.removesuffix(".py").replace("__init__", "npuflow")
        rooms.setdefault(name, []).append(rest or file)
    return rooms


# The rooms that a tensor goes through; the others serve all of them, or drive.
WAY = (
    *("frontend", "strategy", "fusion", "network", "tiling"),
    *("promotion", "bufferize", "schedule", "simulate", "report"),
)

INTRODUCTION = """\
# The way of a tensor

The files of `python/npuflow` that a matmul passes from MLIR text to a report: {all} of the {there} that there are,
{way} of them in the rooms that it goes through. It is [examples/matmul.mlir](../examples/matmul.mlir) on {device},
compiled, timed and printed in a fresh process; a file counts if one of its functions is called. Rooms and files stand
in the order in which they are first met. What each room is for is in [design.md](design.md#rooms)."""


def table(rooms: Mapping[str, list[str]]) -> list[str]:
    """A row for each room."""
    rows = [f"| `{room}` | {len(files)} | {', '.join(f'`{f}`' for f in files)} |" for room, files in rooms.items()]
    return ["| room | files | which |", "| --- | --- | --- |", *rows]


def page() -> str:
    """The page, in Markdown."""
    rooms = by_room(passed_files())
    way = {room: files for room, files in rooms.items() if room in WAY}
    others = {room: files for room, files in rooms.items() if room not in WAY}
    count = sum(map(len, rooms.values()))
    there = sum(1 for _ in PACKAGE.rglob("*.py"))
    numbers = {"all": count, "there": there, "way": sum(map(len, way.values())), "device": DEVICE}
    lines = [INTRODUCTION.format(**numbers), "", "## Through", "", *table(way)]
    return "\n".join([*lines, "", "## Beside", "", *table(others)])


if __name__ == "__main__":
    print(page())
