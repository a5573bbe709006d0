"""What calls of a schedule's kernels have to respect, as data. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.errors import SourceLocation


@dataclass(frozen=True)
class KernelInterface:
    """A kernel's arguments, each as text, as are what it returns; its code's estimated size; `is_defined` by a body."""

    arguments: tuple[str, ...]
    results: tuple[str, ...]
    is_defined: bool
    code_bytes: int
    location: SourceLocation | None
