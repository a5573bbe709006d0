"""Going through a program's steps, and programs that differ from one in a few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from npuflow.simulate.program import FlatCompute, FlatEngine, FlatLoop, FlatReceive, FlatSend, FlatStep, Program

StepChange = Callable[[FlatStep], FlatStep]


def leaves(body: tuple[FlatStep, ...]) -> Iterator[FlatStep]:
    """Every step that is no loop, in program order."""
    for step, _ in counted(body):
        yield step


def counted(body: tuple[FlatStep, ...], times: int = 1) -> Iterator[tuple[FlatStep, int]]:
    """Every step that is no loop, and how often it runs."""
    for step in body:
        if isinstance(step, FlatLoop):
            yield from counted(step.body, times * step.count)
        else:
            yield step, times


def sends(program: Program) -> Iterator[FlatSend]:
    yield from (step for engine in program.engines for step in leaves(engine.body) if isinstance(step, FlatSend))


def receives(program: Program) -> Iterator[FlatReceive]:
    yield from (step for engine in program.engines for step in leaves(engine.body) if isinstance(step, FlatReceive))


def computes(program: Program) -> Iterator[tuple[FlatCompute, int]]:
    """Every kernel call of every engine, and how often it is made."""
    for engine in program.engines:
        yield from ((step, times) for step, times in counted(engine.body) if isinstance(step, FlatCompute))


def computes_by_kind(program: Program) -> Iterator[tuple[str, FlatCompute, int]]:
    """The same, with the kind of engine that makes it."""
    for engine in program.engines:
        for step, times in counted(engine.body):
            if isinstance(step, FlatCompute):
                yield engine.kind, step, times


def with_steps(program: Program, change: StepChange) -> Program:
    """The program with `change` applied to every step that is no loop; what stays as it is is the same object."""
    return replace(program, engines=tuple(_changed(engine, change) for engine in program.engines))


def _changed(engine: FlatEngine, change: StepChange) -> FlatEngine:
    body = _changed_body(engine.body, change)
    return engine if body is engine.body else replace(engine, body=body)


def _changed_body(body: tuple[FlatStep, ...], change: StepChange) -> tuple[FlatStep, ...]:
    changed = tuple(_changed_loop(step, change) if isinstance(step, FlatLoop) else change(step) for step in body)
    return body if all(new is old for new, old in zip(changed, body)) else changed


def _changed_loop(loop: FlatLoop, change: StepChange) -> FlatLoop:
    body = _changed_body(loop.body, change)
    return loop if body is loop.body else replace(loop, body=body)
