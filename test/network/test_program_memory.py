"""Tests of what a core's program memory is loaded with from phase to phase."""

from __future__ import annotations

from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from npuflow.network.phases import Piece
from npuflow.network.program_memory import Image, ProgramRoom


def image(**sizes: int) -> Image:
    return frozenset(Piece(name, size) for name, size in sizes.items())


def named(loads: list[Image]) -> list[str]:
    return ["".join(sorted(str(piece.content) for piece in load)) for load in loads]


A, B, C = image(a=60, s=2), image(b=20, t=4), image(c=14, u=4)


def test_what_is_there_is_not_loaded_again() -> None:
    # 104 bytes in 100: all have places of their own but t and u, which have one, by turns.
    assert named(ProgramRoom(100, 1).loads([A, B, C, A, B, C, A])) == ["abst", "", "cu", "", "t", "u", ""]


def test_loads_that_take_long_are_few() -> None:
    # Three programs of 50 bytes in 100, by turns: 50 bytes in two of three phases, or 100 in each second one.
    order = [image(a=50), image(b=50), image(c=50)] * 4
    assert named(ProgramRoom(100, 50).loads(order)) == ["ab", "", "c", "a", "", "c", "a", "", "c", "a", "", "c"]
    assert named(ProgramRoom(100, 200).loads(order)) == ["ab", "", "ac", "", "bc", ""] * 2


def test_next_phases_come_along_beside_what_is_needed_again() -> None:
    x, y, z = image(x=40), image(y=40), image(z=40)
    # x and y are there from the start; z comes over y, for x is needed again.
    assert named(ProgramRoom(100, 1).loads([x, y, z, x])) == ["xy", "", "z", ""]
    assert named(ProgramRoom(0).loads([x, y, z, x])) == ["xyz", "", "", ""], "any number of bytes"


def test_what_cannot_be_linked_together_is_linked_in_halves() -> None:
    # n leaves m no place but that of o, and m and o are run together: after the first phase all is linked anew.
    m, n, o = Piece("m", 4), Piece("n", 6), Piece("o", 3)
    needs = [frozenset({m, n}), frozenset({n, o}), frozenset({m, o, Piece("p", 3)})]
    assert [sum(piece.size for piece in load) for load in ProgramRoom(10).loads(needs)] == [10, 9, 7]


PIECES = st.lists(st.sets(st.sampled_from("abcdefgh"), min_size=1, max_size=3), min_size=1, max_size=14)


@given(PIECES, st.fixed_dictionaries({name: st.integers(1, 6) for name in "abcdefgh"}), st.integers(0, 12))
def test_any_programs(order: list[set[str]], sizes: dict[str, int], load_bytes: int) -> None:
    needs = [image(**{name: sizes[name] for name in sorted(names)}) for names in order]
    room = ProgramRoom(18, load_bytes)
    loads = room.loads(needs)
    assert len(loads) == len(needs)
    assert loads == room.loads(needs)
    for number in range(len(needs)):
        loaded = frozenset(chain.from_iterable(loads[: number + 1]))
        assert needs[number] <= loaded
        # What is run before it is loaded again has been there all the time.
        stays = [piece for piece in loaded if runs_before_it_is_loaded(piece, needs[number:], loads[number + 1 :])]
        assert sum(piece.size for piece in stays) <= 18


def runs_before_it_is_loaded(piece: Piece, needs: list[Image], later: list[Image]) -> bool:
    run = next((number for number, need in enumerate(needs) if piece in need), None)
    loaded = next((number for number, load in enumerate(later, 1) if piece in load), len(needs))
    return run is not None and run < loaded
