"""Input text: where it came from, its lines for messages, and its chunks for `--split-input-file`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

SPLIT_MARKER = "// -----"
BYTECODE_MAGIC = b"ML\xefR"


@dataclass(frozen=True)
class Source:
    """One input; `name` is what messages call it."""

    name: str
    data: bytes
    is_file: bool = False

    @property
    def is_bytecode(self) -> bool:
        return self.data.startswith(BYTECODE_MAGIC)

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8", errors="replace")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    def chunks(self, marker: str | None) -> Iterator[Chunk]:
        """The chunks between lines that are only `marker`; the whole without a marker."""
        if marker is None or self.is_bytecode:
            yield Chunk(self, self.data, 0)
            return
        separator = re.compile(rf"\s*{re.escape(marker)}\s*")
        first = 0
        for number, line in enumerate([*self.lines, marker]):
            if separator.fullmatch(line) is None:
                continue
            yield Chunk(self, "\n".join(self.lines[first:number]).encode(), first)
            first = number + 1


@dataclass(frozen=True)
class Chunk:
    """A piece of a source, which starts after `lines_before` lines."""

    source: Source
    data: bytes
    lines_before: int

    @property
    def is_whole_file(self) -> bool:
        return self.source.is_file and self.data is self.source.data

    @property
    def lines(self) -> list[str]:
        return self.data.decode("utf-8", errors="replace").split("\n")

    def parseable(self) -> str | bytes:
        """What to parse so that line numbers are those of the source."""
        if self.source.is_bytecode:
            return self.data
        return "\n" * self.lines_before + self.data.decode("utf-8", errors="replace")
