"""Command lines as LLVM's tools read them."""

from dataclasses import dataclass

import pytest

from npuflow.errors import UsageError
from npuflow.tools.flags import OtherFlag, build, flag, flags_of, parse_flags


@dataclass(frozen=True)
class Sample:
    on: bool = flag(False, "a switch", group="g")
    some_text: str = flag("", "text", group="g", metavar="text")
    marker: str | None = flag(None, "may have a value", group="g", metavar="m", bare="---")
    names: tuple[str, ...] = flag((), "many", group="g", metavar="n")
    count: int | None = flag(None, "a number", group="g", metavar="n")
    mode: str = flag("a", "a choice", group="g", choices=("a", "b"))
    output: str = flag("-", "short", group="g", metavar="file", name="o")
    help: bool = flag(False, "help", group="g")


def read(*arguments: str) -> Sample:
    return build(Sample, parse_flags(arguments, flags_of(Sample)))


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], Sample()),
        (["--on"], Sample(on=True)),
        (["-on=false"], Sample(on=False)),
        (["--some-text=x=y"], Sample(some_text="x=y")),
        (["-some-text", "--x"], Sample(some_text="--x")),
        (["--some-text="], Sample(some_text="")),
        (["--marker", "file"], Sample(marker="---")),
        (["--marker=+"], Sample(marker="+")),
        (["--names=a,b", "--names", "c"], Sample(names=("a", "b", "c"))),
        (["--count", "3"], Sample(count=3)),
        (["--mode=b"], Sample(mode="b")),
        (["-o", "f"], Sample(output="f")),
        (["-o=f"], Sample(output="f")),
        (["--on", "--", "--on=no"], Sample(on=True)),
        (["-h"], Sample(help=True)),
        (["--some-text", "-h"], Sample(some_text="-h")),
    ],
)
def test_values(arguments: list[str], expected: Sample) -> None:
    assert read(*arguments) == expected


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("--on=perhaps", "--on=true or --on=false"),
        ("--some-text", "needs a value; hint: --some-text=<text>"),
        ("--count=-1", "give a number"),
        ("--marker=", "flag '--marker' has an empty value; hint: --marker\\[=<m>\\], or leave it out"),
        ("--names= , ", "flag '--names' has an empty value"),
        ("-o=", "flag '-o' has an empty value; hint: -o <file>, or leave it out"),
        ("--mode=c", "unknown value of flag '--mode' 'c'; hint: did you mean"),
    ],
)
def test_wrong_values(argument: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read(argument)


def test_flags_of_others_keep_their_order_and_values() -> None:
    parsed = parse_flags(["-cse", "in.mlir", "--x=a=1 b=2", "-", "--", "-y"], flags_of(Sample))
    assert parsed.others == (OtherFlag("cse", None), OtherFlag("x", "a=1 b=2"))
    assert parsed.positional == ("in.mlir", "-", "-y")
