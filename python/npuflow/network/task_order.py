"""In which order tasks run that hand values over, so that as few bytes as possible are alive at a time. Pure.

The order that keeps least alive is searched for over the sets of tasks that can be done (the next set taken is always
one whose way keeps least): what is found first is best, and what a search that is broken off was at bounds all orders.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

# Sets of tasks that are met: a chain of n tasks has n, tasks that don't depend on each other have 2^n.
_MOST_SETS = 20_000


@dataclass(frozen=True)
class OrderedTask:
    """Something that reads values and makes others."""

    name: str
    reads: tuple[int, ...]
    makes: tuple[int, ...]


@dataclass(frozen=True)
class TaskOrder:
    """Tasks by their numbers, the most bytes alive at a time, and a bound that no order is below."""

    order: tuple[int, ...]
    peak_bytes: int
    bound_bytes: int


@dataclass(frozen=True)
class TaskGraph:
    """Tasks, and the bytes of the values that count; a value lives until the last task that reads it is done."""

    tasks: Sequence[OrderedTask]
    sizes: Mapping[int, int]

    @cached_property
    def maker(self) -> Mapping[int, int]:
        return {value: number for number, task in enumerate(self.tasks) for value in task.makes}

    @cached_property
    def readers(self) -> Mapping[int, int]:
        """The tasks that read each value, a bit for each."""
        found = dict.fromkeys(self.sizes, 0)
        for number, task in enumerate(self.tasks):
            for value in set(task.reads) & found.keys():
                found[value] |= 1 << number
        return found

    @cached_property
    def needs(self) -> Sequence[int]:
        """The tasks that each task waits for, a bit for each."""
        return [sum({1 << self.maker[v] for v in task.reads if v in self.maker}) for task in self.tasks]

    def ready(self, done: int) -> Iterable[int]:
        return (n for n, needs in enumerate(self.needs) if not done >> n & 1 and needs & done == needs)

    @cached_property
    def made_bytes(self) -> Sequence[int]:
        return [sum(self.sizes.get(value, 0) for value in task.makes) for task in self.tasks]

    def ended_bytes(self, number: int, done: int) -> int:
        """What nobody needs any more once a task is done behind others."""
        task, left = self.tasks[number], ~(done | 1 << number)
        values = {*task.reads, *task.makes} & self.sizes.keys()
        return sum(self.sizes[value] for value in values if value in self.maker and not self.readers[value] & left)

    def peak(self, order: Sequence[int]) -> int:
        """The most bytes alive at a time in an order: while a task runs, what it reads and what it makes."""
        done = most = alive = 0
        for number in order:
            alive += self.made_bytes[number]
            most = max(most, alive)
            alive -= self.ended_bytes(number, done)
            done |= 1 << number
        return most


def best_order(graph: TaskGraph) -> TaskOrder:
    """The given order, depth first or the one that keeps least alive: of equal ones that with the fewest changes."""
    given = tuple(range(len(graph.tasks)))
    search = _OrderSearch(graph)
    found = search.run()
    orders = [given, depth_first(graph), *([found] if found else [])]
    best = min(orders, key=lambda order: (graph.peak(order), _changes(graph, order)))
    return TaskOrder(best, graph.peak(best), search.bound_bytes)


def _changes(graph: TaskGraph, order: Sequence[int]) -> int:
    names = [graph.tasks[number].name for number in order]
    return sum(one != other for one, other in pairwise(names))


def depth_first(graph: TaskGraph) -> tuple[int, ...]:
    """The order in which, of the tasks that can run, one that reads the latest value comes next."""
    order: list[int] = []
    done = 0
    while len(order) < len(graph.tasks):
        place = {number: position for position, number in enumerate(order)}

        def latest(number: int, place: Mapping[int, int] = place) -> int:
            made = (graph.maker[value] for value in graph.tasks[number].reads if value in graph.maker)
            return max((place[maker] for maker in made), default=-1)

        chosen = max(graph.ready(done), key=lambda number: (latest(number), -number))
        order.append(chosen)
        done |= 1 << chosen
    return tuple(order)


@dataclass
class _OrderSearch:
    """Sets of done tasks, by the most bytes that were alive on the best way there."""

    graph: TaskGraph
    bound_bytes: int = 0
    before: dict[int, int] = field(default_factory=dict)

    def run(self) -> tuple[int, ...] | None:
        """The order that keeps least alive; None where there are too many sets to say."""
        whole = (1 << len(self.graph.tasks)) - 1
        best, seen = {0: 0}, set[int]()
        waiting = [(0, 0, 0)]
        while waiting:
            peak, done, alive = heapq.heappop(waiting)
            if done in seen:
                continue
            seen.add(done)
            self.bound_bytes = max(self.bound_bytes, peak)
            if done == whole:
                return self._way(whole)
            if len(best) > _MOST_SETS:
                return None
            for number in self.graph.ready(done):
                during = alive + self.graph.made_bytes[number]
                there, least = done | 1 << number, max(peak, during)
                if least < best.get(there, least + 1):
                    best[there], self.before[there] = least, number
                    heapq.heappush(waiting, (least, there, during - self.graph.ended_bytes(number, done)))
        return None

    def _way(self, done: int) -> tuple[int, ...]:
        order = []
        while done:
            order.append(self.before[done])
            done &= ~(1 << order[-1])
        return tuple(reversed(order))
