"""A dialect defined in Python, with a verifier, as `npu` is."""

import pytest

from npuflow import bindings
from npuflow.bindings import ext, ir

# `ext` reads the annotations below as objects, so this file must not postpone their evaluation.


class Smoke(ext.Dialect, name="smoke"):
    pass


class Tag(Smoke.Attribute, name="tag"):
    fields: ir.DictAttr


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


def test_attributes_are_told_by_their_class_in_locations_when_asked() -> None:
    module = parse("module attributes {smoke.a = #smoke.tag<{n = 1}>, smoke.b = 1} {}")
    attributes = module.operation.attributes
    assert isinstance(attributes["smoke.a"], Tag)
    assert not isinstance(attributes["smoke.b"], Tag)
    with module.context:
        place = ir.Location.fused([ir.Location.unknown()], attributes["smoke.a"])
    assert isinstance(place, ir.FusedLoc)
    assert isinstance(place.metadata.maybe_downcast(), Tag)


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
