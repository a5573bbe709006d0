"""Drawn operators of every family on every device, through the functional simulator, with IREE as the judge.

The profile `nightly` (environment variable NPUFLOW_TEST_PROFILE) draws thousands.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from operator_cases import DEVICES, FAMILIES, Case, cases, reference_of, run
from refusals import is_honest

import npuflow
from npuflow.execute.operators import OperatorProgram, families
from npuflow.execute.verification import Status
from npuflow.target import load_device

NIGHTLY = os.environ.get("NPUFLOW_TEST_PROFILE") == "nightly"
EXAMPLES = int(os.environ.get("NPUFLOW_TEST_EXAMPLES", "400")) if NIGHTLY else 3
COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "derandomize": not NIGHTLY}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_drawn_operators_compute_what_iree_computes(family: type[OperatorProgram]) -> None:
    @settings(max_examples=EXAMPLES, **COMMON)  # type: ignore[arg-type]
    @given(cases(FAMILIES[family]))
    def check(case: Case) -> None:
        reference = reference_of(case)
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
    assert tuple(FAMILIES) == families()


@settings(max_examples=300, **COMMON)  # type: ignore[arg-type]
@given(st.sampled_from(list(FAMILIES)).flatmap(lambda family: cases(FAMILIES[family])))
def test_what_is_drawn_is_valid(case: Case) -> None:
    """The text parses, and its signature is the function's; nothing is compiled."""
    npuflow.parse(case.program.text(), npuflow.new_context())
    listed = ", ".join(f"%arg{i}: tensor<{spec}>" for i, spec in enumerate(case.program.signature.inputs))
    assert f"({listed})" in case.program.text()
    rows, columns = DEVICES[case.device]
    assert (load_device(case.device).rows, load_device(case.device).columns) == (rows, columns)
