// RUN: npuflow-opt %s --mlir-print-op-generic | filecheck %s --check-prefix=GENERIC
// RUN: npuflow-opt %s --mlir-print-debuginfo | filecheck %s --check-prefix=DEBUG
// RUN: npuflow-opt %s --mlir-pretty-debuginfo | filecheck %s --check-prefix=PRETTY
// RUN: npuflow-opt %s --mlir-print-local-scope --mlir-print-debuginfo | filecheck %s --check-prefix=LOCAL
// RUN: npuflow-opt %s --mlir-print-skip-regions | filecheck %s --check-prefix=SKIP
// RUN: npuflow-opt %s --mlir-elide-elementsattrs-if-larger=2 | filecheck %s --check-prefix=ELIDE
// RUN: npuflow-opt %s --mlir-elide-elementsattrs-if-larger 3 | filecheck %s --check-prefix=KEEP
// RUN: npuflow-opt %s --mlir-elide-resource-strings-if-larger=4 | filecheck %s --check-prefix=RESOURCE

// GENERIC: "func.func"() <{
// DEBUG: loc(#loc{{[0-9]*}})
// DEBUG: #loc{{[0-9]*}} = loc("{{.*}}print-style.mlir":
// PRETTY: dense<[1, 2, 3]> : tensor<3xi32> {{.*}}print-style.mlir:23:10
// LOCAL: dense<[1, 2, 3]> : tensor<3xi32> loc("{{.*}}print-style.mlir":23:10)
// SKIP: module {...}
// ELIDE: dense_resource<__elided__>
// KEEP: dense<[1, 2, 3]>
// RESOURCE: func.func @constants
// RESOURCE-NOT: blob:
func.func @constants() -> (tensor<3xi32>, tensor<2xi32>) {


  %few = arith.constant dense<[1, 2, 3]> : tensor<3xi32>
  %raw = arith.constant dense_resource<blob> : tensor<2xi32>
  return %few, %raw : tensor<3xi32>, tensor<2xi32>
}
{-#
  dialect_resources: {
    builtin: {
      blob: "0x040000000100000002000000"
    }
  }
#-}
