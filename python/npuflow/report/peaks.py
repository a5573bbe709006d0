"""How full memories on the chip get while a function runs in parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from npuflow.compiler.compiled import Sequence
from npuflow.compiler.home_phases import buffer_places
from npuflow.report.traffic import occupancies
from npuflow.simulate.prefetch import Prefetch

# Bytes of a memory, by its number: from one address to another.
_Range = tuple[int, int]
_Place = tuple[int, _Range]


def peaks(sequence: Sequence) -> Mapping[str, int]:
    """The most that one memory of each level on chip holds at a time, with what stays there or came ahead."""
    found: dict[str, int] = {}
    for part in sequence.parts:
        for one in occupancies(part.compiled.program, sequence.device):
            found[one.level] = max(found.get(one.level, 0), one.used_bytes)
    number = sequence.device.home_level
    if number is not None:
        sizes = (covered_bytes(own) for taken in _taken(sequence, number) for own in taken.values())
        found[sequence.device.level(number).name] = max(sizes, default=0)
    return found


def covered_bytes(ranges: Iterable[_Range]) -> int:
    """How many bytes lie in some of the ranges."""
    covered = end = 0
    for first, last in sorted(ranges):
        covered += max(0, last - max(first, end))
        end = max(end, last)
    return covered


def _taken(sequence: Sequence, level: int) -> Iterator[Mapping[int, list[_Range]]]:
    """What is taken of each of a level's memories, phase by phase.

    That are a phase's own buffers, what is at home, and what earlier phases brought for later ones.
    """
    waiting: set[_Place] = set()
    for phase, part in enumerate(sequence.parts):
        taken = defaultdict[int, list[_Range]](list, sequence.plan.resident_in(phase))
        own = buffer_places(part.compiled.program, part.compiled.memory_names(level))
        for number, place in (*waiting, *own.values()):
            taken[number].append(place)
        yield taken
        ahead = part.compiled.ahead
        waiting = waiting.difference(*map(_landed, ahead.finds)).union(*(_landed(one.prefetch) for one in ahead.brings))


def _landed(prefetch: Prefetch) -> Iterator[_Place]:
    """Where it lies until its phase finds it."""
    return ((number, (place.start, place.stop)) for number, place in prefetch.places)
