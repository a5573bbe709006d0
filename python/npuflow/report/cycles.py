"""How long programs take that differ little: each is simulated once."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from npuflow.simulate.encode_alike import EncodedModel
from npuflow.simulate.program import Program
from npuflow.simulate.run import cycles_like


def cycles_of(programs: Sequence[Program], known: Program, known_cycles: int, threads: int) -> list[int]:
    """How long each program takes; those that are equal to another, or to the `known` one, are simulated once.

    Programs are compared, and not hashed: most differ in the first engine, what they share is the same object.
    """
    distinct = [known]
    places = []
    for program in programs:
        place = next((number for number, other in enumerate(distinct) if other == program), len(distinct))
        places.append(place)
        if place == len(distinct):
            distinct.append(program)
    model = EncodedModel.of(known)
    with ThreadPoolExecutor(threads) as pool:
        cycles = [known_cycles, *pool.map(lambda program: cycles_like(model, program), distinct[1:])]
    return [cycles[place] for place in places]
