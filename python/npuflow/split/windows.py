"""Windows that slide along an axis: what of the input a part of the output reads, halo included, and its padding. Pure.

    input rows of output rows [o, o + n):  o * stride - pad  up to  (o + n - 1) * stride + extent - pad

clipped to the input; what is clipped off is that part's padding.
"""

from __future__ import annotations

from dataclasses import dataclass

from npuflow.errors import InputError, with_hint
from npuflow.split.spans import Span


@dataclass(frozen=True)
class WindowRead:
    """What a part of an axis reads: the input's indices, and how many of padding before and behind them."""

    span: Span
    pad_before: int = 0
    pad_after: int = 0


@dataclass(frozen=True)
class SlidingWindow:
    """A window along one axis: `size` positions, `dilation` indices apart, a `stride` from one output to the next."""

    size: int = 1
    stride: int = 1
    pad_before: int = 0
    pad_after: int = 0
    dilation: int = 1

    @property
    def extent(self) -> int:
        """What it reaches over, positions between its own included."""
        return (self.size - 1) * self.dilation + 1

    def output_size(self, input_size: int) -> int:
        """How many outputs there are; raises InputError where the window doesn't fit."""
        padded = input_size + self.pad_before + self.pad_after
        if padded < self.extent:
            what = (
                f"a window of {self.extent} doesn't fit {input_size} with {self.pad_before} + {self.pad_after} padding"
            )
            raise InputError(with_hint(what, "pad more, or take a smaller window"))
        return (padded - self.extent) // self.stride + 1

    def reads(self, output: Span, input_size: int) -> WindowRead:
        """What a part of the output reads of an input; padding behind that no window reaches is none.

        A part of windows in padding alone reads nothing: its span is empty.
        """
        begin = output.begin * self.stride - self.pad_before
        end = (output.end - 1) * self.stride + self.extent - self.pad_before
        first, last = max(0, min(begin, input_size)), max(0, min(end, input_size))
        return WindowRead(Span(first, last - first), first - begin, end - last)

    def whole(self, input_size: int) -> WindowRead:
        """What an axis that isn't split reads: all of it, and the padding that some window reaches."""
        read = self.reads(Span(0, self.output_size(input_size)), input_size)
        return WindowRead(Span(0, input_size), read.pad_before, read.pad_after)
