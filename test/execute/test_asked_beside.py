"""Questions that are asked ahead: who finds the answers, and what is kept of them."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from npuflow.core.answers import Answers
from npuflow.execute.asked_beside import AskedBeside


def ask(answers: Answers[int], question: str) -> Callable[[], int]:
    """Asks who answers, by process number."""
    return lambda: answers.of(question, os.getpid)


def test_children_find_the_answers_and_who_asks_again_has_them() -> None:
    answers = Answers[int](10)
    asks = [ask(answers, question) for question in "abc"]
    AskedBeside(2).ask(asks, [answers])
    assert os.getpid() not in {one() for one in asks}


def test_one_process_asks_when_it_needs_to() -> None:
    answers = Answers[int](10)
    asks = [ask(answers, question) for question in "abc"]
    AskedBeside(1).ask(asks, [answers])
    assert not answers.questions


def test_what_is_known_before_stays_and_what_fails_does_so_again() -> None:
    answers = Answers[int](10)
    ask(answers, "a")()

    def wrong() -> int:
        return answers.of("wrong", lambda: 1 // 0)

    AskedBeside(2).ask([ask(answers, "a"), wrong, ask(answers, "b")], [answers])
    assert ask(answers, "a")() == os.getpid() != ask(answers, "b")()
    with pytest.raises(ZeroDivisionError):
        wrong()


def test_a_child_that_ends_leaves_its_questions_open() -> None:
    answers = Answers[int](10)

    def ends() -> None:
        if os.getpid() != parent:
            os.kill(os.getpid(), 9)

    parent = os.getpid()
    AskedBeside(1 + 1).ask([ends, ask(answers, "a")], [answers])
    assert ask(answers, "a")() != parent, "the other child's is kept"


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    answers = Answers[int](2)
    for question in "abac":
        ask(answers, question)()
    assert set(answers.questions) == {"a", "c"}
