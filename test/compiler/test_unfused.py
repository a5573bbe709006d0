"""Small functions are compiled without fusion as well: where groups as one are slower, estimates don't have it so."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from judges import JUDGE

import npuflow
from npuflow.compiler.tries import Tries
from npuflow.execute.verification import Status

sys.path.insert(0, str(Path(__file__).parent))
from chains import Program, chain

AS_RUN = "npuflow-stream-k{bundle-matmuls=true}"


def squeezed(width: int, narrow: int) -> str:
    """A row through a layer that is narrow: the two matmuls around it are estimated to be faster as one."""
    p = Program("squeezed")
    x = p.relu(p.matmul(p.argument(1, width), p.argument(width, narrow)))
    return p.text(p.relu(p.matmul(p.matmul(x, p.argument(narrow, width)), p.argument(width, width))))


# In parts, and as a whole, which then comes apart.
SLOWER_FUSED = {"parts": (squeezed(64, 16), "npu2"), "whole": (chain(4, 64), "npu2"), "other": (chain(4, 64), "toy")}


def seconds_of(compiled: npuflow.Compiled) -> float:
    if not compiled.sequences:
        return compiled.functions[0].simulate().seconds
    (sequence,) = compiled.sequences
    return sequence.seconds


@pytest.mark.parametrize("name", SLOWER_FUSED)
def test_groups_as_one_that_are_slower_are_left_apart(name: str) -> None:
    text, device = SLOWER_FUSED[name]
    made, fused, apart = (
        npuflow.compile(text, AS_RUN, device=device, disable=left_out) for left_out in ((), "tries", "fusion")
    )
    assert seconds_of(fused) > seconds_of(apart)
    assert seconds_of(made) == seconds_of(apart)
    (sequence,) = made.run(verify=True, judge=JUDGE).sequences
    assert sequence.verified.status is Status.OK
    assert "as one it takes" in sequence.reason or "as a whole it takes" in sequence.reason


def test_what_is_said_to_be_fused_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = list[str]()
    monkeypatch.setattr(Tries, "_unfuse", lambda _, source, __: tried.append(source.name))
    text, device = SLOWER_FUSED["parts"]
    for said in ("halos=recomputed", "fuse=false", "window-rows=2"):
        npuflow.compile(text, f"npuflow-stream-k{{{said}}}", device=device)
    assert not tried
    npuflow.compile(text, AS_RUN, device=device)
    assert tried == ["squeezed"]


def test_functions_that_are_to_be_whole_are() -> None:
    text, device = SLOWER_FUSED["whole"]
    assert not npuflow.compile(text, AS_RUN, device=device, split=False).sequences
