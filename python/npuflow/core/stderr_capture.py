"""Takes what C code writes to stderr: MLIR has reports that it prints and offers in no other way."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from typing import BinaryIO

_STDERR = 2
# Stderr belongs to the process, so threads take turns.
_TURN = threading.Lock()


class StderrCapture:
    """From its creation to `stop`, all that the process writes to stderr."""

    def __init__(self) -> None:
        _TURN.acquire()
        sys.stderr.flush()
        self._saved = os.dup(_STDERR)
        self._file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `stop`)
        os.dup2(self._file.fileno(), _STDERR)

    def stop(self) -> str:
        """What was written; stderr is as before."""
        sys.stderr.flush()
        os.dup2(self._saved, _STDERR)
        os.close(self._saved)
        _TURN.release()
        with self._file as file:
            file.seek(0)
            return file.read().decode(errors="replace")
