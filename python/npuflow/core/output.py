"""Output files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from npuflow.core.leftovers import removed_at_end
from npuflow.errors import InputError, with_hint

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


def write_atomically(path: str, data: bytes) -> None:
    """Replaces the file in one step; devices and pipes, which cannot be replaced, are written in place."""
    write_pieces_atomically(path, lambda file: file.write(data))


def write_pieces_atomically(path: str, write: Callable[[BinaryIO], object]) -> None:
    """The same for what `write` puts into the file, piece by piece, where the whole would take much memory."""
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                write(file)
        else:
            _replace(target.resolve(), write)
    except OSError as error:
        raise _refused(path, error) from error


def check_directory(path: str) -> None:
    """Raises InputError where a file can't be made for want of a directory, before anybody has worked for it."""
    try:
        is_directory, has_one = Path(path).is_dir(), Path(path).resolve().parent.is_dir()
    except (OSError, ValueError, RuntimeError):
        return  # what opens it says why it can't
    if is_directory or not has_one:
        number = errno.EISDIR if is_directory else errno.ENOENT
        raise _refused(path, OSError(number, os.strerror(number)))


def _refused(path: str, error: OSError) -> InputError:
    reason = error.strerror or str(error)
    if error.errno in _NO_ROOM:
        hint = "free room there, or write to another place"
        return InputError(with_hint(f"cannot write output file '{path}': {reason}", hint))
    hint = "check its permissions" if error.errno in _NOT_ALLOWED else "check the directory"
    return InputError(with_hint(f"cannot open output file '{path}': {reason}", hint))


def _replace(target: Path, write: Callable[[BinaryIO], object]) -> None:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    with removed_at_end(lambda: temporary.unlink(missing_ok=True)):
        with temporary.open("xb") as file:
            write(file)
        temporary.chmod(_mode_of(target))
        temporary.replace(target)


def _mode_of(target: Path) -> int:
    """The mode an ordinary `open` would give the file."""
    if target.exists():
        return target.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
