"""The steps of an engine's program with the loops around them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from npuflow.errors import SourceLocation
from npuflow.schedule.data import model


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
