"""Going through a program's steps, and programs that differ from one in a few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from npuflow.simulate.program import Compute, Engine, Loop, Program, Receive, Send, Step

StepChange = Callable[[Step], Step]


def leaves(body: tuple[Step, ...]) -> Iterator[Step]:
    """Every step that is no loop, in program order."""
    for step, _ in counted(body):
        yield step


def counted(body: tuple[Step, ...], times: int = 1) -> Iterator[tuple[Step, int]]:
    """Every step that is no loop, and how often it runs."""
    for step in body:
        if isinstance(step, Loop):
            yield from counted(step.body, times * step.count)
        else:
            yield step, times


def sends(program: Program) -> Iterator[Send]:
    yield from (step for engine in program.engines for step in leaves(engine.body) if isinstance(step, Send))


def receives(program: Program) -> Iterator[Receive]:
    yield from (step for engine in program.engines for step in leaves(engine.body) if isinstance(step, Receive))


def computes(program: Program) -> Iterator[tuple[Compute, int]]:
    """Every kernel call of every engine, and how often it is made."""
    for engine in program.engines:
        yield from ((step, times) for step, times in counted(engine.body) if isinstance(step, Compute))


def with_steps(program: Program, change: StepChange) -> Program:
    """The program with `change` applied to every step that is no loop."""
    return replace(program, engines=tuple(_changed(engine, change) for engine in program.engines))


def _changed(engine: Engine, change: StepChange) -> Engine:
    return replace(engine, body=_changed_body(engine.body, change))


def _changed_body(body: tuple[Step, ...], change: StepChange) -> tuple[Step, ...]:
    return tuple(
        replace(step, body=_changed_body(step.body, change)) if isinstance(step, Loop) else change(step)
        for step in body
    )
