"""A dialect defined in Python, with a verifier, as `npu` is."""

import pytest

from npuflow import bindings
from npuflow.bindings import ext, ir

# `ext` reads the annotations below as objects, so this file must not postpone their evaluation.


class Smoke(ext.Dialect, name="smoke"):
    pass


class Even(Smoke.Operation, name="even"):
    value: ir.IntegerAttr

    def verify_invariants(self) -> bool:
        return int(self.value) % 2 == 0


class Named(Smoke.Operation, name="named"):
    of: ir.StringAttr


def parse(text: str) -> ir.Module:
    context = bindings.new_context()
    with context, ir.Location.unknown():
        Smoke.load()
        return ir.Module.parse(text)


def test_what_the_verifier_accepts_is_parsed() -> None:
    module = parse('"smoke.even"() {value = 4 : i32} : () -> ()')
    assert isinstance(module.body.operations[0], Even)


@pytest.mark.parametrize(
    "op",
    [
        pytest.param('"smoke.even"() {value = 3 : i32}', id="by its verifier"),
        pytest.param('"smoke.named"() {of = 3 : i32}', id="by an attribute's kind"),
        pytest.param('"smoke.named"()', id="by a missing attribute"),
    ],
)
def test_what_the_definition_forbids_is_an_error(op: str) -> None:
    with pytest.raises(ir.MLIRError):
        parse(f"{op} : () -> ()")
