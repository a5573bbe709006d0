"""Hashes that are found once: the same as those that are found each time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from npuflow.target import load_device
from npuflow.target.hashed_once import hashed_once

_asked: list[int] = []


@dataclass(frozen=True)
class Part:
    number: int

    def __hash__(self) -> int:
        _asked.append(self.number)
        return self.number


@hashed_once
@dataclass(frozen=True)
class Whole:
    part: Part
    beside: int = field(default=0, compare=False)


def test_a_hash_is_found_once_for_each_object() -> None:
    one, other = Whole(Part(1)), Whole(Part(1), beside=2)
    _asked.clear()
    assert {one: "found"}[other] == "found"
    assert hash(one) == hash(other)
    assert _asked == [1, 1]
    assert hash(replace(one, part=Part(2))) == hash(Whole(Part(2)))


def test_devices_are_found_by_what_they_are() -> None:
    device = load_device("npu2")
    assert hash(replace(device)) == hash(device)
    assert {device: 1, replace(device, rows=device.rows + 1): 2} == {replace(device): 1, replace(device, rows=5): 2}
