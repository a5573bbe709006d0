"""A pass of one's own: it gives matmuls with few rows a strategy that a pipeline then follows.

npuflow-opt examples/matmul.mlir --load examples/write_a_pass.py --my-flatten-thin="rows=1024" --remarks
python examples/write_a_pass.py
"""

from dataclasses import dataclass

import npuflow
from npuflow.bindings import ir


@npuflow.register_pass
@dataclass(frozen=True)
class FlattenThin(npuflow.Pass):
    """Puts matmuls with few rows on one row of cores."""

    name = "my-flatten-thin"
    rows: int = npuflow.option(16, "at most this many rows count as few")

    def run(self, op: ir.Operation, context: npuflow.PassContext) -> None:
        """Edits `op`, the module, in place."""
        for matmul in npuflow.ops_of(op, "linalg.matmul"):
            rows = ir.ShapedType(matmul.results[0].type).shape[0]
            if rows <= self.rows:
                matmul.attributes["npu.strategy"] = ir.Attribute.parse("#npu.strategy<{grid = [1, 4]}>")
                context.remark(matmul, f"{rows} rows, at most {self.rows}: one row of cores")


THIN = """
func.func @thin(%a: tensor<4x64xi32>, %b: tensor<64x64xi32>, %c: tensor<4x64xi32>) -> tensor<4x64xi32> {
  %0 = linalg.matmul ins(%a, %b : tensor<4x64xi32>, tensor<64x64xi32>) outs(%c : tensor<4x64xi32>) -> tensor<4x64xi32>
  return %0 : tensor<4x64xi32>
}
"""

if __name__ == "__main__":
    module = npuflow.parse(THIN, npuflow.new_context())
    sink = npuflow.run_pipeline(module, "my-flatten-thin{rows=8},canonicalize")
    print(*sink.diagnostics, module, sep="\n")
