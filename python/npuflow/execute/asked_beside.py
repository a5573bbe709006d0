"""Questions asked ahead, in processes side by side."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from npuflow.core.answers import KeptAnswers
from npuflow.execute.sandbox import side_by_side


@dataclass(frozen=True)
class AskedBeside:
    """Asks in up to so many forks of this process, which leave it as it is but for what they find."""

    jobs: int

    def ask(self, asks: Sequence[Callable[[], object]], answers: Sequence[KeptAnswers]) -> None:
        if self.jobs == 1 or len(asks) < 2:
            return

        def found(some: Sequence[Callable[[], object]]) -> list[dict[Hashable, object]]:
            before = [frozenset(each.questions) for each in answers]
            for one in some:
                with suppress(Exception):
                    one()
            return [each.beyond(known) for each, known in zip(answers, before)]

        # A fork for each job: it finds again what this process would have known from one question to the next.
        pieces = [asks[first :: self.jobs] for first in range(min(self.jobs, len(asks)))]
        for new in side_by_side(found, pieces, self.jobs, "asking ahead"):
            for each, own in zip(answers, new or ()):
                each.learn(own)
