"""The lines that messages quote: a file is read when a message is about it, and once for all messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import overload

from npuflow.core.sources import BYTECODE_MAGIC
from npuflow.errors import InputError
from npuflow.files import read_bytes

# Networks with their weights written out have hundreds of megabytes; what is longer isn't quoted.
_MOST_BYTES = 1 << 30
_FILES_KEPT = 4


def source_lines(file: str) -> Sequence[str] | None:
    """The lines of a text file that a message is about; None where there is none."""
    try:
        state = Path(file).stat()
    except (OSError, ValueError):
        return None
    return _lines_of(_Version(file, state.st_mtime_ns, state.st_size, state.st_ino))


@dataclass(frozen=True)
class _Version:
    """A file as it is at one time."""

    file: str
    changed_ns: int
    bytes: int
    number: int


@lru_cache(maxsize=_FILES_KEPT)
def _lines_of(version: _Version) -> Sequence[str] | None:
    try:
        data = read_bytes(version.file, _MOST_BYTES)
    except InputError:
        return None
    return None if data.startswith(BYTECODE_MAGIC) else _Lines(data)


@dataclass(frozen=True)
class _Lines(Sequence[str]):
    """A text's lines, each made a string when it is asked for: most never are."""

    data: bytes = field(repr=False)

    @cached_property
    def _ends(self) -> list[int]:
        ends, place = [], self.data.find(b"\n")
        while place >= 0:
            ends.append(place)
            place = self.data.find(b"\n", place + 1)
        return [*ends, len(self.data)]

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        number = range(len(self))[index]
        begin = self._ends[number - 1] + 1 if number else 0
        return self.data[begin : self._ends[number]].decode("utf-8", errors="replace")
