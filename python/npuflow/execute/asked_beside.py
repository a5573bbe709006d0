"""Questions asked ahead, in processes side by side."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from npuflow.core.answers import KeptAnswers
from npuflow.execute.sandbox import in_turns


@dataclass(frozen=True)
class AskedBeside:
    """Asks in up to so many processes, this one among them; it keeps what its forks find."""

    jobs: int

    def ask(self, asks: Sequence[Callable[[], object]], answers: Sequence[KeptAnswers]) -> None:
        if self.jobs == 1 or len(asks) < 2:
            return

        def found(some: Iterator[Callable[[], object]]) -> list[dict[Hashable, object]]:
            before = [frozenset(each.questions) for each in answers]
            for one in some:
                with suppress(Exception):
                    one()
            return [each.beyond(known) for each, known in zip(answers, before)]

        _, *others = in_turns(found, asks, self.jobs, "asking ahead")
        for new in others:
            for each, own in zip(answers, new):
                each.learn(own)
