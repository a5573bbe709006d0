"""What a command is doing, said on a terminal once that takes longer than a second."""

from __future__ import annotations

import sys
import threading
from types import TracebackType

_PATIENCE_SECONDS = 1.0


class Progress:
    """`with Progress() as progress: progress.step("compiling")`: quick steps leave no trace."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.done()

    def step(self, what: str) -> None:
        """Says `what` begins; the step before is over. Output that is kept says nothing: it must depend on no speed."""
        self.done()
        if not sys.stderr.isatty():
            return
        self._timer = threading.Timer(_PATIENCE_SECONDS, self._say, (what,))
        self._timer.daemon = True
        self._timer.start()

    def done(self) -> None:
        """Nothing is under way."""
        if self._timer is not None:
            self._timer.cancel()

    @staticmethod
    def _say(what: str) -> None:
        print(f"npuflow: {what} ...", file=sys.stderr, flush=True)
