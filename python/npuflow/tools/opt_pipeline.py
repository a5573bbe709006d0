"""Which pipeline a command line of `npuflow-opt` asks for."""

from __future__ import annotations

from collections.abc import Sequence

from npuflow.bindings import ir
from npuflow.core.expansion import Leaf, leaves_of
from npuflow.core.options import print_value
from npuflow.core.pipeline_text import Node, PassNest, UpstreamNode, make_node, parse_pipeline
from npuflow.core.registry import PASSES, PIPELINES
from npuflow.core.runner import upstream_manager
from npuflow.core.upstream import is_upstream_pass, upstream_pass_names
from npuflow.errors import UsageError, unknown_name, with_hint
from npuflow.frontend.specialize_shapes import SpecializeShapes
from npuflow.tools.flags import OtherFlag, flags_of
from npuflow.tools.opt_flags import OptFlags

MODULE = "builtin.module"
FUNCTION = "func.func"


def requested_pipeline(flags: OptFlags, others: Sequence[OtherFlag]) -> PassNest:
    """`--pass-pipeline`, or the passes that were given as flags, in order; first what `--specialize` asks for."""
    nest = _requested(flags, others)
    if not flags.specialize:
        return nest
    first = make_node(SpecializeShapes.name, f"shapes={print_value(flags.specialize)}")
    return PassNest(MODULE, (first, *nest.elements) if nest.anchor == MODULE else (first, nest))


def _requested(flags: OptFlags, others: Sequence[OtherFlag]) -> PassNest:
    for other in others:
        _check_known(other)
    if flags.pass_pipeline is None:
        return PassNest(MODULE, tuple(_node(other) for other in others))
    if others:
        what = f"--pass-pipeline and the pass flag --{others[0].name} are both given"
        raise UsageError(with_hint(what, "put the pass into the pipeline text"))
    return parse_pipeline(flags.pass_pipeline)


def check_pass_names(names: Sequence[str]) -> None:
    """Refuses names that are no pass, as in `--mlir-print-ir-after=canonicalise`."""
    for name in names:
        if name in PIPELINES:
            hint = f"name its passes, which --{name} --dump-pass-pipeline shows"
            raise UsageError(with_hint(f"'{name}' is a named pipeline, and this is about passes", hint))
        if name not in PASSES and not is_upstream_pass(name):
            raise UsageError(unknown_name("pass", name, [*PASSES, *upstream_pass_names()]))


def pipeline_text(nest: PassNest) -> str:
    """An expanded pipeline as text that parses back, with what MLIR's own pipelines and defaults stand for."""
    parts = []
    for element in nest.elements:
        if isinstance(element, PassNest):
            parts.append(pipeline_text(element))
        elif isinstance(element, UpstreamNode):
            parts.append(_spelled_out(nest.anchor, element))
        else:
            parts.append(str(element))
    return f"{nest.anchor}({','.join(parts)})"


def pass_count(nest: PassNest) -> int:
    return sum(1 for _ in leaves_of(nest))


def _spelled_out(anchor: str, leaf: Leaf) -> str:
    assert isinstance(leaf, UpstreamNode)
    with ir.Context():
        text = str(upstream_manager(anchor, leaf))
    return " ".join(text.removeprefix(f"{anchor}(").removesuffix(")").split())


# Flags of `mlir-opt` that MLIR's bindings have nothing for, and what does the same.
_PIPE = "their package's own tool can: npuflow-opt ... | torch-mlir-opt --{} --irdl-file=dialects/npu.irdl.mlir"
_ELSEWHERE = {
    "mlir-print-value-users": (
        "MLIR's bindings cannot print the users of values",
        _PIPE,
    ),
    "mlir-print-unique-ssa-ids": (
        "MLIR's bindings cannot number values without regard to scopes",
        _PIPE,
    ),
    "debug-only": (
        "MLIR's packages are built without LLVM's debug output",
        "--remarks=PASS says what a pass decided, --mlir-print-ir-before=PASS and -after=PASS what it did",
    ),
}
_ELSEWHERE["debug"] = _ELSEWHERE["debug-only"]


def _check_known(other: OtherFlag) -> None:
    if other.name in _ELSEWHERE:
        what, hint = _ELSEWHERE[other.name]
        raise UsageError(with_hint(f"flag '--{other.name}' is not there: {what}", hint.format(other.name)))
    if other.name in PASSES or other.name in PIPELINES or is_upstream_pass(other.name):
        return
    flags = [flag.name for flag in flags_of(OptFlags) if len(flag.name) > 1]
    known = [*flags, *PASSES, *PIPELINES, *upstream_pass_names()]
    raise UsageError(unknown_name("flag", other.written, [f"--{name}" for name in known]))


def _node(other: OtherFlag) -> Node:
    """A pass flag's node; MLIR's function passes are nested as `mlir-opt` does for flags."""
    node = make_node(other.name, other.value or "")
    if isinstance(node, UpstreamNode) and _runs_only_on_functions(node):
        return PassNest(FUNCTION, (node,))
    return node


def _runs_only_on_functions(node: UpstreamNode) -> bool:
    try:
        with ir.Context():
            upstream_manager(MODULE, node)
    except UsageError as error:
        return f"restricted to '{FUNCTION}'" in str(error)
    return False
