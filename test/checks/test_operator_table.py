"""The committed table of operators names all there are, leaves nothing blank, and says what is wrong or unsupported."""

from __future__ import annotations

from types import ModuleType

import pytest

from npuflow.testing.operator_families import OPERATOR_FAMILIES
from npuflow.testing.operator_rows import Elementwise, Pairwise
from npuflow.testing.operator_samples import Sample, samples
from npuflow.testing.programs import Types


def rows_of(page: str) -> list[list[str]]:
    lines = [
        line for line in page.splitlines() if line.startswith("| ") and not line.startswith(("| ---", "| operator"))
    ]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_the_page_has_every_operator_and_type(operator_table: ModuleType) -> None:
    rows = rows_of(operator_table.PAGE.read_text(encoding="utf-8"))
    assert [tuple(row[:2]) for row in rows] == [(sample.operator, sample.types) for sample in samples()]


def test_every_family_has_a_sample_and_a_heading(operator_table: ModuleType) -> None:
    assert {type(sample.timed) for sample in samples()} == set(OPERATOR_FAMILIES)
    page = operator_table.PAGE.read_text(encoding="utf-8")
    assert [family.family for family in OPERATOR_FAMILIES if f"\n## {family.family.capitalize()}\n" not in page] == []


def test_nothing_is_blank_and_what_is_not_right_has_a_reason(operator_table: ModuleType) -> None:
    rows = rows_of(operator_table.PAGE.read_text(encoding="utf-8"))
    for row in rows:
        assert len(row) == 3 + len(operator_table.DEVICES), row
        for cell in row[3:]:
            right, _, tried = cell.strip("*").partition(" of ")
            assert right.isdigit(), row
            is_right = tried.startswith(f"{right}, ")
            assert is_right or (cell.startswith("**") and len(cell.partition("**: ")[2]) > 10), row


def test_a_row_is_verified_and_timed(operator_table: ModuleType) -> None:
    timed, small = (Elementwise(shape, ((0,), (0,)), Pairwise.ADD, Types("i8", "i8")) for shape in ((999,), (7,)))
    sample = Sample("i8", timed, (small,))
    found = operator_table.cell(sample, [operator_table.reference_of(small)], "toy")
    assert (found.right, found.tried, found.problem) == (1, 1, "")
    assert 0 < found.share < 1
    assert str(found).startswith("1 of 1, ")


def test_a_wrong_result_is_said(operator_table: ModuleType) -> None:
    add, subtract = (Elementwise((7,), ((0,), (0,)), how, Types("i8", "i8")) for how in (Pairwise.ADD, Pairwise.SUB))
    found = operator_table.cell(Sample("i8", add, (add,)), [operator_table.reference_of(subtract)], "toy")
    assert found.right == 0
    assert str(found).startswith("**0 of 1 right**: ")


@pytest.mark.parametrize("flag", ["--write", "--check"])
def test_a_page_of_some_operators_only_is_not_written(operator_table: ModuleType, flag: str) -> None:
    with pytest.raises(SystemExit):
        operator_table.main([flag, "--only=add"])


def test_a_stale_page_is_said(operator_table: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    page = operator_table.PAGE.read_text(encoding="utf-8")
    assert operator_table.check(page) == 0
    assert operator_table.check(page.replace("| add |", "| sub |", 1)) == 1
    assert "docs/operators.md is out of date; hint: tools/operator-table --write" in capsys.readouterr().out
