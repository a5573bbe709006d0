"""Files that a command line names: no two outputs are one, none is an input, and `-` is standard output."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

from npuflow.errors import UsageError, with_hint
from npuflow.tools.flags import FileUse, Flag, flags_of

STDOUT = "-"

_WRITTEN = (FileUse.WRITTEN, FileUse.WRITTEN_ON_FAILURE)


def check_files(flags: object, inputs: Sequence[str]) -> None:
    """Refuses two outputs to one place, one onto what is read, and one into no directory, before anything is done.

    `inputs` are files that are named without a flag. What is written on failure alone may share standard output.
    """
    from npuflow.core.output import check_directory

    read = {place for path in (*inputs, *_paths_read(flags)) if (place := _place(path)) is not None}
    taken: dict[object, Flag] = {}
    for known, path in _named(flags, _WRITTEN):
        if path != STDOUT:
            check_directory(path)
        place = STDOUT if path == STDOUT else _place(path)
        if place is None or (place == STDOUT and known.file is FileUse.WRITTEN_ON_FAILURE):
            continue
        if place in read:
            raise UsageError(with_hint(f"{known.written} would overwrite the input '{path}'", "write to another file"))
        if place in taken:
            where = "standard output" if path == STDOUT else f"'{path}'"
            what = f"{taken[place].written} and {known.written} both write to {where}"
            raise UsageError(with_hint(what, "give each a file of its own"))
        taken[place] = known


def screen_of(flags: object) -> TextIO:
    """Where a command says what it has to say: standard output, unless an output of it goes there."""
    is_taken = any(path == STDOUT for _, path in _named(flags, (FileUse.WRITTEN,)))
    return sys.stderr if is_taken else sys.stdout


def write_output(path: str, data: bytes) -> None:
    """Writes a file at once, or to standard output."""
    write_output_pieces(path, lambda file: file.write(data))


def write_output_pieces(path: str, write: Callable[[BinaryIO], object]) -> None:
    """The same for what `write` puts into the file, piece by piece."""
    from npuflow.core.output import write_pieces_atomically

    if path != STDOUT:
        write_pieces_atomically(path, write)
        return
    sys.stdout.flush()
    write(sys.stdout.buffer)
    sys.stdout.buffer.flush()


def _named(flags: object, uses: Sequence[FileUse]) -> Iterator[tuple[Flag, str]]:
    for known in flags_of(type(flags)):
        value = getattr(flags, known.attribute)
        if known.file in uses and value:
            yield from ((known, path) for path in ((value,) if isinstance(value, str) else value))


def _paths_read(flags: object) -> Iterator[str]:
    """What is named to be read; a device's file may have a part of the array behind it."""
    for known, path in _named(flags, (FileUse.READ,)):
        yield path.partition(":")[0] if known.metavar == "name|file" else path


def _place(path: str) -> object | None:
    """What two paths have in common that are one file; None for what no one overwrites, as a device or a pipe."""
    file = Path(path)
    try:
        if not file.exists():
            return str(file.resolve())
        found = file.stat()
    except (OSError, ValueError, RuntimeError):
        return None  # what opens it says why it can't
    return (found.st_dev, found.st_ino) if file.is_file() else None
