"""Contexts that can read every upstream dialect, and `npu`."""

from __future__ import annotations

from npuflow import bindings
from npuflow.bindings import ir
from npuflow.dialect.npu import load_dialect


def new_context(*, allow_unregistered_dialects: bool = False) -> ir.Context:
    """A context for one compilation; threads use one each.

    Ops can be made from Python of dialects that programs are of; of others, such as `spirv`, once one is read, or after
    `context.load_all_available_dialects()`.

    It has no threads of its own: a fork of this process that goes on with it would wait for those for ever.
    """
    context = bindings.new_context()
    context.enable_multithreading(False)
    load_dialect(context)
    context.allow_unregistered_dialects = allow_unregistered_dialects
    return context
