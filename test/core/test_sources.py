"""Parts of an input: what is in them, and where they begin."""

from hypothesis import given
from hypothesis import strategies as st

from npuflow.core.sources import SPLIT_MARKER, Source

LINES = st.lists(
    st.sampled_from(["", "a", "  b", "// comment", SPLIT_MARKER, f"  {SPLIT_MARKER} ", f"{SPLIT_MARKER}-"])
)


@given(LINES)
def test_parts_and_markers_make_up_the_input(lines: list[str]) -> None:
    source = Source("f", "\n".join(lines).encode())
    rebuilt: list[str | None] = [None] * len(source.lines)
    for chunk in source.chunks(SPLIT_MARKER):
        for offset, line in enumerate(chunk.lines if chunk.data else []):
            rebuilt[chunk.lines_before + offset] = line
    kept = [line for line in rebuilt if line]
    assert kept == [line for line in lines if line and line.strip() != SPLIT_MARKER]


@given(LINES)
def test_what_is_parsed_has_the_lines_of_the_input(lines: list[str]) -> None:
    source = Source("f", "\n".join(lines).encode())
    for chunk in source.chunks(SPLIT_MARKER):
        text = chunk.parseable()
        assert isinstance(text, str)
        for number, line in enumerate(text.split("\n")):
            assert line in ("", [*source.lines, ""][number])


def test_without_a_marker_the_input_is_one_part() -> None:
    source = Source("f", f"a\n{SPLIT_MARKER}\nb".encode(), is_file=True)
    (chunk,) = source.chunks(None)
    assert chunk.is_whole_file
    assert chunk.lines_before == 0


def test_bytecode_is_not_split() -> None:
    source = Source("f", b"ML\xefR\n" + SPLIT_MARKER.encode() + b"\n")
    (chunk,) = source.chunks(SPLIT_MARKER)
    assert chunk.parseable() == source.data
