"""What `npuflow-opt` tells about itself: help, passes, dialects."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from npuflow.core.options import OptionSpec, option_specs, print_value
from npuflow.core.registry import PASSES, PIPELINES
from npuflow.core.upstream import upstream_pass_names
from npuflow.tools.flags import Flag, flags_of
from npuflow.tools.opt_flags import OptFlags

# In the order in which data flows through them.
ROOMS = (
    *("core", "frontend", "network", "fusion", "strategy", "tiling", "promotion"),
    *("bufferize", "execute", "schedule", "simulate"),
)
_COLUMN = 44
_WIDTH = 120
_EXIT_CODES = "Exit codes: 0 ok, 1 the input's fault, 2 usage, 3 a bug of npuflow."


def help_text() -> str:
    """Every flag, and every pass and pipeline with its options."""
    lines = ["npuflow-opt: runs passes over MLIR", "", "usage: npuflow-opt [flags] [input file, or - for stdin]"]
    group = ""
    for flag in flags_of(OptFlags):
        if flag.group != group:
            group = flag.group
            lines += ["", f"{group}:"]
        lines += _entry(f"  {flag.spelling}", _flag_help(flag))
    lines += ["", "Passes and named pipelines, run in the order they are given (--NAME or --NAME='option=value ...'):"]
    for name in sorted([*PASSES, *PIPELINES]):
        owner: type = PASSES.get(name) or PIPELINES[name]
        lines += _entry(f"  --{name}", _summary(owner))
        lines += _option_lines(owner)
    lines += ["", f"and MLIR's {len(upstream_pass_names())}, which --list-passes=upstream lists.", "", _EXIT_CODES]
    return "\n".join(lines)


def passes_text() -> str:
    """One line per pass by group, then the named pipelines with their stages and options."""
    groups: dict[str, list[str]] = {}
    for name in sorted(PASSES):
        groups.setdefault(PASSES[name].group, []).append(name)
    lines: list[str] = []
    for group, names in sorted(groups.items(), key=_group_order):
        lines.append(f"{group}:")
        lines += [f"  {name:<{_COLUMN - 4}}  {_summary(PASSES[name])}" for name in names]
        lines.append("")
    lines.append("named pipelines:")
    for name in sorted(PIPELINES):
        lines += _pipeline_lines(name)
    lines += ["", f"MLIR's own passes ({len(upstream_pass_names())}): --list-passes=upstream"]
    return "\n".join(lines)


def _group_order(group: tuple[str, list[str]]) -> tuple[int, str]:
    """The order in which data flows through the rooms; what plugins bring comes last."""
    name = group[0]
    return (ROOMS.index(name) if name in ROOMS else len(ROOMS), name)


def upstream_text() -> str:
    return "\n".join(sorted(upstream_pass_names()))


def dialects_text(irdl_files: Sequence[str]) -> str:
    from npuflow.core.dialects import available_dialects
    from npuflow.dialect.context import new_context
    from npuflow.tools.opt_chunk import load_irdl

    context = new_context()
    load_irdl(irdl_files, context)
    return "Available Dialects: " + ",".join(available_dialects(context))


def _summary(owner: type) -> str:
    return str(owner.summary())  # type: ignore[attr-defined]


def _flag_help(flag: Flag) -> str:
    return flag.help + ("; may be repeated" if flag.kind is tuple and flag.bare is None else "")


def _entry(left: str, text: str) -> Iterator[str]:
    """`left   text`, the text wrapped in its own column; below `left` where that is too long."""
    rows = textwrap.wrap(text, _WIDTH - _COLUMN) or [""]
    if len(left) >= _COLUMN:
        yield left
        left = ""
    for row in rows:
        yield f"{left:<{_COLUMN}}{row}".rstrip()
        left = ""


def _option_lines(owner: type) -> Iterator[str]:
    for spec in option_specs(owner):
        yield from _entry(f"      {spec.key}=<{spec.type_text}>", spec.help + _default_text(spec))


def _default_text(spec: OptionSpec) -> str:
    if isinstance(spec.default, (str, tuple)) and not spec.default:
        return ""
    if spec.default is None:
        return ""
    return f" (default: {print_value(spec.default)})"


def _pipeline_lines(name: str) -> Iterator[str]:
    pipeline = PIPELINES[name]
    owner: type = pipeline
    yield f"  {name:<{_COLUMN - 4}}  {pipeline.summary()}"
    stages = [stage.name for stage in pipeline().stages()]
    text, indents = "stages: " + ", ".join(stages), (" " * 4, " " * 6)
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent=indents[0], subsequent_indent=indents[1], break_on_hyphens=False
    )
    for spec in option_specs(owner):
        yield from _entry(f"    {spec.key}=<{spec.type_text}>", spec.help + _default_text(spec))
