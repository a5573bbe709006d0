"""What a function says of its arguments: a dictionary of attributes for each."""

from __future__ import annotations

from collections.abc import Mapping

from npuflow.bindings import ir

_SAID = "arg_attrs"


def argument_attributes(function: ir.Operation) -> list[dict[str, ir.Attribute]]:
    """The attributes of each argument, by their names."""
    if _SAID not in function.attributes:
        return [{} for _ in function.opview.type.inputs]
    return [{named.name: named.attr for named in ir.DictAttr(one)} for one in ir.ArrayAttr(function.attributes[_SAID])]


def add_argument_attributes(function: ir.Operation, added: Mapping[int, Mapping[str, ir.Attribute]]) -> None:
    """Says more of arguments, by their numbers, in place of what was said under the same names."""
    if not added:
        return
    before = argument_attributes(function)
    with function.context:
        found = [ir.DictAttr.get({**own, **added.get(number, {})}) for number, own in enumerate(before)]
        function.attributes[_SAID] = ir.ArrayAttr.get(found)
