"""Kernels that are the same code, called by one name: a core's program has each once. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from npuflow.schedule.kernels.kernel_cycles import KernelShape
from npuflow.schedule.nest.nest import Kernel, Loop, Nest, Statement
from npuflow.target import KernelClass


def unify_kernels(nest: Nest, shapes: Sequence[KernelShape], classes: Mapping[int, KernelClass]) -> None:
    """Gives kernels that compute the same, and take the same time, the key of the first of them."""
    _unify(nest.body, shapes, classes, {})


def _unify(
    body: list[Statement],
    shapes: Sequence[KernelShape],
    classes: Mapping[int, KernelClass],
    first: dict[tuple[str, KernelShape, KernelClass], int],
) -> None:
    for place, statement in enumerate(body):
        if isinstance(statement, Loop):
            _unify(statement.body, shapes, classes, first)
        elif isinstance(statement, Kernel):
            alike = (statement.code, shapes[statement.key], classes[statement.key])
            body[place] = replace(statement, key=first.setdefault(alike, statement.key))
