"""Files that a user, or a file of theirs, names: only regular ones are read, and no more of them than makes sense."""

from __future__ import annotations

import json
from pathlib import Path

from npuflow.errors import Diagnostic, InputError, Severity, SourceLocation, with_hint


def read_bytes(path: str | Path, most_bytes: int) -> bytes:
    """What a file holds; raises InputError for one that can't be read, has no end, or is longer than `most_bytes`.

    A device or a pipe isn't opened at all: reading it might never end.
    """
    try:
        file = Path(path)
        if file.exists() and not file.is_file():
            kind = "a directory" if file.is_dir() else "no regular file"
            raise InputError(with_hint(f"cannot read '{path}': it is {kind}", "give the path of a file"))
        with file.open("rb") as opened:
            data = opened.read(most_bytes + 1)
    except FileNotFoundError as error:
        raise InputError(with_hint(f"cannot read '{path}': {error.strerror}", "check the path")) from error
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from error
    if len(data) > most_bytes:
        raise InputError(f"cannot read '{path}': it is longer than {most_bytes} bytes")
    return data


def read_json(path: str, most_bytes: int, hint: str) -> object:
    """What a JSON file says; raises InputError, located where that is known, for one that is none."""
    data = read_bytes(path, most_bytes)
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        message = with_hint(f"this is no JSON: {error.msg[:1].lower()}{error.msg[1:]}", hint)
        raise InputError(
            Diagnostic(Severity.ERROR, message, SourceLocation(path, error.lineno, error.colno))
        ) from error
    except (ValueError, RecursionError) as error:
        raise InputError(with_hint(f"'{path}' is no JSON: {error}", hint)) from error
