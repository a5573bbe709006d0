"""Going through a program's steps, and programs that differ from one in a few of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from npuflow.simulate.program import FlatCompute, FlatEngine, FlatLoop, FlatReceive, FlatSend, FlatStep, Program

Step = TypeVar("Step", bound=FlatStep)


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


def with_steps(program: Program, kinds: tuple[type[Step], ...], change: Callable[[Step], FlatStep]) -> Program:
    """The program with `change` applied to every step of these kinds; what stays as it is is the same object."""
    concerned = frozenset(kinds)

    def changed(body: tuple[FlatStep, ...]) -> tuple[FlatStep, ...]:
        found = tuple(
            in_loop(step) if isinstance(step, FlatLoop) else change(step) if isinstance(step, kinds) else step
            for step in body
        )
        return body if all(new is old for new, old in zip(found, body)) else found

    def in_loop(loop: FlatLoop) -> FlatLoop:
        body = changed(loop.body)
        return loop if body is loop.body else replace(loop, body=body)

    def of(engine: FlatEngine) -> FlatEngine:
        body = engine.body if concerned.isdisjoint(engine.step_kinds) else changed(engine.body)
        return engine if body is engine.body else replace(engine, body=body)

    return replace(program, engines=tuple(map(of, program.engines)))
