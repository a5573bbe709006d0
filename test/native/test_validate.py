"""Validation in the native core: sizes at the end of the number range are problems to report, not to compute with."""

from __future__ import annotations

import pytest

from npuflow import _native

LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize("size_bytes", [LEAST, -1, MOST])
@pytest.mark.parametrize("address_bytes", [LEAST, 0, 3, MOST])
def test_a_buffer_in_an_impossible_memory_is_reported(size_bytes: int, address_bytes: int) -> None:
    program = _native.ProgramBuilder()
    memory = program.add_memory("far", size_bytes)
    program.add_buffer("b", memory, address_bytes, 64, 2)
    problems = program.problems()
    assert any("the size of 'far'" in problem for problem in problems)
    assert any("the address of buffer 'b'" in problem for problem in problems) is (address_bytes in (LEAST, MOST))
