// One matmul on a 2x2 grid of the toy: what each engine does, with A multicast along rows and B along columns.
// RUN: npuflow-opt %s --npuflow-stream-k="device=toy grid=2,2 tile-l2=16,16,32 tile-l1=8,8,16" --npuflow-project-engines | filecheck %s
// RUN: npuflow-opt %s --npuflow-stream-k="device=toy grid=2,2 tile-l2=16,16,32 tile-l1=8,8,16" --npuflow-schedule --mlir-print-op-generic -o %t.mlir
// RUN: iree-opt --irdl-file=%root/dialects/npu.irdl.mlir %t.mlir | filecheck %s --check-prefix=OTHER
// REQUIRES: iree-opt

// What the function said of its work for reports, its schedule says.
// CHECK:       module @matmul attributes {npu.extents = {column = 2 : i64, part = 1 : i64, row = 2 : i64, tile = 2 : i64}, npu.work = [{{.*}}k = 64 : i64{{.*}}tile_l1 = [8, 8, 16]{{.*}}}]}
// CHECK-DAG:   contents = memref<64x64xi32>, depth = 1 : i64, level = 3 : i64, role = "argument"{{.*}}sym_name = "arg0"
// CHECK-DAG:   npu.locks = [0, 1]{{.*}}sym_name = "l2_0_result_in_to_result_out"
// CHECK-DAG:   multicast = ["column"], receiver = @core_in0, sender = @memory_out0, span = ["row"]
// CHECK-DAG:   multicast = ["row"], receiver = @core_in1, sender = @memory_out1, span = ["column"]

// CHECK-DAG:   func.func private @kernel0({{.*}}) attributes {npu.class = "matrix"}

// The rows' operand goes to both memory tiles, half a block each; its loops stay loops.
// CHECK:       func.func @shim_out0(%{{.*}}: index) attributes {npu.engine = #npu.engine<{channels = [0], lane = 0 : i64, span = ["tile"], stage = "shim_out"}>}
// CHECK:         "npu.send"{{.*}}buffer = @arg0{{.*}}npu.descriptors = {count = 4 : i64, first = [0]}{{.*}}sizes = [8, 32]{{.*}}strides = [64, 1]

// Two slots: a slot is filled when there is room, and handed on.
// CHECK:       func.func @memory_in0
// CHECK:         "npu.acquire"{{.*}}semaphore = @[[A:l2_[0-9]+]]_memory_out0_to_memory_in0
// CHECK-NEXT:    "npu.receive"{{.*}}buffer = @[[A]]
// CHECK-NEXT:    "npu.release"{{.*}}semaphore = @[[A]]_memory_in0_to_memory_out0

// CHECK:       func.func @core(%{{.*}}: index, %{{.*}}: index)
// CHECK:         "npu.acquire"{{.*}}_core_out_to_core
// CHECK:         "npu.compute"{{.*}}effects = ["w"]{{.*}}kind = "fill"
// CHECK:         scf.for
// CHECK:           "npu.acquire"{{.*}}_core_in{{[01]}}_to_core
// CHECK:           "npu.acquire"{{.*}}_core_in{{[01]}}_to_core
// CHECK:           "npu.compute"{{.*}}effects = ["r", "r", "rw"]{{.*}}kind = "matmul"
// CHECK:         "npu.release"{{.*}}_core_to_core_out

// Two rows' results come in beside each memory tile, through channels of their own: an even one and an odd one.
// CHECK:       func.func @result_in{{.*}}channels = [2, 3]
// CHECK:         npu.descriptors = {count = 1 : i64, first = [4, 28]}

// CHECK:       func.func @control() attributes {npu.engine = #npu.engine<{lane = 0 : i64, span = [], stage = "control"}>}
// CHECK:         "npu.configure"() {descriptors = 1 : i64}

// OTHER: npu.engine = #npu.engine<{channels = [0], lane = 0 : i64, span = ["tile"], stage = "shim_out"}>
// OTHER: npu.send
func.func @matmul(%a: tensor<64x64xi32>, %b: tensor<64x64xi32>) -> tensor<64x64xi32> {
  %c0 = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<64x64xi32>
  %init = linalg.fill ins(%c0 : i32) outs(%empty : tensor<64x64xi32>) -> tensor<64x64xi32>
  %c = linalg.matmul ins(%a, %b : tensor<64x64xi32>, tensor<64x64xi32>) outs(%init : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %c : tensor<64x64xi32>
}
