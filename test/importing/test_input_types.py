"""Types of inputs as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow.errors import UsageError
from npuflow.importing.input_types import ELEMENTS, InputType, read_input_type


@given(st.lists(st.integers(1, 10**8), max_size=5), st.sampled_from(ELEMENTS))
def test_what_is_printed_is_read(shape: list[int], element: str) -> None:
    given_type = InputType(tuple(shape), element)
    assert read_input_type(f" {given_type} ") == given_type


@pytest.mark.parametrize("text", ["", "4x4", "4xf31", "x4xf32", "4x-1xf32", "4 x f32", "4xF32", "1x?xf32"])
def test_what_is_no_type_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no type of an input; hint: sizes and an element type"):
        read_input_type(text)


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="input '4x0xf32' has no elements"):
        read_input_type("4x0xf32")
