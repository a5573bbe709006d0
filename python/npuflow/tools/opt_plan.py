"""What the chunks of one input of `npuflow-opt` share: the flags, the pipeline, and what watches it run."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field

from npuflow.core.pipeline_text import PassNest
from npuflow.core.printing import IrDumper
from npuflow.core.reproducer import Reproducer
from npuflow.core.runner import Instrumentation
from npuflow.core.sources import Source
from npuflow.core.statistics import StatisticsCollector
from npuflow.core.timing import Timer
from npuflow.tools.opt_flags import OptFlags


@dataclass(frozen=True)
class Plan:
    """What the chunks of an input share."""

    flags: OptFlags
    pipeline: PassNest
    how: Reproducer
    source: Source
    timer: Timer = field(default_factory=Timer)
    statistics: StatisticsCollector = field(default_factory=lambda: StatisticsCollector(sys.stderr.write))

    def reports(self) -> str:
        """The statistics and times that were asked for, as text."""
        text = ""
        if self.flags.mlir_pass_statistics:
            display = self.flags.mlir_pass_statistics_display
            text += self.statistics.report(self.pipeline, as_list=display == "list")
        if self.flags.mlir_timing:
            text += self.timer.report(self.pipeline, as_list=self.flags.mlir_timing_display == "list")
        return text

    def instrumentations(self) -> list[Instrumentation]:
        """The watchers of a run, the outermost first; times are taken innermost."""
        watchers: list[Instrumentation] = []
        if not self.flags.dumps.is_empty:
            watchers.append(
                IrDumper(
                    self.flags.dumps,
                    self.flags.print_style,
                    write=sys.stderr.write,
                    module_scope=self.flags.mlir_print_ir_module_scope,
                    tree_directory=self.flags.mlir_print_ir_tree_dir,
                )
            )
        if self.flags.mlir_pass_statistics:
            watchers.append(self.statistics)
        if self.flags.mlir_timing:
            watchers.append(self.timer)
        return watchers
