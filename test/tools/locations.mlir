// Locations carry the source's name and lines, also where it is no file or only a part of one.
// RUN: npuflow-opt %s --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s
// RUN: npuflow-opt %s --split-input-file --mlir-print-debuginfo --mlir-print-local-scope | filecheck %s --check-prefix=SPLIT
// RUN: npuflow-opt --mlir-print-debuginfo --mlir-print-local-scope < %s | filecheck %s --check-prefix=STDIN

// CHECK: func.func @first(%{{.*}}: i32 loc("{{.*}}locations.mlir":13:18)) {
// CHECK: return loc("{{.*}}locations.mlir":14:3)
// SPLIT: return loc("{{.*}}locations.mlir":14:3)
// SPLIT: func.func @second(%{{.*}}: i32 loc("{{.*}}locations.mlir":17:19)) {
// SPLIT: } loc("{{.*}}locations.mlir":17:1)
// SPLIT: } loc("{{.*}}locations.mlir":17:1)
// STDIN: func.func @first(%{{.*}}: i32 loc("<stdin>":13:18)) {
func.func @first(%arg: i32) {
  return
}
// -----
func.func @second(%arg: i32) {
  return
}
