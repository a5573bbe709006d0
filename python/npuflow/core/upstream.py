"""Which passes MLIR itself has.

The bindings cannot list them, so `upstream_passes.txt` holds the names that were found in one build (`tools/
update_upstream_passes.py` regenerates it). The list only serves suggestions and start-up time: MLIR has the last word.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from npuflow.bindings import ir, passmanager

_UNKNOWN = "does not refer to a registered pass"


@cache
def upstream_pass_names() -> frozenset[str]:
    """The passes and pipelines of the MLIR build that the list was generated from."""
    return frozenset(Path(__file__).with_name("upstream_passes.txt").read_text(encoding="utf-8").split())


@cache
def is_upstream_pass(name: str) -> bool:
    """Whether MLIR has a pass or pipeline of this name."""
    return name in upstream_pass_names() or mlir_knows(name)


def mlir_knows(name: str) -> bool:
    """Asks MLIR itself; any refusal but `unknown` means that the pass exists."""
    with ir.Context():
        return bool(known_to_mlir((name,)))


def known_to_mlir(names: Iterable[str]) -> list[str]:
    """Those of `names` that MLIR knows, asked in the ambient context."""
    return [name for name in names if _accepts(name)]


def _accepts(name: str) -> bool:
    try:
        passmanager.PassManager("any").add(name)
    except ValueError as error:
        return _UNKNOWN not in str(error)
    return True
