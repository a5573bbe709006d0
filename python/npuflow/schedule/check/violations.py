"""What is wrong with a schedule, as data. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from npuflow.errors import SourceLocation, with_hint
from npuflow.schedule.data import model
from npuflow.schedule.data.channels import Memory


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong, where, and what to change; a warning is what works here but not on every device."""

    what: str
    hint: str
    location: SourceLocation | None
    is_warning: bool = False

    def __str__(self) -> str:
        return with_hint(self.what, self.hint)


@dataclass(frozen=True)
class Need:
    """How much of something is needed beside one memory, and by whom."""

    memory: Memory
    need: int
    users: tuple[tuple[str, int], ...]
    location: SourceLocation | None

    def largest(self) -> str:
        """The three largest users with their shares."""
        ranked = sorted(self.users, key=lambda user: (-user[1], user[0]))
        return ", ".join(f"{name} {amount}" for name, amount in ranked[:3]) + (", ..." if ranked[3:] else "")


def keep_worst(needs: dict[tuple[int, int], Need], key: tuple[int, int], need: Need) -> None:
    """Of like memories the one that needs most, the first of them."""
    if key not in needs or needs[key].need < need.need:
        needs[key] = need


@dataclass(frozen=True)
class PlacedStep:
    """A step that is no loop, with the loops around it: counters' trip counts and coordinates' extents."""

    step: model.Step
    counters: Mapping[str, int]
    coordinates: Mapping[str, int]

    @property
    def ranges(self) -> Mapping[str, int]:
        """How many values each name takes that the step's sums may use."""
        return {name: max(1, count) for name, count in {**self.coordinates, **self.counters}.items()}

    @property
    def location(self) -> SourceLocation | None:
        return getattr(self.step, "location", None)


def placed_steps(engine: model.Engine, extents: Mapping[str, int]) -> Iterator[PlacedStep]:
    """Every step of an engine's program, in order; of loops over coordinates, one turn."""
    yield from _placed(engine.program, {}, {name: extents.get(name, 1) for name in engine.span})


def _placed(
    steps: tuple[model.Step, ...], counters: Mapping[str, int], coordinates: Mapping[str, int]
) -> Iterator[PlacedStep]:
    for step in steps:
        if isinstance(step, model.Repeat):
            yield from _placed(step.body, {**counters, step.counter: step.trips}, coordinates)
        elif isinstance(step, model.Each):
            yield PlacedStep(step, counters, coordinates)
            yield from _placed(step.body, counters, {**coordinates, step.coordinate: step.count})
        else:
            yield PlacedStep(step, counters, coordinates)
