"""What is chosen and then needs too many descriptors is chosen again; what is said stays, and is refused as before."""

from __future__ import annotations

from collections.abc import Callable
from importlib import resources
from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
from npuflow.compiler.verify_function import verify_function
from npuflow.core.diagnostics import DiagnosticSink
from npuflow.errors import Severity
from npuflow.execute.references import make_references
from npuflow.execute.verification import Status
from npuflow.testing.operator_products import Kind, Product
from npuflow.testing.operator_rows import Centre, Elementwise, Norm, Pairwise
from npuflow.testing.operators import OperatorProgram
from npuflow.testing.programs import Types

FLOAT, MIXED = Types("f32", "f32"), Types("bf16", "f32")
TOY = (resources.files("npuflow.target") / "devices" / "toy.toml").read_text()

# Five inputs of which blocks are cut off at several edges, each in several ways: more patterns than are estimated.
CUT_OFF = Elementwise((3, 5, 2, 7, 3, 11), (tuple(range(6)),) * 5, Pairwise.ADD, FLOAT)
# Tiles packed for the instruction are patterns of four dimensions: with two, each piece takes a descriptor.
PACKED = Product(Kind.MATMUL, Kind.MATMUL.sizes_of(127, 257, 131), MIXED)
# Its rows come in pieces, and its parts are one group each.
LONG_ROWS = Norm((3, 20011), Centre.LAYER, FLOAT)

Changed = Callable[..., str]


@pytest.fixture
def device(tmp_path: Path) -> Changed:
    """Writes a device that is the toy but for some lines."""

    def write(*changes: tuple[str, str]) -> str:
        text = TOY
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return str(path)

    return write


ONE_COLUMN = (("columns = 2", "columns = 1"),)
TWO_DIMENSIONS = (("dims = 3", "dims = 2"), ("dims = 4", "dims = 2"))
SMALL_PATTERNS = (("size_max = 1023", "size_max = 63"), ("stride_max = 1048576", "stride_max = 4096"))


@pytest.mark.parametrize(
    ("program", "changes"),
    [(PACKED, TWO_DIMENSIONS)],
    ids=["packed"],
)
def test_another_choice_follows_one_that_needs_too_many_descriptors(
    program: OperatorProgram, changes: tuple[tuple[str, str], ...], device: Changed
) -> None:
    sink = DiagnosticSink()
    compiled = npuflow.compile(program.text(), "npuflow-stream-k", device=device(*changes), sink=sink)
    (remark,) = [d.message for d in sink.diagnostics if "other choices" in d.message]
    assert "memory tile 0 needs" in remark
    assert not [d for d in sink.diagnostics if d.severity is Severity.ERROR]
    module = npuflow.parse(program.text(), npuflow.new_context())
    (reference,) = make_references(module.operation, "", 0, JUDGE)
    (whole, *_) = compiled.sequences or compiled.functions
    found = verify_function(whole.compiled, reference)
    assert found.status is Status.OK, found.message


@pytest.mark.parametrize(
    ("program", "changes"), [(CUT_OFF, ONE_COLUMN), (LONG_ROWS, SMALL_PATTERNS)], ids=["cut-off", "parts"]
)
def test_what_takes_many_descriptors_is_right(
    program: OperatorProgram, changes: tuple[tuple[str, str], ...], device: Changed
) -> None:
    compiled = npuflow.compile(program.text(), device=device(*changes))
    report = compiled.run(verify=True, judge=JUDGE)
    (whole, *_) = report.sequences or report.functions
    assert whole.verified.status is Status.OK, whole.verified.message


def test_what_must_not_come_apart_is_chosen_again_as_well(device: Changed) -> None:
    sink = DiagnosticSink()
    npuflow.compile(PACKED.text(), "npuflow-stream-k", device=device(*TWO_DIMENSIONS), split=False, sink=sink)
    assert [d for d in sink.diagnostics if "other choices" in d.message]


def test_what_fits_is_not_chosen_again() -> None:
    sink = DiagnosticSink()
    npuflow.compile(CUT_OFF.text(), device="toy", sink=sink)
    assert not [d for d in sink.diagnostics if "other choices" in d.message]


def test_what_is_said_is_refused_with_the_numbers_of_the_first_attempt(device: Changed) -> None:
    """With all tiles and slots said there is no other choice; with slots alone, tiles are none that help."""
    said = "npuflow-stream-k{grid=2,2 tile-l2=64,64,256 tile-l1=32,32,64 depth-l2=2 depth-l1=2 depth-result=1}"
    mine = device(*TWO_DIMENSIONS)
    with pytest.raises(npuflow.InputError, match=r"memory tile 0 needs \d+ descriptors .* has 24") as refused:
        npuflow.compile(PACKED.text(), said, device=mine)
    with pytest.raises(npuflow.InputError) as whole:
        npuflow.compile(PACKED.text(), said, device=mine, split=False)
    assert str(refused.value) == str(whole.value)


def test_what_fewer_descriptors_do_not_help_is_refused_at_once(device: Changed) -> None:
    mine = device(("program_bytes = 16384", "program_bytes = 2048"))
    sink = DiagnosticSink()
    with pytest.raises(npuflow.InputError, match="the program of 'core' needs"):
        npuflow.compile(PACKED.text(), "npuflow-stream-k", device=mine, split=False, sink=sink)
    chosen = [d for d in sink.diagnostics if "[npuflow-assign-strategy]" in d.message]
    assert len(chosen) == 1
