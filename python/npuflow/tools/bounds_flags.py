"""The flags of `npuflow bounds`, and the numbers that they hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuflow.errors import UsageError, with_hint
from npuflow.tools.command_line import CommandLine
from npuflow.tools.flags import FileUse, flag

if TYPE_CHECKING:
    from npuflow.bounds.answers import Question


@dataclass(frozen=True)
class BoundsFlags:
    """Every flag with its default."""

    device: str | None = flag(
        None, "the device (default: the file's, else npu1)", group="", metavar="name|file", file=FileUse.READ
    )
    gemm: tuple[str, ...] = flag((), "instead of a file: a matmul's sizes", group="", metavar="M,N,K")
    conv: tuple[str, ...] = flag(
        (),
        "a convolution's: batch, results, output channels, window, input channels",
        group="",
        metavar="B,Ho,Wo,Co,Hk,Wk,Ci[,stride]",
    )
    chain: tuple[str, ...] = flag((), "two matmuls' in a row, (A[M,K] B[K,L]) D[L,N]", group="", metavar="M,K,L,N")
    attention: tuple[str, ...] = flag((), "attention's: rows and head size", group="", metavar="N,d")
    capacity: int | None = flag(None, "elements that the fast memory has room for", group="", metavar="n", least=1)
    sweep: str | None = flag(
        None,
        "change a size of the file's matmuls, or of --gemm, and say where what bounds them changes",
        group="",
        metavar="M=1..4096",
    )
    csv: str | None = flag(None, "write the sweep as CSV", group="", metavar="file", file=FileUse.WRITTEN)
    html: str | None = flag(
        None, "write the sweep as a page with a picture", group="", metavar="file", file=FileUse.WRITTEN
    )
    json: str | None = flag(
        None,
        "write all of it as JSON, to stdout where no file is named",
        group="",
        metavar="file",
        bare="-",
        file=FileUse.WRITTEN,
    )
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow bounds",
    owner=BoundsFlags,
    summary="how little a program, or an op of given sizes, can move, and what bounds it on a device",
    usage="npuflow bounds <file.mlir> [--device=<name>] | --gemm=M,N,K [--capacity=S] [flags]",
    notes=(
        "Numbers of --gemm, --conv, --chain and --attention are elements, and so is what is printed of them.",
        "Exit codes: 0 done, 1 refused, 2 usage, 3 a bug of npuflow.",
    ),
    column=42,
)


def numbers_of(name: str, words: Sequence[str], question: Question) -> tuple[int, ...]:
    """The numbers of a flag, those that may be left out as ones; raises UsageError."""
    names, optional = question.names, question.optional
    usage = f"--{name}={','.join(names)}"
    if not len(names) - optional <= len(words) <= len(names):
        what = f"flag '--{name}' has {len(words)} numbers"
        raise UsageError(with_hint(what, f"give {len(names) - optional} as in {usage}"))
    for word, size in zip(words, names):
        if not word.isdecimal() or not 1 <= int(word[:20]) <= question.most:
            what = f"flag '--{name}': {size} cannot be '{word[:20]}'"
            raise UsageError(with_hint(what, f"give whole numbers from 1 to {question.most} for {usage}"))
    return (*map(int, words), *(1,) * (len(names) - len(words)))
