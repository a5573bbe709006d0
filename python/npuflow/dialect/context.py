"""Contexts that know every upstream dialect and `npu`."""

from __future__ import annotations

from npuflow import bindings
from npuflow.bindings import ir
from npuflow.dialect.npu import load_dialect


def new_context(*, allow_unregistered_dialects: bool = False) -> ir.Context:
    """A context for one compilation; threads use one each."""
    context = bindings.new_context()
    load_dialect(context)
    context.allow_unregistered_dialects = allow_unregistered_dialects
    return context
