"""`npuflow bounds`: how little can be moved, what the best blocks move, and what a schedule does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from npuflow.errors import ExitCode, UsageError, with_hint
from npuflow.tools.bounds_flags import COMMAND_LINE, BoundsFlags, numbers_of
from npuflow.tools.bounds_sweep import read_bounds, sweep_of
from npuflow.tools.outputs import check_files, screen_of, write_output
from npuflow.tools.progress import Progress

if TYPE_CHECKING:
    from npuflow.bounds.answers import Answer

_LABEL = 14


def run(arguments: Sequence[str]) -> ExitCode:
    """Prints the bounds of what is named."""
    given = COMMAND_LINE.read(arguments)
    if given is None:
        return ExitCode.OK
    flags, inputs = given
    check_files(flags, inputs)
    _check_sweep(flags)
    asked = [name for name in ("gemm", "conv", "chain", "attention") if getattr(flags, name)]
    if len(asked) + len(inputs) != 1:
        what = f"expected one file or one of --gemm, --conv, --chain and --attention, got {len(asked) + len(inputs)}"
        raise UsageError(with_hint(what, "npuflow bounds matmul.mlir, or npuflow bounds --gemm=512,512,512"))
    if flags.sweep is not None:
        return sweep_of(asked, inputs, flags)
    return _of_numbers(asked[0], flags) if asked else _of_file(inputs[0], flags)


def _of_file(path: str, flags: BoundsFlags) -> ExitCode:
    from npuflow.report.bounds_text import function_json, function_lines

    with Progress() as progress:
        progress.step("compiling and simulating")
        found = read_bounds(path, flags.device)
        progress.done()
    device = found.device
    moved = {name: {level: one.bytes_at(level) for level in one.inward_bytes} for name, one in found.moved.items()}
    rates = {name: one.hit_rate for name, one in found.moved.items()}
    if flags.json != "-":
        screen = screen_of(flags)
        print(f"on {device.name} ({device.rows}x{device.columns} cores): bytes that cross each level", file=screen)
        for one in found.functions:
            print("", *function_lines(one, moved.get(one.name, {}), rates.get(one.name)), sep="\n", file=screen)
        if found.why_not:
            print(f"\nnothing moves: {found.why_not}", file=screen)
    if flags.json is not None:
        functions = [function_json(one, moved.get(one.name, {}), rates.get(one.name)) for one in found.functions]
        made = {"device": device.name, "functions": functions, "why_not_compiled": found.why_not or None}
        write_output(flags.json, (json.dumps(made, indent=2) + "\n").encode())
    return ExitCode.OK


def _check_sweep(flags: BoundsFlags) -> None:
    """Refuses files of a sweep without one, and what a sweep has no use for."""
    for name in ("csv", "html"):
        if getattr(flags, name) is not None and flags.sweep is None:
            raise UsageError(with_hint(f"--{name} is what --sweep writes", "add --sweep=M=1..4096"))
    if flags.sweep is not None and flags.capacity is not None:
        raise UsageError(with_hint("--sweep takes the device's memories", "leave --capacity out"))


def _of_numbers(name: str, flags: BoundsFlags) -> ExitCode:
    from npuflow.bounds.answers import QUESTIONS

    question = QUESTIONS[name]
    numbers = numbers_of(name, getattr(flags, name), question)
    answer = question.answer(numbers, flags.capacity)
    if flags.json != "-":
        print("\n".join(_lines(name, numbers, flags.capacity, answer)), file=screen_of(flags))
    if flags.json is not None:
        made = {"op": name, "sizes": dict(zip(question.names, numbers)), "capacity": flags.capacity, **_json_of(answer)}
        write_output(flags.json, (json.dumps(made, indent=2) + "\n").encode())
    return ExitCode.OK


def _lines(name: str, numbers: Sequence[int], capacity: int | None, answer: Answer) -> Iterator[str]:
    room = "" if capacity is None else f", room for {capacity}"
    yield f"{name} {'x'.join(map(str, numbers))}{room}: elements moved"
    yield from _answer_lines(answer)
    if answer.unfused is not None:
        yield "  unfused"
        yield from (f"  {line}" for line in _answer_lines(answer.unfused))
    yield _line("formula", answer.formula.text)
    yield _line("source", answer.formula.source)
    yield _line("holds for", answer.formula.validity)


def _answer_lines(answer: Answer) -> Iterator[str]:
    yield _line("compulsory", str(answer.compulsory))
    if answer.lower_bound is not None:
        value = answer.formula_value or 0
        note = "" if value <= answer.lower_bound else f" (the formula's {value} is no bound here: blocks move less)"
        yield _line("lower bound", f"{answer.lower_bound}{note}")
        yield _line("attainable", _attained_text(answer))
    if answer.fits_at is not None:
        yield _line("all fits", f"from room for {answer.fits_at} on")


def _attained_text(answer: Answer) -> str:
    found = answer.attained
    if found is None:
        return "no block fits"
    ratio = "" if not answer.lower_bound else f", {found.bytes / answer.lower_bound:.3f} of the bound"
    return f"{found.bytes}, keeping {found.stays} {'x'.join(map(str, found.block))}{ratio}"


def _line(label: str, text: str) -> str:
    return f"  {label:<{_LABEL}}{text}"


def _json_of(answer: Answer) -> Mapping[str, object]:
    found = answer.attained
    made: dict[str, object] = {
        "compulsory": answer.compulsory,
        "lower_bound": answer.lower_bound,
        "formula_value": answer.formula_value,
        "attainable": found and found.bytes,
        "stays": found and found.stays,
        "block": found and list(found.block),
        "fits_at": answer.fits_at,
        "formula": answer.formula.text,
        "source": answer.formula.source,
        "validity": answer.formula.validity,
    }
    if answer.unfused is not None:
        apart = answer.unfused.attained
        made["unfused"] = _json_of(answer.unfused)
        made["fusing_saves"] = apart.bytes - found.bytes if apart is not None and found is not None else None
    return made
