#!/usr/bin/env python3
"""Compiles, verifies and times the layers of networks, and prints how near each comes to its roofline."""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from layers import Layer, all_layers
from measure import Failed, Measured, measure

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "networks.md"
BEGIN, END = "<!-- table: {device} -->", "<!-- end of table -->"
HEAD = (
    "layer", "sizes", "time", "with launch", "roofline", "share", "bound by", "moved", "lowering", "grid, tile",
    "compile", "verified",
)  # fmt: skip


def cells(row: Measured) -> list[str]:
    """A layer's line of the table."""
    return [
        row.layer.name,
        row.layer.operator.sizes,
        f"{row.own_seconds * 1e6:.1f} us",
        f"{row.seconds * 1e6:.1f} us",
        f"{row.roofline_seconds * 1e6:.1f} us {'compute' if row.is_compute_bound else 'dram'}",
        f"{row.share:.0%}",
        row.bound_by,
        f"{row.moved_bytes / row.compulsory_bytes:.2f}x",
        row.choice.lowering,
        str(row.choice),
        f"{row.compile_seconds:.2f} s",
        row.verified,
    ]


def markdown(rows: Sequence[Measured | Failed]) -> str:
    """The tables, one per network."""
    lines: list[str] = []
    for network in dict.fromkeys(row.layer.network for row in rows):
        lines += ["", f"### {network}", "", f"| {' | '.join(HEAD)} |", "|" + " --- |" * len(HEAD)]
        for row in rows:
            if row.layer.network == network:
                found = cells(row) if isinstance(row, Measured) else [row.layer.name, row.layer.operator.sizes, row.why]
                lines.append(f"| {' | '.join(found)} |")
    return "\n".join(lines[1:])


def summary(rows: Iterable[Measured | Failed]) -> str:
    """How many layers of each kind reach how much, in a line."""
    measured = [row for row in rows if isinstance(row, Measured)]
    bound = [row for row in measured if row.is_compute_bound]
    reached = sum(row.share >= 0.6 for row in bound)
    slowest = max((row.compile_seconds for row in measured), default=0.0)
    return (
        f"{len(measured)} layers; {len(bound)} have a roofline that is compute, of which {reached} reach 60 %;"
        f" the slowest compiles in {slowest:.2f} s"
    )


def with_tables(page: str, device: str, text: str) -> str:
    """The page with these tables between the marks."""
    begin = BEGIN.format(device=device)
    if begin not in page:
        raise SystemExit(f"{PAGE.name} has no '{begin}'; hint: add it, and '{END}' behind it")
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(END)
    return f"{before}{begin}\n\n{text}\n\n{END}{after}"


def difference(page: str, wanted: str) -> str:
    """What the page says otherwise, but for how long compiling took; empty if nothing."""
    timeless = [re.sub(r"\d+\.\d\d s\b", "… s", text).splitlines(True) for text in (page, wanted)]
    return "".join(difflib.unified_diff(*timeless, f"docs/{PAGE.name}", "measured", n=0))


def wanted(layers: Sequence[Layer], patterns: Sequence[str]) -> list[Layer]:
    """The layers whose network or name has one of the patterns in it; all without patterns."""
    return [layer for layer in layers if not patterns or any(p in f"{layer.network} {layer.name}" for p in patterns)]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layers", nargs="*", help="only layers that have one of these in their network and name")
    parser.add_argument("--device", default="npu2", help="device name or TOML file")
    parser.add_argument("--no-verify", action="store_true", help="only times them")
    parser.add_argument("--text", metavar="DIR", help="writes each layer's program into a folder instead")
    parser.add_argument("--write", action="store_true", help="writes the tables into docs/networks.md as well")
    parser.add_argument("--check", action="store_true", help="exits with 1 if the page's tables say something else")
    options = parser.parse_args(arguments)
    if (options.write or options.check) and (options.layers or options.no_verify):
        parser.error("--write and --check need all layers, verified; hint: leave names and --no-verify out")
    layers = wanted(all_layers(), options.layers)
    if options.text:
        return write_programs(layers, Path(options.text))
    rows = []
    for layer in layers:
        rows.append(measure(layer, options.device, verify=not options.no_verify))
        row = rows[-1]
        print(
            " | ".join([layer.network, *(cells(row) if isinstance(row, Measured) else [layer.name, row.why])]),
            flush=True,
        )
    print(summary(rows))
    page = PAGE.read_text(encoding="utf-8")
    tables = (
        with_tables(page, options.device, f"{markdown(rows)}\n\n{summary(rows)}.")
        if options.write or options.check
        else page
    )
    if options.write:
        PAGE.write_text(tables, encoding="utf-8")
    change = difference(page, tables) if options.check else ""
    if change:
        print(f"{change}docs/{PAGE.name} is out of date; hint: benchmarks/networks/table.py --write")
    return int(bool(change) or any(isinstance(row, Failed) or row.verified.startswith("WRONG") for row in rows))


def write_programs(layers: Sequence[Layer], folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    for number, layer in enumerate(layers):
        name = "".join(c if c.isalnum() else "-" for c in f"{number:02} {layer.network} {layer.name}".lower())
        (folder / f"{name}.mlir").write_text(layer.operator.text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
