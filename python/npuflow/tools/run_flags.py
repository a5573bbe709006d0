"""The flags of `npuflow run`."""

from __future__ import annotations

from dataclasses import dataclass, fields

from npuflow.compiler.default import DEFAULT_PIPELINE
from npuflow.errors import UsageError, with_hint
from npuflow.network.decisions import Decision
from npuflow.tools.command_line import CommandLine
from npuflow.tools.compile_flags import columns_flag, device_flag, pipeline_flag
from npuflow.tools.compute_type_flags import calibration_flag, compute_type_flag
from npuflow.tools.flags import FileUse, flag
from npuflow.tools.limit_flags import memory_limit_flag, time_limit_flag


@dataclass(frozen=True)
class RunFlags:
    """Every flag with its default."""

    device: str | None = device_flag()
    columns: int | None = columns_flag()
    pipeline: str | None = pipeline_flag()
    grid: str | None = flag(None, "rows,columns of cores", group="", metavar="r,c")
    tile_l2: str | None = flag(None, "sizes of a block in L2", group="", metavar="m,n,k")
    tile_l1: str | None = flag(None, "sizes of a core's tile in L1", group="", metavar="m,n,k")
    pack: str | None = flag(None, "sizes of the matmul instruction", group="", metavar="m,n,k")
    depth_l2: str | None = flag(None, "slots of each operand's buffer in L2", group="", metavar="n")
    depth_l1: str | None = flag(None, "slots of each operand's buffer in L1", group="", metavar="n")
    depth_lhs: str | None = flag(None, "slots of the left operand's buffers", group="", metavar="l2,l1")
    depth_rhs: str | None = flag(None, "slots of the right operand's buffers", group="", metavar="l2,l1")
    depth_result: str | None = flag(None, "slots of the result's buffers", group="", metavar="n")
    depth_tail: str | None = flag(None, "slots of what the tail reads beside the sum", group="", metavar="n")
    depth_between: str | None = flag(
        None, "slots of what matrix and vector engines hand to each other", group="", metavar="n"
    )
    kernel_macs_per_cycle: str | None = flag(
        None, "time matmul kernels by this rate instead of the model, calls included", group="", metavar="x"
    )
    compute_type: str | None = compute_type_flag()
    calibration: tuple[str, ...] = calibration_flag()
    specialize: tuple[str, ...] = flag(
        (), "first give arguments of dynamic shape a static one, as %arg0=128x256", group="", metavar="shape,..."
    )
    split: bool = flag(False, "run every function of several groups of ops as a sequence of parts", group="")
    no_split: bool = flag(
        False, "refuse what doesn't fit as a whole (default: split that, and what is faster so)", group=""
    )
    disable: tuple[str, ...] = flag(
        (),
        "leave out decisions: " + ", ".join(one.value for one in Decision),
        group="",
        metavar="name,...",
    )
    fuse: str | None = flag(
        None,
        "run groups of windows in a row as one, by names that --remarks of npuflow-opt gives",
        group="",
        metavar="name,...",
    )
    details: bool = flag(
        False, "print the parts of sequences each on a screen of its own as well, and what is fused as a tree", group=""
    )
    verify: bool = flag(False, "compare with IREE on random data, however large the problem is", group="")
    no_verify: bool = flag(False, "compare nothing (default: compare up to 2^28 multiply-accumulates)", group="")
    reference: str | None = flag(
        None,
        "for a schedule: the program that it must agree with, by its function's name",
        group="",
        metavar="file",
        file=FileUse.READ,
    )
    seed: int = flag(0, "which random data (default: 0)", group="", metavar="n")
    oracle: str = flag(
        "iree",
        "what it is compared with (default: iree); jit is the input's own execution",
        group="",
        choices=("iree", "jit"),
    )
    jobs: int | None = flag(
        None,
        "compile and simulate in so many processes (default: the processor's cores; 1: none)",
        group="",
        metavar="n",
        least=1,
    )
    time_limit: int = time_limit_flag()
    memory_limit: str | None = memory_limit_flag()
    json: str | None = flag(
        None, "write the report as JSON; here and below '-' is stdout", group="", metavar="file", file=FileUse.WRITTEN
    )
    trace: str | None = flag(
        None, "write a timeline that ui.perfetto.dev loads", group="", metavar="file", file=FileUse.WRITTEN
    )
    html: str | None = flag(
        None,
        "write the report as a page with timeline, array and memories",
        group="",
        metavar="file",
        file=FileUse.WRITTEN,
    )
    window: str | None = flag(
        None,
        "which part of the run the page shows event by event, as 1.2ms:1.5ms (default: from its beginning, what fits)",
        group="",
        metavar="begin:end",
    )
    load: tuple[str, ...] = flag(
        (), "run a Python file that registers passes", group="", metavar="plugin.py", file=FileUse.READ
    )
    help: bool = flag(False, "print this text", group="")


COMMAND_LINE = CommandLine(
    name="npuflow run",
    owner=RunFlags,
    summary="how long a program or schedule takes on a device, whether it is right, and what limits it",
    usage="npuflow run <file.mlir, or - for stdin> [--device=<name>] [flags]",
    notes=("Exit codes: 0 done, 1 refused or wrong results, 2 usage, 3 a bug of npuflow.",),
    column=34,
)

_DEPTHS = tuple(field.name for field in fields(RunFlags) if field.name.startswith("depth_"))
_OPTIONS = ("grid", "tile_l2", "tile_l1", "pack", *_DEPTHS)
OF_PIPELINES = ("pipeline", *_OPTIONS, "fuse")
# Of these, what only matmuls are mapped by; everything else has a strategy of its own kind.
OF_MATMULS = frozenset(_OPTIONS) - {"grid", "depth_between"}


def pipeline_text(flags: RunFlags) -> str:
    """The pipeline with the options that have flags of their own."""
    given = {name.replace("_", "-"): getattr(flags, name) for name in _OPTIONS}
    given["fuse-groups"] = flags.fuse
    options = " ".join(f"{key}={value}" for key, value in given.items() if value is not None)
    pipeline = flags.pipeline if flags.pipeline is not None else DEFAULT_PIPELINE
    if not options:
        return pipeline
    name, brace, rest = pipeline.partition("{")
    if not brace:
        return f"{name}{{{options}}}"
    return f"{name}{{{rest.removesuffix('}')} {options}}}"


def rate_of(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        what = f"flag '--kernel-macs-per-cycle' cannot be '{text}'"
        raise UsageError(with_hint(what, "give a number, as 180.5")) from None
