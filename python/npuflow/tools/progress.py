"""What a command is doing, said on a terminal once that takes longer than a second, and how far functional runs are."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType

_PATIENCE_SECONDS = 1.0
_INTERVAL_SECONDS = 0.5
# What is left is not guessed from less.
_LEAST_SHARE = 0.02
_CLEAR_LINE = "\r\033[K"


class Progress:
    """`with Progress() as progress: progress.step("compiling")`: quick steps leave no trace."""

    def __init__(self) -> None:
        from npuflow.execute.meter import Meter, metered

        self._meter = Meter()
        self._metered = metered(self._meter)
        self._shown: threading.Thread | None = None
        self._over = threading.Event()

    def __enter__(self) -> Progress:
        self._metered.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.done()
        self._metered.__exit__(kind, error, trace)

    def step(self, what: str) -> None:
        """Says `what` begins; the step before is over. Output that is kept says nothing: it must depend on no speed."""
        self.done()
        if not sys.stderr.isatty():
            return
        self._over = threading.Event()
        self._shown = threading.Thread(target=self._show, args=(what, self._over), daemon=True)
        self._shown.start()

    def counted_step(self, what: str, count: int) -> None:
        """Says `what` begins, which is `count` things to do; without words, that so many of them are done."""
        if what:
            self.step(what)
            self._meter.expect(count)
        else:
            self._meter.add(count)

    def done(self) -> None:
        """Nothing is under way."""
        self._over.set()
        if self._shown is not None:
            self._shown.join()
            self._shown = None

    def _show(self, what: str, over: threading.Event) -> None:
        """Keeps a line up to date until the step is over."""
        began = time.monotonic()
        if over.wait(_PATIENCE_SECONDS):
            return
        line = ""
        while True:
            before, line = line, f"npuflow: {what} ...{how_far(self._meter.share, time.monotonic() - began)}"
            if line != before:
                print(f"{_CLEAR_LINE if before else ''}{line}", end="", file=sys.stderr, flush=True)
            if over.wait(_INTERVAL_SECONDS):
                break
        print(file=sys.stderr, flush=True)


def how_far(share: float | None, seconds: float) -> str:
    """` 25 %, about 3 s left` after one second; nothing where too little is done to tell."""
    if share is None or share < _LEAST_SHARE:
        return ""
    return f" {share:.0%}, about {_duration(seconds * (1 - share) / share)} left".replace("%", " %", 1)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
