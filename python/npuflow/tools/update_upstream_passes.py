"""Regenerates core/upstream_passes.txt: tries every plausible string in MLIR's shared library as a pass name.

`python -m npuflow.tools.update_upstream_passes` rewrites it, `--check` says whether it is fresh.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from npuflow.bindings import ir
from npuflow.core import upstream
from npuflow.provider import libraries

# Pass names are kebab-case C strings; the linker merges a string with one that ends in it, hence the suffixes.
_CANDIDATE = re.compile(rb"([a-z][a-z0-9]*(?:[-_][a-z0-9]+)*)\0")
_LONGEST_NAME = 80


def candidates(library: bytes) -> set[str]:
    """Strings of a library that look like pass names, and their ends."""
    found: set[str] = set()
    for match in _CANDIDATE.finditer(library):
        words = match[1].decode().split("-")
        found.update("-".join(words[start:]) for start in range(len(words)))
    return {name for name in found if 2 < len(name) <= _LONGEST_NAME}


def registered_passes() -> list[str]:
    """Every pass and pipeline that the installed MLIR accepts, sorted."""
    names: set[str] = set()
    for library in libraries():
        names |= candidates(library.read_bytes())
    with ir.Context():
        return upstream.known_to_mlir(sorted(names))


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    target = Path(upstream.__file__).with_name("upstream_passes.txt")
    text = "\n".join(registered_passes()) + "\n"
    if "--check" not in arguments:
        target.write_text(text, encoding="utf-8")
        return 0
    if target.is_file() and target.read_text(encoding="utf-8") == text:
        return 0
    print(f"{target} is stale; hint: run python -m npuflow.tools.update_upstream_passes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
