"""The tree of a fused group as text: a line for each level, loop and op."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from npuflow.execute.limits import byte_text
from npuflow.report.measures import DataflowEdge, DataflowNode

_FORK, _LAST, _BAR, _NOTHING = "├─ ", "└─ ", "│  ", "   "


def dataflow_lines(node: DataflowNode) -> Iterator[str]:
    """The tree, a node a line: what it is, what goes inward along it, and what comes back."""
    yield node_text(node)
    yield from _children(node, "")


def node_text(node: DataflowNode) -> str:
    """What a node is, and what is moved along its edges; what stays between two ops is in brackets."""
    edges = " -> ".join(text for text in (_edges(node.reads), _edges(node.writes)) if text)
    return f"{node.what}: {edges}" if edges else node.what


def _children(node: DataflowNode, before: str) -> Iterator[str]:
    for number, child in enumerate(node.children):
        is_last = number == len(node.children) - 1
        yield before + (_LAST if is_last else _FORK) + node_text(child)
        yield from _children(child, before + (_NOTHING if is_last else _BAR))


def _edges(edges: Sequence[DataflowEdge]) -> str:
    return ", ".join(_edge(edge) for edge in edges)


def _edge(edge: DataflowEdge) -> str:
    text = f"{edge.value} {byte_text(edge.bytes)}"
    return f"[{text}]" if edge.stays else text
