"""Reproducer files say what they were told, and read back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npuflow import InputError, new_context, parse
from npuflow.core.reproducer import Reproducer, read_reproducer

MODULE = "module {\n}\n"


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)), st.booleans(), st.booleans())
def test_what_is_written_is_read(pipeline: str, verify_each: bool, disable_threading: bool) -> None:
    reproducer = Reproducer(pipeline, verify_each, disable_threading)
    assert read_reproducer(reproducer.file_text(MODULE), "f") == reproducer


def test_mlir_parses_the_file() -> None:
    text = Reproducer('builtin.module(x{file="a b"})').file_text(MODULE)
    assert str(parse(text, new_context())) == MODULE


@pytest.mark.parametrize("text", ["", MODULE, '{-# external_resources: { other: { pipeline: "x" } } #-}'])
def test_other_files_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="'f' is no reproducer; hint:"):
        read_reproducer(text, "f")
