"""Reproducers: IR and the pipeline that fails on it in one file, in MLIR's own form.

func.func @f() { ... }
{-#
  external_resources: {
    mlir_reproducer: {
      pipeline: "builtin.module(npuflow-x{a=1})",
      disable_threading: false,
      verify_each: true
    }
  }
#-}
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from npuflow.bindings import ir
from npuflow.core.expansion import Leaf, leaves_of
from npuflow.core.pipeline_text import NamedNode, Node, PassNest
from npuflow.core.runner import Instrumentation, PassRun, Runner
from npuflow.errors import InputError, NpuflowError, with_hint

DEFAULT_FILE = "npuflow-reproducer.mlir"
RESOURCE = "mlir_reproducer"

_SECTION = re.compile(RESOURCE + r"\s*:\s*\{(.*?)\}\s*\}\s*#-\}", re.DOTALL)
_PIPELINE = re.compile(r'pipeline\s*:\s*"((?:[^"\\]|\\.)*)"')
_FLAG = r"{}\s*:\s*(true|false)"
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)")
_NAMED_ESCAPES = {"n": "\n", "t": "\t"}


@dataclass(frozen=True)
class Reproducer:
    """What a reproducer file says about how to run its IR."""

    pipeline: str
    verify_each: bool = True
    disable_threading: bool = False

    def file_text(self, ir_text: str) -> str:
        pipeline = self.pipeline.replace("\\", "\\\\").replace('"', "\\22")
        return (
            f"{ir_text.rstrip()}\n\n"
            "{-#\n"
            "  external_resources: {\n"
            f"    {RESOURCE}: {{\n"
            f'      pipeline: "{pipeline}",\n'
            f"      disable_threading: {_text(self.disable_threading)},\n"
            f"      verify_each: {_text(self.verify_each)}\n"
            "    }\n"
            "  }\n"
            "#-}\n"
        )


def read_reproducer(text: str, name: str) -> Reproducer:
    """What a file says about its own pipeline; raises InputError where it is no reproducer."""
    section = _SECTION.search(text)
    pipeline = _PIPELINE.search(section[1]) if section else None
    if section is None or pipeline is None:
        hint = f"--run-reproducer needs a file that ends in {{-# external_resources: {{ {RESOURCE}: ... }} #-}}"
        raise InputError(with_hint(f"'{name}' is no reproducer", hint))
    return Reproducer(
        _ESCAPE.sub(_unescape, pipeline[1]),
        verify_each=_flag(section[1], "verify_each", default=True),
        disable_threading=_flag(section[1], "disable_threading", default=False),
    )


@dataclass
class FailureWatch(Instrumentation):
    """Remembers which pass failed."""

    failed: Leaf | None = None

    def after_pass_failed(self, run: PassRun) -> None:
        """Keeps the pass."""
        self.failed = run.leaf


def make_reproducer(
    whole: Reproducer, pipeline: PassNest, failed: Leaf | None, parse_input: Callable[[], ir.Module]
) -> tuple[str, int]:
    """A reproducer file's text and how many passes it runs.

    Runs the passes before the failing one again, so that the file holds the IR in front of it and only what is left of
    the pipeline; where that doesn't work, the whole pipeline's input. Normal runs thus pay nothing for it.
    """
    done, left = _split_at(pipeline, failed)
    try:
        module = parse_input()
        Runner(done, verify_each=False).run(module)
    except NpuflowError:
        module, left = parse_input(), pipeline
    text = replace(whole, pipeline=str(left)).file_text(located_text(module))
    return text, sum(1 for _ in leaves_of(left))


def located_text(module: ir.Module) -> str:
    """The module with its locations, so that a replayed message still names the user's file."""
    return str(module.operation.get_asm(enable_debug_info=True))


def _split_at(pipeline: PassNest, failed: Leaf | None) -> tuple[PassNest, PassNest]:
    """The pipeline in front of the top-level element that holds the failing pass, and the rest."""
    for index, element in enumerate(pipeline.elements):
        if failed is not None and _holds(element, failed):
            elements = pipeline.elements
            return replace(pipeline, elements=elements[:index]), replace(pipeline, elements=elements[index:])
    return replace(pipeline, elements=()), pipeline


def _holds(element: Node, leaf: Leaf) -> bool:
    if isinstance(element, PassNest):
        return any(_holds(inner, leaf) for inner in element.elements)
    return element is leaf and not isinstance(element, NamedNode)


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    return chr(int(code, 16)) if len(code) > 1 else _NAMED_ESCAPES.get(code, code)


def _flag(section: str, name: str, *, default: bool) -> bool:
    found = re.search(_FLAG.format(name), section)
    return found[1] == "true" if found else default


def _text(value: bool) -> str:
    return "true" if value else "false"
