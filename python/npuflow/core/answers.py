"""What takes long to find, kept by what was asked, and perhaps asked ahead in processes side by side."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence, Set
from typing import Generic, Protocol, TypeVar

Answer = TypeVar("Answer")


class KeptAnswers:
    """Answers by their questions, both data; of more than `most`, those asked for longest ago go first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[Hashable, object] = OrderedDict()

    @property
    def questions(self) -> Set[Hashable]:
        return self._found.keys()

    def learn(self, found: Mapping[Hashable, object]) -> None:
        """Keeps what somebody found."""
        self._found.update(found)
        while len(self._found) > self._most:
            self._found.popitem(last=False)

    def beyond(self, questions: Set[Hashable]) -> dict[Hashable, object]:
        """The answers to all other questions."""
        return {question: answer for question, answer in self._found.items() if question not in questions}


class Answers(KeptAnswers, Generic[Answer]):
    """The same, of one kind."""

    def of(self, question: Hashable, find: Callable[[], Answer]) -> Answer:
        """What `find` finds, or has found of a question that is equal."""
        if question not in self._found:
            self.learn({question: find()})
        self._found.move_to_end(question)
        return self._found[question]  # type: ignore[return-value]


class AsksAhead(Protocol):
    """Who asks before answers are needed, one after the other."""

    def ask(self, asks: Sequence[Callable[[], object]], answers: Sequence[KeptAnswers]) -> None:
        """Asks what it can, and keeps what is found among the answers; what raises does so again where it is needed."""


class AsksNothing:
    """Everything is found when it is needed."""

    def ask(self, asks: Sequence[Callable[[], object]], answers: Sequence[KeptAnswers]) -> None:
        return


NOTHING_ASKED: AsksAhead = AsksNothing()
