"""The flags of `npuflow-opt`, spelled as `mlir-opt` spells them; passes and pipelines are flags as well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from npuflow.core.sources import SPLIT_MARKER
from npuflow.tools.flags import FileUse, flag

if TYPE_CHECKING:
    from npuflow.core.printing import DumpSelection, PrintStyle

GENERAL, PIPELINE, PRINTING, DUMPS, CHECKS, REPORTS, LISTS = (
    "General",
    "Pipeline",
    "Printing",
    "IR dumps",
    "Checks",
    "Reports",
    "Lists",
)


@dataclass(frozen=True)
class OptFlags:
    """Every flag with its default."""

    output: str = flag(
        "-",
        "output file, written only on success; here and wherever a file is written '-' is stdout",
        group=GENERAL,
        metavar="file",
        name="o",
        file=FileUse.WRITTEN,
    )
    split_input_file: str | None = flag(
        None, "process the parts between marker lines on their own", group=GENERAL, metavar="marker", bare=SPLIT_MARKER
    )
    allow_unregistered_dialect: bool = flag(False, "accept operations of unknown dialects", group=GENERAL)
    irdl_file: tuple[str, ...] = flag(
        (), "load the dialects an IRDL file defines", group=GENERAL, metavar="file", file=FileUse.READ
    )
    load: tuple[str, ...] = flag(
        (), "run a Python file that registers passes", group=GENERAL, metavar="plugin.py", file=FileUse.READ
    )
    emit_bytecode: bool = flag(False, "write MLIR bytecode instead of text", group=GENERAL)
    mlir_disable_threading: bool = flag(False, "run MLIR's passes on one thread", group=GENERAL)

    pass_pipeline: str | None = flag(
        None, "what to run, such as 'builtin.module(npuflow-x{a=1},func.func(cse))'", group=PIPELINE, metavar="text"
    )
    device: str | None = flag(
        None,
        "the 'device' option of every pass and pipeline that has one and got none",
        group=PIPELINE,
        metavar="name|file",
        file=FileUse.READ,
    )
    specialize: tuple[str, ...] = flag(
        (), "first give arguments of dynamic shape a static one, as %arg0=128x256", group=PIPELINE, metavar="shape,..."
    )
    stop_after: str | None = flag(None, "stop after this stage of a named pipeline", group=PIPELINE, metavar="stage")
    transform_schedule: str | None = flag(
        None,
        "let @__transform_main of a transform-dialect file (without a value: of the input) replace the first stages "
        "of the named pipeline",
        group=PIPELINE,
        metavar="file",
        bare="",
        file=FileUse.READ,
    )
    resume_after: str | None = flag(
        None, "the last stage that --transform-schedule replaces", group=PIPELINE, metavar="stage"
    )
    dump_pass_pipeline: bool = flag(False, "print the expanded pipeline to stderr", group=PIPELINE)

    mlir_print_op_generic: bool = flag(False, "print every op in generic form", group=PRINTING)
    mlir_print_debuginfo: bool = flag(False, "print locations", group=PRINTING)
    mlir_pretty_debuginfo: bool = flag(False, "print locations in a form for reading", group=PRINTING)
    mlir_print_local_scope: bool = flag(False, "print without aliases", group=PRINTING)
    mlir_print_skip_regions: bool = flag(False, "leave regions out", group=PRINTING)
    mlir_elide_elementsattrs_if_larger: int | None = flag(
        None, "print constants of more elements as '...'", group=PRINTING, metavar="n"
    )
    mlir_elide_resource_strings_if_larger: int | None = flag(
        None, "leave out resources of more characters", group=PRINTING, metavar="n"
    )

    mlir_print_ir_before: tuple[str, ...] = flag((), "dump before these passes", group=DUMPS, metavar="pass,...")
    mlir_print_ir_after: tuple[str, ...] = flag((), "dump after these passes", group=DUMPS, metavar="pass,...")
    mlir_print_ir_before_all: bool = flag(False, "dump before each pass", group=DUMPS)
    mlir_print_ir_after_all: bool = flag(False, "dump after each pass", group=DUMPS)
    mlir_print_ir_after_change: bool = flag(False, "dump after passes only where they changed the IR", group=DUMPS)
    mlir_print_ir_after_failure: bool = flag(False, "dump after a pass only if it failed", group=DUMPS)
    mlir_print_ir_module_scope: bool = flag(False, "always dump the whole module", group=DUMPS)
    mlir_print_ir_tree_dir: str | None = flag(
        None, "dump into a directory tree instead of stderr", group=DUMPS, metavar="directory"
    )

    verify_diagnostics: str | None = flag(
        None,
        "match messages against expected-error/-warning/-remark/-note comments; 'only-expected' lets others pass",
        group=CHECKS,
        choices=("all", "only-expected"),
        bare="all",
    )
    verify_each: bool = flag(True, "verify the IR after each pass (default: true)", group=CHECKS)
    verify_roundtrip: bool = flag(False, "check that the input prints, parses and reads back the same", group=CHECKS)
    run_reproducer: bool = flag(False, "run the pipeline that the input, a reproducer, carries", group=CHECKS)
    mlir_pass_pipeline_crash_reproducer: str | None = flag(
        None,
        "where to write a reproducer when a pass fails (default: npuflow-reproducer.mlir, when a pass crashes)",
        group=CHECKS,
        metavar="file",
        file=FileUse.WRITTEN_ON_FAILURE,
    )
    mlir_generate_reproducer: str | None = flag(
        None,
        "write a reproducer of the input and the pipeline, whether or not anything fails",
        group=CHECKS,
        metavar="file",
        file=FileUse.WRITTEN,
    )

    remarks: tuple[str, ...] | None = flag(
        None, "show what passes decided and why: all, or of these passes", group=REPORTS, metavar="pass,...", bare=()
    )
    mlir_timing: bool = flag(False, "print how long each pass took", group=REPORTS)
    mlir_timing_display: str = flag(
        "tree", "print times in the pipeline's order or sorted", group=REPORTS, choices=("tree", "list")
    )
    mlir_pass_statistics: bool = flag(False, "print what each pass counted", group=REPORTS)
    mlir_pass_statistics_display: str = flag(
        "pipeline",
        "print statistics in the pipeline's order or summed by pass",
        group=REPORTS,
        choices=("pipeline", "list"),
    )

    help: bool = flag(False, "print this text", group=LISTS)
    version: bool = flag(False, "print the versions of npuflow and of MLIR", group=LISTS)
    list_passes: str | None = flag(
        None,
        "list passes and named pipelines, or with '=upstream' MLIR's",
        group=LISTS,
        choices=("npuflow", "upstream"),
        bare="npuflow",
    )
    show_dialects: bool = flag(False, "list the dialects", group=LISTS)

    @property
    def print_style(self) -> PrintStyle:
        from npuflow.core.printing import PrintStyle

        return PrintStyle(
            generic=self.mlir_print_op_generic,
            debug_info=self.mlir_print_debuginfo,
            pretty_debug_info=self.mlir_pretty_debuginfo,
            local_scope=self.mlir_print_local_scope,
            skip_regions=self.mlir_print_skip_regions,
            elide_elements_above=self.mlir_elide_elementsattrs_if_larger,
            elide_resources_above=self.mlir_elide_resource_strings_if_larger,
            assume_verified=self.verify_each,
        )

    @property
    def dumps(self) -> DumpSelection:
        from npuflow.core.printing import DumpSelection

        return DumpSelection(
            before=frozenset(self.mlir_print_ir_before),
            after=frozenset(self.mlir_print_ir_after),
            before_all=self.mlir_print_ir_before_all,
            after_all=self.mlir_print_ir_after_all,
            after_change=self.mlir_print_ir_after_change,
            after_failure=self.mlir_print_ir_after_failure,
        )
