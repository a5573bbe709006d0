"""npuflow-verify: what the module computes now is what it computed when the pipeline started."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from npuflow.bindings import ir
from npuflow.core.options import option
from npuflow.core.parsing import parse_file
from npuflow.core.passes import Pass, PassContext, fail
from npuflow.core.registry import register_pass


class OracleName(Enum):
    """Who computes what is expected: IREE, or the JIT that runs the module itself."""

    IREE = "iree"
    JIT = "jit"


@register_pass
@dataclass(frozen=True)
class VerifyResults(Pass):
    """Runs the module on random data and compares it with what the pipeline was given; changes nothing.

    Integers must agree bit by bit, floats within a bound derived from the operations (docs/verify.md).

        npuflow-opt matmul.mlir --pass-pipeline='npuflow-stream-k,npuflow-verify,npuflow-broken,npuflow-verify'

    fails at the second npuflow-verify with

        error: @matmul computes something else than the input: 12 of 64 elements are wrong, the first: [0, 1] is 7, ...
    """

    name = "npuflow-verify"
    group = "execute"
    needs_input = True

    seed: int = option(0, "which random data")
    function: str = option("", "the function to run; default: every public one")
    against: str = option("", "a file whose functions of the same names compute what is expected; default: the input")
    oracle: OracleName = option(OracleName.IREE, "what runs the expected computation; jit also takes memrefs")

    time_limit: int = option(120, "stop a stage after so many seconds")
    memory_limit: str = option("", "stop a stage that takes more bytes, as 4G; default: what the machine has")

    def run(self, op: ir.Operation, context: PassContext) -> None:
        from npuflow.execute.limits import limited, read_limits

        if op.name != "builtin.module":
            raise fail(op, f"{self.name} runs on modules, not on {op.name}", "put it outside of nested pipelines")
        assert context.input is not None
        expected = parse_file(self.against, op.context).operation if self.against else context.input
        against = f"'{self.against}'" if self.against else "the input"
        with limited(read_limits(self.time_limit, self.memory_limit)):
            self._compare(op, expected, against, context)

    def _compare(self, op: ir.Operation, expected: ir.Operation, against: str, context: PassContext) -> None:
        from npuflow.execute.arrays import functions_of
        from npuflow.execute.references import Judge, make_references
        from npuflow.execute.verification import Status, check

        function, judge = self.function.removeprefix("@"), Judge(self.oracle.value)
        for reference in make_references(expected, function, self.seed, judge):
            outcome = check(op, reference)
            place = next((f for f in functions_of(op) if f.opview.name.value == reference.name), op)
            context.count(f"functions that are {outcome.status.value}")
            if outcome.status is Status.OK:
                why = f" (by {reference.judge}: {reference.why_not_iree})" if reference.why_not_iree else ""
                context.remark(place, f"@{reference.name} computes what {against} computes: {outcome}{why}")
            elif outcome.status is Status.WRONG:
                context.error(place, f"@{reference.name} computes something else than {against}: {outcome}")
            else:
                context.error(place, f"@{reference.name} cannot be verified: {outcome}")
