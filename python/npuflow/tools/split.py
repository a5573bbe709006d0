"""`npuflow split`: the tiles of layers and of fused chains, what each reads, and its padding."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from npuflow.errors import ExitCode, UsageError, with_hint
from npuflow.tools.command_line import CommandLine, the_only
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.outputs import check_files, screen_of, write_output

_MOST_BYTES = 1 << 24
_STEP = re.compile(r"(?P<kernel>\d{1,9})(?:s(?P<stride>\d{1,9}))?(?:p(?P<before>\d{1,9})(?::(?P<after>\d{1,9}))?)?")
_ADD = re.compile(r"add(?:@(?P<step>\d{1,9}))?")


@dataclass(frozen=True)
class SplitFlags:
    """Every flag with its default."""

    input: str = flag("", "sizes of the input: batch, channels, rows, columns", group="A layer", metavar="n,c,h,w")
    channels: int | None = flag(None, "channels of the result (default: the input's)", group="A layer", metavar="n")
    kernel: str = flag("1,1", "rows and columns of the window (default: 1,1)", group="A layer", metavar="h,w")
    strides: str = flag("1,1", "from window to window (default: 1,1)", group="A layer", metavar="h,w")
    dilations: str = flag("1,1", "between positions of a window (default: 1,1)", group="A layer", metavar="h,w")
    pads: str = flag("0,0,0,0", "top, bottom, left, right (default: 0,0,0,0)", group="A layer", metavar="t,b,l,r")
    groups: int | None = flag(
        None, "groups of channels (default: 1; as many as channels for a pool)", group="A layer", metavar="n"
    )
    chain: str = flag(
        "",
        "ops along one axis: 3s2p1 or 3s2p0:1 is a window of 3 with a stride of 2 and padding, add an element-wise op"
        " on what came before and the argument, add@2 on that and what step 2 made",
        group="A chain",
        metavar="step,...",
    )
    size: int | None = flag(None, "indices of the chain's argument", group="A chain", metavar="n")
    tiles: str = flag(
        "", "how many tiles: along each axis of a layer, or of a chain", group="Tiles", metavar="n,c,h,w|n"
    )
    alignment: str = flag(
        "", "what sizes of tiles, but for the last, are multiples of", group="Tiles", metavar="n,c,h,w|n"
    )
    json: str | None = flag(
        None, "write the tiles to a file, or with '-' to stdout", group="", metavar="file", file=FileUse.WRITTEN
    )
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow split",
    owner=SplitFlags,
    summary="the tiles of a convolution, a pool or a chain of fused ops: what each reads, halos and padding included",
    usage="npuflow split [<file.json>] [flags]",
    notes=(
        "A file has one layer or chain, or a list of them: docs/split.md describes it.",
        "Exit codes: 0 done, 1 a wrong file or no such split, 2 usage, 3 a bug of npuflow.",
    ),
)


def run(arguments: Sequence[str]) -> ExitCode:
    """Runs the command; OK if everything could be split."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, inputs = given
    if bool(inputs) + bool(flags.input) + bool(flags.chain) != 1:
        hint = "npuflow split --input=1,32,64,64 --channels=256 --kernel=3,3 --pads=1,1,1,1 --tiles=1,1,2,1"
        raise UsageError(with_hint("expected a file, --input of a layer or --chain, and one of them", hint))
    check_files(flags, inputs)
    from npuflow.split.cases import split_case

    if inputs:
        path = the_only(inputs, "JSON file", COMMAND_LINE.usage)
        cases = _cases(path)
        made = [split_case(case, f"{path}, number {at + 1}") for at, case in enumerate(cases)]
    else:
        made = [split_case(_layer(flags) if flags.input else _chain(flags), "the command line")]
    screen = screen_of(flags)
    for one in made:
        print("\n".join(one.lines()), file=screen)
    if flags.json is not None:
        write_output(flags.json, (json.dumps([one.json() for one in made], indent=2) + "\n").encode())
    return ExitCode.OK


def _cases(path: str) -> list[object]:
    from npuflow.files import read_json

    found = read_json(path, _MOST_BYTES, "docs/split.md describes the file")
    return found if isinstance(found, list) else [found]


def _layer(flags: SplitFlags) -> dict[str, object]:
    top, bottom, left, right = _numbers(flags.pads, "pads", 4)
    optional = {"channels": flags.channels, "groups": flags.groups}
    return {
        "input": _numbers(flags.input, "input", 4),
        **{key: value for key, value in optional.items() if value is not None},
        "kernel": _numbers(flags.kernel, "kernel", 2),
        "strides": _numbers(flags.strides, "strides", 2),
        "dilations": _numbers(flags.dilations, "dilations", 2),
        "pad": {"top": top, "bottom": bottom, "left": left, "right": right},
        "tiling": _numbers(flags.tiles, "tiles", 4),
        "alignment": _numbers(flags.alignment or "1,1,1,1", "alignment", 4),
    }


def _chain(flags: SplitFlags) -> dict[str, object]:
    steps = [_step(text.strip(), at) for at, text in enumerate(flags.chain.split(","))]
    (tiles,), (alignment,) = _numbers(flags.tiles, "tiles", 1), _numbers(flags.alignment or "1", "alignment", 1)
    return {"size": flags.size, "chain": steps, "tiling": tiles, "alignment": alignment}


def _step(text: str, at: int) -> dict[str, object]:
    before = f"step{at}" if at else "argument"
    added, window = _ADD.fullmatch(text), _STEP.fullmatch(text)
    if added is not None:
        other = f"step{added['step']}" if added["step"] else "argument"
        return {"name": f"step{at + 1}", "reads": [before, other]}
    if window is None:
        raise UsageError(with_hint(f"flag '--chain' has a step '{text}'", "write 3, 3p1, 3s2p0:1, add or add@2"))
    pad = int(window["before"] or 0)
    return {
        "name": f"step{at + 1}",
        "reads": [before],
        "kernel": int(window["kernel"]),
        "stride": int(window["stride"] or 1),
        "pad": [pad, int(window["after"]) if window["after"] else pad],
    }


def _numbers(text: str, name: str, count: int) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != count or not all(part.isdecimal() and len(part) <= len("1000000000") for part in parts):
        hint = f"give {count} whole numbers with commas between them" if count > 1 else "give a whole number"
        raise UsageError(with_hint(f"flag '--{name}' cannot be '{text}'", hint))
    return [int(part) for part in parts]
