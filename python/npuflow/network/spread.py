"""Tensors that stay where clusters make them, each a part of its own. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

NOBODY = 255


@dataclass(frozen=True)
class TensorSpread:
    """A tensor over scratchpads: of every `period` of its elements each has, by number, those from one to another.

    Of images channel by channel, say, these are some rows of each channel, and the period is a channel. `owners` says
    of each element, a byte each, which scratchpad's engines make it; others of a window are what its cluster takes from
    its neighbours, if it reads them.
    """

    windows: Mapping[int, tuple[int, int]] = field(hash=False)
    period: int
    owners: bytes = field(repr=False)
    element_bytes: int

    def window_elements(self, number: int) -> int:
        begin, end = self.windows[number]
        return (end - begin) * (len(self.owners) // self.period)

    def window_bytes(self, number: int) -> int:
        return self.window_elements(number) * self.element_bytes

    def place(self, number: int, element: int) -> int:
        """Where an element is in a scratchpad's window."""
        begin, end = self.windows[number]
        return element // self.period * (end - begin) + element % self.period - begin

    def runs(self) -> Iterator[tuple[int, int, int]]:
        """Elements one after the other that a scratchpad owns and has in a row: its number, and from which to which."""
        begin, size = 0, len(self.owners)
        while begin < size:
            owner, most = self.owners[begin], begin - begin % self.period + self.period
            rest = self.owners[begin:most].lstrip(bytes([owner]))
            yield owner, begin, most - len(rest)
            begin = most - len(rest)
