"""`--mlir-pass-statistics`: what passes counted, ours and MLIR's in one report."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from npuflow.bindings import passmanager
from npuflow.core.expansion import leaves_of, numbered
from npuflow.core.pipeline_text import NamedNode, PassNest, UpstreamNode
from npuflow.core.runner import Instrumentation, PassRun
from npuflow.core.stderr_capture import StderrCapture
from npuflow.core.timing import report_header

_COUNTED = re.compile(r"\(S\)\s+(\d+)\s+(\S+)")


@dataclass
class StatisticsCollector(Instrumentation):
    """Adds up statistics by pass; MLIR's passes only count in builds of MLIR that have counters."""

    write: Callable[[str], object]
    _counts: dict[int, dict[str, int]] = field(default_factory=dict, init=False)
    _capture: StderrCapture | None = field(default=None, init=False)

    def configure_upstream(self, manager: passmanager.PassManager) -> None:
        """Asks MLIR to count."""
        manager.enable_statistics()

    def before_pass(self, run: PassRun) -> None:
        """MLIR's passes print what they count."""
        if isinstance(run.leaf, UpstreamNode):
            self._capture = StderrCapture()

    def after_pass(self, run: PassRun) -> None:
        """Adds what the pass counted."""
        for name, amount in {**run.statistics, **self._captured()}.items():
            counts = self._counts.setdefault(run.position, {})
            counts[name] = counts.get(name, 0) + amount

    def after_pass_failed(self, _: PassRun) -> None:
        """Leaves stderr as it was."""
        self._captured()

    def _captured(self) -> dict[str, int]:
        """Statistics that MLIR printed; anything else that it wrote goes to stderr after all."""
        if self._capture is None:
            return {}
        text = self._capture.stop()
        self._capture = None
        other, _, counted = text.partition(report_header("Pass statistics report"))
        self.write(other)
        return {name: int(amount) for amount, name in _COUNTED.findall(counted)}

    def report(self, pipeline: PassNest, *, as_list: bool = False) -> str:
        """The report; as a list the counts are summed by pass and sorted by name."""
        lines = self._list_lines(pipeline) if as_list else self._nest_lines(pipeline, 0)
        return "\n".join([report_header("Pass statistics report"), *lines]) + "\n"

    def _nest_lines(self, nest: PassNest, depth: int, first: int = 1) -> list[str]:
        lines: list[str] = []
        indent = "  " * depth
        for position, element in numbered(nest, first):
            if isinstance(element, PassNest):
                lines += [f"{indent}'{element.anchor}' Pipeline", *self._nest_lines(element, depth + 1, position)]
            elif not isinstance(element, NamedNode):
                lines += _pass_lines(element.name, self._counts.get(position, {}), indent)
        return lines

    def _list_lines(self, nest: PassNest) -> list[str]:
        summed: dict[str, dict[str, int]] = {}
        for position, (_, leaf) in enumerate(leaves_of(nest), 1):
            counts = summed.setdefault(leaf.name, {})
            for name, amount in self._counts.get(position, {}).items():
                counts[name] = counts.get(name, 0) + amount
        return [line for name in sorted(summed) for line in _pass_lines(name, summed[name], "")]


def _pass_lines(name: str, counts: dict[str, int], indent: str) -> list[str]:
    width = max((len(str(amount)) for amount in counts.values()), default=0)
    return [f"{indent}{name}", *(f"{indent}  (S) {amount:>{width}} {key}" for key, amount in counts.items())]
