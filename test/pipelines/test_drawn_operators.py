"""Drawn operators of every family on every device, through the functional simulator, with IREE as the judge."""

from __future__ import annotations

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from operator_cases import FAMILIES, Case, cases, reference_of, run
from profiles import drawn
from refusals import is_honest

import npuflow
from npuflow.execute.references import Judge
from npuflow.execute.verification import Status
from npuflow.testing.operator_families import OPERATOR_FAMILIES
from npuflow.testing.operators import OperatorProgram

FEW, MANY = 3, 400


@pytest.mark.parametrize("family", OPERATOR_FAMILIES, ids=lambda family: family.__name__)
def test_drawn_operators_compute_what_iree_computes(family: type[OperatorProgram]) -> None:
    @drawn(FEW, MANY)
    @given(cases(FAMILIES[family]))
    def check(case: Case) -> None:
        reference = reference_of(case, Judge.IREE)
        refusal = ""
        try:
            verified = run(case, reference)
        except npuflow.InputError as error:
            refusal = str(error)
        event("refused" if refusal else "run")
        if refusal:
            assert is_honest(refusal, reference), f"{case}: {refusal}"
            return
        assert verified.status is Status.OK, f"{case}: {verified.message} {verified.hazards[:1]}"

    check()


def test_every_family_is_drawn() -> None:
    assert tuple(FAMILIES) == OPERATOR_FAMILIES


@drawn(few=100, many=3000)
@given(st.sampled_from(list(FAMILIES)).flatmap(lambda family: cases(FAMILIES[family])))
def test_what_is_drawn_is_valid(case: Case) -> None:
    """The text parses, and its signature is the function's; nothing is compiled."""
    npuflow.parse(case.program.text(), npuflow.new_context())
    listed = ", ".join(f"%arg{i}: tensor<{spec}>" for i, spec in enumerate(case.program.signature.inputs))
    assert f"({listed})" in case.program.text()
