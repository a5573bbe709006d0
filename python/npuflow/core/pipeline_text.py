"""Pipeline text: `builtin.module(npuflow-x{a=1 b=2},func.func(canonicalize),cse)` to a tree and back.

Names we know become our passes and named pipelines; all others are MLIR's and keep their option text as written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from npuflow.core.options import from_assignments, split_assignments
from npuflow.core.passes import Pass
from npuflow.core.registry import PASSES, PIPELINES, NamedPipeline
from npuflow.core.upstream import is_upstream_pass, upstream_pass_names
from npuflow.errors import Diagnostic, Severity, SourceLocation, UsageError, unknown_name, with_hint


@dataclass(frozen=True)
class PassNode:
    """One of our passes; `text` is how the user wrote it."""

    instance: Pass
    text: str

    @property
    def name(self) -> str:
        return self.instance.name

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class UpstreamNode:
    """One of MLIR's passes, handed to MLIR as text."""

    name: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class NamedNode:
    """A named pipeline, not expanded."""

    instance: NamedPipeline
    text: str

    @property
    def name(self) -> str:
        return self.instance.name

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class PassNest:
    """Elements that run on each `anchor` op."""

    anchor: str
    elements: tuple[Node, ...]

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(str(e) for e in self.elements)})"


Node = PassNode | UpstreamNode | NamedNode | PassNest

_DEEPEST = 64
_NAME = re.compile(r"[A-Za-z_][\w.\-]*")


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0

    def fail(self, what: str, hint: str | None = None) -> UsageError:
        place = SourceLocation("<pass-pipeline>", 1, self.position + 1, self.text.replace("\n", " "))
        return UsageError(Diagnostic(Severity.ERROR, with_hint(what, hint), place))

    def skip_blanks(self) -> None:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1

    def peek(self) -> str:
        self.skip_blanks()
        return self.text[self.position : self.position + 1]

    def take_braced(self) -> str:
        """The text between balanced braces, which start here."""
        start, depth, quote = self.position, 0, ""
        while self.position < len(self.text):
            c = self.text[self.position]
            self.position += 1
            if quote:
                quote = "" if c == quote else quote
            elif c in "'\"":
                quote = c
            else:
                depth += (c == "{") - (c == "}")
            if depth == 0:
                return self.text[start + 1 : self.position - 1]
        self.position = start
        raise self.fail("missing closing '}'")

    def elements(self, close: str) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while self.peek() != close:
            if nodes:
                if self.peek() != ",":
                    raise self.fail(f"expected ',' or '{close or 'end'}'")
                self.position += 1
            nodes.append(self.element())
        return tuple(nodes)

    def element(self) -> Node:
        self.skip_blanks()
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise self.fail("expected a pass name", "separate passes by ','")
        name, start = match[0], self.position
        self.position = match.end()
        if self.peek() == "(":
            return self.nest(name)
        options = self.take_braced() if self.peek() == "{" else ""
        try:
            return make_node(name, options)
        except UsageError as error:
            self.position = start
            raise self.fail(error.diagnostics[0].message) from None

    def nest(self, anchor: str) -> PassNest:
        """The elements in parentheses, which start here."""
        if self.depth == _DEEPEST:
            raise self.fail(f"more than {_DEEPEST} levels of nesting", "no op nests as deep")
        self.depth += 1
        self.position += 1
        inner = self.elements(")")
        self.position += 1
        self.depth -= 1
        return PassNest(anchor, inner)


def make_node(name: str, options: str = "") -> Node:
    """A pass or named pipeline by name, with its options as text."""
    text = f"{name}{{{' '.join(options.split())}}}" if options.strip() else name
    if name in PASSES:
        return PassNode(PASSES[name](**from_assignments(PASSES[name], name, split_assignments(options))), text)
    if name in PIPELINES:
        return NamedNode(PIPELINES[name](**from_assignments(PIPELINES[name], name, split_assignments(options))), text)
    if not is_upstream_pass(name):
        raise UsageError(unknown_name("pass", name, [*PASSES, *PIPELINES, *upstream_pass_names()]))
    return UpstreamNode(name, text)


def parse_pipeline(text: str) -> PassNest:
    """Reads pipeline text; without an outer `anchor(...)` the elements run on the module."""
    parser = _Parser(text)
    nodes = parser.elements("")
    if len(nodes) == 1 and isinstance(nodes[0], PassNest) and nodes[0].anchor in ("builtin.module", "any"):
        return nodes[0]
    return PassNest("builtin.module", nodes)


def parse_elements(text: str) -> tuple[Node, ...]:
    """Reads a comma list of passes without an anchor around them."""
    return _Parser(text).elements("")
