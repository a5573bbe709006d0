"""Ops that were made to take the place of others, as a bundle."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.bindings import ir
from npuflow.core.copies import erase_unused


@dataclass(frozen=True)
class MadeOps:
    """Ops in program order, and their result as those had it whose place they may take."""

    ops: tuple[ir.Operation, ...]
    result: ir.Value

    def erase(self) -> None:
        """Takes them back, with what was made for them alone."""
        erase_unused([self.result.owner.operation])
