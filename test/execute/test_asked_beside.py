"""Questions that are asked ahead: who finds the answers, and what is kept of them."""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable

import pytest

from npuflow.core.answers import Answers
from npuflow.execute.asked_beside import AskedBeside


def ask(answers: Answers[int], question: str) -> Callable[[], int]:
    """Asks who answers, by process number."""
    return lambda: answers.of(question, os.getpid)


def ask_together(answers: Answers[int], questions: str) -> list[Callable[[], int]]:
    """The same of questions of which each is answered once all are asked, so that no process has two."""
    asked = mmap.mmap(-1, len(questions))

    def found(number: int) -> int:
        asked[number] = 1
        end = time.monotonic() + 60
        while not all(asked[:]) and time.monotonic() < end:
            time.sleep(0.001)
        return os.getpid()

    return [lambda n=n, q=q: answers.of(q, lambda: found(n)) for n, q in enumerate(questions)]  # type: ignore[misc]


def test_processes_find_the_answers_this_one_among_them_and_who_asks_again_has_them() -> None:
    answers = Answers[int](10)
    asks = ask_together(answers, "abc")
    AskedBeside(3).ask(asks, [answers])
    assert set(answers.questions) == {"a", "b", "c"}
    assert len({one() for one in asks} | {os.getpid()}) == len(asks)


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

    AskedBeside(2).ask([ask(answers, "a"), wrong, *ask_together(answers, "bc")], [answers])
    assert ask(answers, "a")() == os.getpid()
    assert {*answers.questions} == {"a", "b", "c"}
    assert ask(answers, "b")() != ask(answers, "c")()
    with pytest.raises(ZeroDivisionError):
        wrong()


def test_a_fork_that_ends_leaves_its_questions_open() -> None:
    answers, parent = Answers[int](10), os.getpid()

    def ends() -> None:
        if os.getpid() != parent:
            os.kill(os.getpid(), 9)

    others = ask_together(answers, "ab")
    AskedBeside(2).ask([*others, ends, ends], [answers])
    assert set(answers.questions) in ({"a"}, {"b"}, {"a", "b"})
    assert os.getpid() in {ask(answers, question)() for question in "ab"}, "what this process found is kept"


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    answers = Answers[int](2)
    for question in "abac":
        ask(answers, question)()
    assert set(answers.questions) == {"a", "c"}
