"""Where MLIR's bytecode has the data of constants that stand behind a module."""

from __future__ import annotations

from dataclasses import dataclass

_MAGIC = b"ML\xefR"
_ALIGNED = 0x80  # in front of a section's length, with its kind
_RESOURCES = 5  # the kind of section that such data is in
_PADDING = 0xCB


@dataclass
class _BytecodeReader:
    """Takes numbers and bytes one after the other."""

    data: memoryview
    place: int = 0

    def byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def number(self) -> int:
        """As many more bytes as the first has zeros at its end, the lowest first."""
        first = self.byte()
        more = 8 if first == 0 else (first & -first).bit_length() - 1
        rest = int.from_bytes(self.take(more), "little")
        return rest if first == 0 else (first | rest << 8) >> (more + 1)

    def take(self, size: int) -> memoryview:
        self.place += size
        return self.data[self.place - size : self.place]

    def align(self, alignment: int) -> None:
        while self.place % alignment:
            padding = self.byte()
            assert padding == _PADDING, f"0x{padding:x} is no padding of bytecode"


def the_only_resource(bytecode: memoryview) -> memoryview | None:
    """The data of the resource that a module has; None if it has none, or only its name."""
    reader = _BytecodeReader(bytecode)
    assert reader.take(len(_MAGIC)) == _MAGIC, "this is no bytecode"
    reader.number()  # the version
    while reader.byte():  # who made it
        pass
    while reader.place < len(bytecode):
        kind = reader.byte()
        size = reader.number()
        if kind & _ALIGNED:
            reader.align(reader.number())
        if kind & ~_ALIGNED == _RESOURCES and size:
            alignment, size = reader.number(), reader.number()
            if size == 0:
                return None
            reader.align(alignment)
            return reader.take(size)
        reader.take(size)
    return None
