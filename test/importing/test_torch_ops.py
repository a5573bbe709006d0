"""PyTorch's own samples of ops, a few always the same: what `tools/torch-ops` has more of at night."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

TOOLS = Path(__file__).resolve().parents[2] / "tools"
# Ops of every kind, the types that they are called with, and how many samples beside one for each way to call them.
OPS = ("add", "clamp", "cumsum", "div.floor_rounding", "eq", "nn.CosineEmbeddingLoss", "nn.functional.gelu")
OPS += ("scatter_reduce.mean", "sign", "where")
KINDS = ("f32", "bf16", "i64")


@pytest.fixture(scope="module")
def _samples(_torch: None) -> None:
    pytest.importorskip("expecttest", reason="PyTorch's samples need it")
    sys.path.insert(0, str(TOOLS))


@pytest.mark.usefixtures("_samples")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", OPS)
def test_pytorch_says_the_same(name: str) -> None:
    import torch_cases
    from torch_judge import BAD, judged_all

    found = [one for kind in KINDS for one in judged_all(torch_cases.cases(name, kind, 1, 1))]
    assert [f"{one.case}: {one.outcome.value}: {one.said}" for one in found if one.outcome in BAD] == []
    assert len(found) > len(KINDS)


@pytest.mark.usefixtures("_samples")
@pytest.mark.filterwarnings("ignore")
def test_others_are_called_wrong() -> None:
    """Of a module that computes something else than its case says, whatever type that is of."""
    import torch
    from torch_cases import Called, Case
    from torch_judge import Outcome, judged

    x = torch.tensor([1.5, -2.0, torch.inf, torch.nan, 0.0])

    def outcome_of(op: Any, expected: Any, given: Any = x) -> Outcome:  # noqa: ANN401
        return judged(Case("", "", "", Called(op, ((given,), {})), (expected,))).outcome

    assert outcome_of(torch.neg, -x) is Outcome.RIGHT
    assert outcome_of(torch.neg, x) is Outcome.WRONG
    assert outcome_of(torch.neg, torch.tensor([-1.501, 2.0, -torch.inf, torch.nan, 0.0])) is Outcome.WRONG
    assert outcome_of(torch.neg, torch.tensor([-1.5, 2.0, -torch.inf, 0.0, 0.0])) is Outcome.WRONG
    assert outcome_of(torch.neg, (-x).double()) is Outcome.WRONG
    assert outcome_of(torch.neg, (-x).unsqueeze(0)) is Outcome.WRONG
    assert outcome_of(torch.neg, torch.tensor([1, 3]), torch.tensor([-1, -2])) is Outcome.WRONG
    assert outcome_of(torch.special.airy_ai, x) is Outcome.REFUSED
    assert outcome_of(torch.rand_like, x) is Outcome.REFUSED


@pytest.mark.usefixtures("_samples")
@pytest.mark.filterwarnings("ignore")
def test_the_same_seed_draws_the_same() -> None:
    from torch_cases import WAYS, cases

    first, second = (cases("add", "f32", 3, 2) for _ in range(2))
    assert list(map(str, first)) == list(map(str, second))
    assert {case.way for case in first} <= {"given", *WAYS}
    assert [str(one) for one in cases("add", "f32", 4, 2)] != [str(one) for one in first]


@pytest.mark.usefixtures("_samples")
def test_what_is_known_has_a_reason() -> None:
    from torch_known import known_in

    for known in known_in(TOOLS / "torch_known.toml"):
        assert len(known.reason.split()) > 3
