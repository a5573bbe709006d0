"""Whether the engines of a program hand their buffers over as they must: who waits gets what he waits for, in order.

Three questions, each decided from the program alone:

- *Counts.* Over a whole run, what is acquired of a semaphore must be released; trip counts multiply, so this is exact
  for any size.
- *Maxima.* Where one engine releases a semaphore, its releases never outnumber what it has acquired of others by more
  than some slack, those in turn what their engine has acquired, and so on back to the semaphore itself. The slacks and
  initial values on the shortest such way bound its value in every order of events. Of what an engine acquires counts
  what it doesn't give back itself. Where several other engines release it, the run below is what is known.
- *Progress and order.* Every semaphore has one engine that acquires it and every stream fixed ends, so an engine's next
  step, once possible, stays possible: all orders of events end in the same state, and one run decides for all of
  them whether there is a deadlock. The simulator's hazards follow the order that the program enforces, not its clock,
  so one functional run with kernels that do nothing decides about races. A semaphore with several acquirers is
  refused, as it would break this argument.

A long program of rounds that are balanced is run for one and for two of them, with and without what follows: if a
second round can be completed from where the first ends, so can every later one, since it begins with the same counts.
(The run with two rounds contains the one with one, so in some order, and hence in every, the first is completed first.)
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import heappop, heappush

from npuflow.simulate.program import (
    Cause,
    FlatAccess,
    FlatAcquire,
    FlatEngine,
    FlatLoop,
    FlatReceive,
    FlatRelease,
    FlatSemaphore,
    FlatSend,
    FlatStep,
    Program,
)
from npuflow.simulate.walk import counted

_RETURNED = (Cause.DATA, Cause.SPACE)


@dataclass(frozen=True)
class Problem:
    """Something wrong with a semaphore."""

    semaphore: str
    what: str
    hint: str


def semaphore_problems(program: Program) -> list[Problem]:
    """Counts that don't come out even, several acquirers, and maxima that nothing guards."""
    tally = _Tally.of(program)
    bound = _ValueBound(program, tally)
    found = []
    for semaphore in program.semaphores:
        problems = list(_count_problems(semaphore, tally))
        found += problems or _overflow_problems(semaphore, tally, bound)
    return found


@dataclass(frozen=True)
class _Tally:
    """How often each engine acquires and releases each semaphore in a whole run."""

    acquired: dict[str, dict[str, int]]
    released: dict[str, dict[str, int]]

    @staticmethod
    def of(program: Program) -> _Tally:
        tally = _Tally(defaultdict(lambda: defaultdict(int)), defaultdict(lambda: defaultdict(int)))
        for engine in program.engines:
            for step, times in counted(engine.body):
                if isinstance(step, FlatAcquire) and times:
                    tally.acquired[step.semaphore][engine.name] += times * step.count
                elif isinstance(step, FlatRelease) and times:
                    tally.released[step.semaphore][engine.name] += times * step.count
        return tally


def _count_problems(semaphore: FlatSemaphore, tally: _Tally) -> Iterator[Problem]:
    name = semaphore.name
    acquirers, releasers = tally.acquired[name], tally.released[name]
    if len(acquirers) > 1:
        who = " and ".join(f"'{engine}'" for engine in list(acquirers)[:2])
        what = f"semaphore '{name}' is acquired by {who}; who comes first depends on their speed"
        yield Problem(name, what, "give each engine a semaphore of its own")
    taken, given = sum(acquirers.values()), sum(releasers.values())
    last = semaphore.initial + given - taken
    uneven = last != semaphore.initial if semaphore.cause in _RETURNED else not 0 <= last <= semaphore.maximum
    if uneven:
        whose = f"acquired by {_names(acquirers)}, released by {_names(releasers)}"
        what = f"semaphore '{name}' is acquired {taken} times and released {given} times ({whose})"
        yield Problem(name, what, "each acquire needs its release, in loops of as many trips")


def _names(users: dict[str, int]) -> str:
    return ", ".join(f"'{name}'" for name in list(users)[:3]) or "nobody"


# Maxima


def _overflow_problems(semaphore: FlatSemaphore, tally: _Tally, bound: _ValueBound) -> list[Problem]:
    releasers = list(tally.released[semaphore.name])
    if len(releasers) != 1 or semaphore.initial + sum(tally.released[semaphore.name].values()) <= semaphore.maximum:
        return []
    most = bound.most(semaphore)
    if most is not None and most <= semaphore.maximum:
        return []
    reach = f"can reach {most}" if most is not None else "can grow without a bound"
    takers = _names(tally.acquired[semaphore.name])
    what = f"semaphore '{semaphore.name}' {reach}, above its maximum of {semaphore.maximum}"
    hint = f"let '{releasers[0]}' wait for room before it releases once more than {takers} took"
    return [Problem(semaphore.name, what, hint)]


@dataclass
class _ValueBound:
    """How far the semaphores of a program can get; `slacks` are those that are known, by what is released."""

    program: Program
    tally: _Tally
    slacks: dict[str, dict[str, int]] = field(default_factory=dict)

    @cached_property
    def initial(self) -> dict[str, int]:
        return {semaphore.name: semaphore.initial for semaphore in self.program.semaphores}

    @cached_property
    def bodies(self) -> dict[str, tuple[FlatStep, ...]]:
        return {engine.name: engine.body for engine in self.program.engines}

    @cached_property
    def acquired(self) -> dict[str, list[str]]:
        """What each engine acquires."""
        found: dict[str, list[str]] = defaultdict(list)
        for name, users in self.tally.acquired.items():
            for engine in users:
                found[engine].append(name)
        return found

    def most(self, semaphore: FlatSemaphore) -> int | None:
        """The shortest way from the semaphore's releases back to its acquires, as a bound on its value."""
        queue: list[tuple[int, str]] = [(semaphore.initial, semaphore.name)]
        seen: set[str] = set()
        while queue:
            value, name = heappop(queue)
            if name == semaphore.name and seen:
                return value
            if name in seen:
                continue
            seen.add(name)
            for other, slack in self._slacks(name).items():
                step = value + slack + (self.initial[other] if other != semaphore.name else 0)
                heappush(queue, (step, other))
        return None

    def _slacks(self, released: str) -> dict[str, int]:
        """For what the only releaser of a semaphore acquires: by how much its releases can be ahead of that.

        Who acquires it may give some of that back, as the control processor does once all room has been free.
        """
        if released not in self.slacks:
            releasers = [each for each in self.tally.released[released] if each not in self.tally.acquired[released]]
            engine = releasers[0] if len(releasers) == 1 else ""
            ahead = {name: _ahead(self.bodies[engine], released, name) for name in self.acquired.get(engine, ())}
            self.slacks[released] = {name: most for name, (net, most) in ahead.items() if net <= 0}
        return self.slacks[released]


def _ahead(body: tuple[FlatStep, ...], released: str, acquired: str) -> tuple[int, int]:
    """Releases of one semaphore minus what is acquired, and not given back, of another: at the end, and at most."""
    net = most = 0
    for step in body:
        if isinstance(step, FlatLoop):
            inner, peak = _ahead(step.body, released, acquired)
            if step.count:
                most = max(most, net + peak, net + (step.count - 1) * inner + peak)
            net += inner * step.count
        elif isinstance(step, FlatRelease) and step.semaphore in (released, acquired):
            net += step.count
        elif isinstance(step, FlatAcquire) and step.semaphore == acquired:
            net -= step.count
        most = max(most, net)
    return net, most


# Rounds


def few_rounds(program: Program) -> tuple[Program, ...]:
    """The program with one and with two rounds of its outermost loops alone, and with two and what follows them.

    Empty where that says nothing about all rounds: the engines' outermost loops differ in their trips, a round gives
    back other counts than it takes, or what it moves depends on which round it is.
    """
    rounds = _told_apart(program)
    looping = [one for one in rounds if one.count is not None]
    counts = {one.count for one in looping}
    if any(one.is_mixed for one in rounds) or len(counts) != 1 or not counts.isdisjoint({0, 1, 2}):
        return ()
    balance: dict[str, int] = defaultdict(int)
    for step, times in (pair for one in looping for pair in counted(one.body)):
        if isinstance(step, (FlatAcquire, FlatRelease)):
            balance[step.semaphore] += times * (step.count if isinstance(step, FlatRelease) else -step.count)
        elif isinstance(step, (FlatSend, FlatReceive)) and _depends_on_round(step.access):
            return ()
    if any(balance.values()):
        return ()
    wanted = ((1, False), (2, False), (2, True))
    return tuple(replace(program, engines=_shortened(program, rounds, *how)) for how in wanted)


def _told_apart(program: Program) -> list[_Rounds]:
    """Engines' programs around their rounds, those without a loop in two: what comes before the rounds, and after them.

    One that sets up a single task, for instance, waits at its end for what others release after all their rounds.
    """
    initial = {semaphore.name: semaphore.initial for semaphore in program.semaphores}
    rounds = [_Rounds.of(engine) for engine in program.engines]
    while True:
        late = {name for one in rounds for name in _released(one.after)}
        late -= {name for one in rounds for name in _released((*one.before, *one.body))}
        found = [one.cut_where({name: initial[name] for name in late}) for one in rounds]
        if found == rounds:
            return found
        rounds = found


def _released(steps: tuple[FlatStep, ...]) -> Iterator[str]:
    return (step.semaphore for step, times in counted(steps) if isinstance(step, FlatRelease) and times)


def _depends_on_round(access: FlatAccess) -> bool:
    """Whether the outermost counter moves a limit."""
    return any(limit.bound.coefficients[:1] not in ((), (0,)) for limit in access.limits)


def _shortened(program: Program, rounds: list[_Rounds], count: int, with_rest: bool) -> tuple[FlatEngine, ...]:
    bodies = [one.shortened(count, with_rest=with_rest) for one in rounds]
    return tuple(replace(engine, body=body) for engine, body in zip(program.engines, bodies))


@dataclass(frozen=True)
class _Rounds:
    """An engine's program: what comes before its one outermost loop, the loop, what comes after it."""

    before: tuple[FlatStep, ...]
    count: int | None
    body: tuple[FlatStep, ...]
    after: tuple[FlatStep, ...]
    is_mixed: bool = False

    @staticmethod
    def of(engine: FlatEngine) -> _Rounds:
        places = [index for index, step in enumerate(engine.body) if isinstance(step, FlatLoop)]
        if not places:
            return _Rounds(engine.body, None, (), ())
        at = places[0]
        loop = engine.body[at]
        assert isinstance(loop, FlatLoop)
        return _Rounds(engine.body[:at], loop.count, loop.body, engine.body[at + 1 :], len(places) > 1)

    def cut_where(self, late: dict[str, int]) -> _Rounds:
        """Without a loop: from where it needs more of a semaphore than there is until the rounds are over."""
        if self.count is not None:
            return self
        left = dict(late)
        for at, step in enumerate(self.before):
            if isinstance(step, FlatAcquire) and step.semaphore in left:
                left[step.semaphore] -= step.count
                if left[step.semaphore] < 0:
                    return replace(self, before=self.before[:at], after=(*self.before[at:], *self.after))
        return self

    def shortened(self, count: int, *, with_rest: bool) -> tuple[FlatStep, ...]:
        rounds = () if self.count is None else (FlatLoop(count, self.body),)
        return (*self.before, *rounds, *(self.after if with_rest else ()))


def step_count(program: Program) -> int:
    """How many steps a run takes."""
    return sum(times for engine in program.engines for _, times in counted(engine.body))


def moved_bytes(program: Program) -> int:
    """How much data a run moves, counted where it is received."""
    steps = (pair for engine in program.engines for pair in counted(engine.body))
    return sum(times * step.access.bytes for step, times in steps if isinstance(step, FlatReceive))
