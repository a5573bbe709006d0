"""Pipeline text: any pipeline that can be written as objects prints to text that parses to the same objects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from string import ascii_lowercase, digits

from hypothesis import given
from hypothesis import strategies as st

import npuflow
from npuflow.bindings import ir
from npuflow.core.options import from_assignments, option_specs, print_options, split_assignments
from npuflow.core.pipeline_text import Node, PassNest, PassNode, UpstreamNode


class Order(Enum):
    ROWS = "rows"
    COLUMNS = "columns-first"


@npuflow.register_pass
@dataclass(frozen=True)
class Everything(npuflow.Pass):
    """Has an option of every kind."""

    name = "test-everything"
    flag: bool = npuflow.option(False, "a bool")
    how_many: int = npuflow.option(1, "an integer")
    share: float = npuflow.option(0.5, "a number")
    label: str = npuflow.option("", "a text")
    order: Order = npuflow.option(Order.ROWS, "a choice")
    tile: tuple[int, int, int] | None = npuflow.option(None, "three sizes")
    names: tuple[str, ...] = npuflow.option((), "texts")

    def run(self, op: ir.Operation, context: npuflow.PassContext) -> None:
        pass


word = st.tuples(st.sampled_from(ascii_lowercase), st.text(f"{ascii_lowercase}{digits}_.-", max_size=8)).map("".join)
phrase = st.lists(word, min_size=1, max_size=3).map(" ".join)
size = st.integers(1, 4096)

everything = st.builds(
    Everything,
    flag=st.booleans(),
    how_many=st.integers(-(2**40), 2**40),
    share=st.floats(allow_nan=False, allow_infinity=False),
    label=phrase | st.just(""),
    order=st.sampled_from(Order),
    tile=st.none() | st.tuples(size, size, size),
    names=st.lists(word, max_size=3).map(tuple),
)
ours = everything.map(lambda instance: PassNode(instance, str(instance)))
upstream = st.sampled_from(["canonicalize", "cse", "canonicalize{max-iterations=3}", "symbol-dce"]).map(
    lambda text: UpstreamNode(text.partition("{")[0], text)
)


def nest(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    anchors = st.sampled_from(["func.func", "scf.for", "any"])
    return st.builds(PassNest, anchors, st.lists(children, min_size=1, max_size=3).map(tuple))


nodes = st.recursive(ours | upstream, nest, max_leaves=8)
pipelines = st.lists(nodes, max_size=4).map(lambda elements: PassNest("builtin.module", tuple(elements)))


@given(everything)
def test_options_print_and_parse(instance: Everything) -> None:
    read = from_assignments(Everything, "pass", split_assignments(print_options(instance)))
    assert Everything(**read) == instance


@given(pipelines)
def test_pipelines_print_and_parse(pipeline: PassNest) -> None:
    assert npuflow.parse_pipeline(str(pipeline)) == pipeline


@given(pipelines)
def test_printed_text_is_a_fixed_point(pipeline: PassNest) -> None:
    text = str(pipeline)
    assert str(npuflow.parse_pipeline(text)) == text


@given(pipelines, st.sampled_from([" ", "\n", "\t  "]))
def test_blanks_between_elements_do_not_matter(pipeline: PassNest, blank: str) -> None:
    spaced = str(pipeline).replace("(", f"({blank}").replace(")", f"{blank})")
    assert npuflow.parse_pipeline(spaced) == pipeline


@given(st.text(alphabet="ab-=,(){}'\" ", max_size=30))
def test_any_text_is_refused_or_prints_to_what_it_means(text: str) -> None:
    try:
        pipeline = npuflow.parse_pipeline(text)
    except npuflow.UsageError:
        return
    assert npuflow.parse_pipeline(str(pipeline)) == pipeline


def test_every_option_has_its_help() -> None:
    assert all(spec.help for spec in option_specs(Everything))
