"""Which of two designs is faster: how often predictions rank designs of equal work as measurements do. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from npuflow.validate.summary import Prediction

APART = 0.10  # measured times closer than this don't tell which design is faster: reruns differ by 5 to 15 %


@dataclass(frozen=True)
class Pair:
    """Two measured designs of equal work, and the faster first."""

    faster: Prediction
    slower: Prediction

    @property
    def is_right(self) -> bool:
        return self.faster.predicted_us < self.slower.predicted_us

    @property
    def is_alike(self) -> bool:
        """Whether both are of the same element types."""
        one, other = self.faster.row, self.slower.row
        return (one.in_type, one.out_type) == (other.in_type, other.out_type)

    @property
    def roofline_is_right(self) -> bool | None:
        """What the rooflines say; None where a row has none."""
        faster, slower = self.faster.roofline_us, self.slower.roofline_us
        return None if faster is None or slower is None else faster < slower

    @property
    def ratio(self) -> float:
        """How many times as long the slower took."""
        return self.slower.row.time_us / self.faster.row.time_us


@dataclass(frozen=True)
class Ranking:
    """How many of a device's pairs are ranked right, by predictions and by rooflines, and those that aren't.

    Of all pairs, `alike` are of one element type.
    """

    device: str
    pairs: int
    right: int
    alike: int
    alike_right: int
    roofline_pairs: int
    roofline_right: int
    wrong: tuple[Pair, ...]


def rank(predictions: Sequence[Prediction], device_of: Callable[[Prediction], str]) -> list[Ranking]:
    """One ranking for each device that has pairs; of wrong ones, those that are furthest apart come first."""
    found = []
    for device in dict.fromkeys(map(device_of, predictions)):
        pairs = list(pairs_of([made for made in predictions if device_of(made) == device]))
        if not pairs:
            continue
        wrong = sorted((pair for pair in pairs if not pair.is_right), key=lambda pair: -pair.ratio)
        known = [right for pair in pairs if (right := pair.roofline_is_right) is not None]
        alike = [pair.is_right for pair in pairs if pair.is_alike]
        counts = (len(pairs), len(pairs) - len(wrong), len(alike), sum(alike), len(known), sum(known))
        found.append(Ranking(device, *counts, tuple(wrong)))
    return found


def pairs_of(predictions: Sequence[Prediction]) -> Iterator[Pair]:
    """Designs of one operator with as many multiplications, or elements, whose times are well apart."""
    for one, other in combinations(predictions, 2):
        if _work(one) != _work(other):
            continue
        faster, slower = sorted((one, other), key=lambda made: made.row.time_us)
        if slower.row.time_us > (1 + APART) * faster.row.time_us:
            yield Pair(faster, slower)


def _work(made: Prediction) -> tuple[str, int]:
    row = made.row
    return (row.op, row.m * max(1, row.k) * max(1, row.n))
