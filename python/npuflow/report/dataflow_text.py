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
    """What a node is, and what is moved along its edges; what stays between two ops is in brackets, with its slots."""
    edges = " -> ".join(text for text in (_edges(node.reads), _edges(node.writes)) if text)
    return f"{node.what}: {edges}" if edges else node.what


def _children(node: DataflowNode, before: str) -> Iterator[str]:
    for number, child in enumerate(node.children):
        is_last = number == len(node.children) - 1
        yield before + (_LAST if is_last else _FORK) + node_text(child)
        yield from _children(child, before + (_NOTHING if is_last else _BAR))


def _edges(edges: Sequence[DataflowEdge]) -> str:
    return ", ".join(f"[{edge_text(edge)}]" if edge.stays else edge_text(edge) for edge in edges)


def edge_text(edge: DataflowEdge) -> str:
    """A value, and how much of it is moved; slots where ops hand it to each other through more than one."""
    slots = f", {edge.slots} slots" if edge.stays and edge.slots > 1 else ""
    return f"{edge.value} {byte_text(edge.bytes)}{slots}"
