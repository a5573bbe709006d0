// Calls are put in the order that keeps least alive, and what one hands to others gets an address in a workspace.
// RUN: npuflow-opt %s --npuflow-plan-phases | filecheck %s
// RUN: npuflow-opt %s --npuflow-plan-phases=order=given | filecheck %s --check-prefix=GIVEN
// RUN: npuflow-opt %s --npuflow-plan-phases --remarks 2>&1 | filecheck %s --check-prefix=REMARK

// The third value lies where the first one did; what is returned lies elsewhere.
// CHECK-LABEL: func.func @chain
// CHECK-SAME:    attributes {npu.workspace_bytes = 2048 : i64}
// CHECK-DAG:     call @widen({{.*}}) {npu.plan = [{address = [[A:[0-9]+]] : i64, bytes = 1024 : i64, until = 1 : i64}]}
// CHECK-DAG:     call @same({{.*}}) {npu.plan = [{address = {{[0-9]+}} : i64, bytes = 1024 : i64, until = 2 : i64}]}
// CHECK-DAG:     call @same({{.*}}) {npu.plan = [{address = [[A]] : i64, bytes = 1024 : i64, until = 3 : i64}]}
// CHECK-DAG:     call @same({{.*}}) {npu.plan = [{bytes = 1024 : i64, until = 3 : i64}]}
// REMARK:        remark: [npuflow-plan-phases] 2048 of 3072 bytes between parts are alive at a time, in no order less than 2048; they take 2048 bytes of DRAM
func.func @chain(%x: tensor<4xf32>) -> tensor<256xf32> {
  %a = call @widen(%x) : (tensor<4xf32>) -> tensor<256xf32>
  %b = call @same(%a) : (tensor<256xf32>) -> tensor<256xf32>
  %c = call @same(%b) : (tensor<256xf32>) -> tensor<256xf32>
  %d = call @same(%c) : (tensor<256xf32>) -> tensor<256xf32>
  return %d : tensor<256xf32>
}

// Each branch is narrowed before the next one begins.
// CHECK-LABEL: func.func @branches
// CHECK:         %[[A:.*]] = call @widen(%arg0)
// CHECK-NEXT:    call @narrow(%[[A]])
// CHECK-NEXT:    %[[B:.*]] = call @widen(%arg1)
// CHECK-NEXT:    call @narrow(%[[B]])
// CHECK-NEXT:    call @add
// GIVEN-LABEL: func.func @branches
// GIVEN:         call @widen
// GIVEN-NEXT:    call @widen
// GIVEN-NEXT:    call @narrow
func.func @branches(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %a = call @widen(%x) : (tensor<4xf32>) -> tensor<256xf32>
  %b = call @widen(%y) : (tensor<4xf32>) -> tensor<256xf32>
  %c = call @narrow(%a) : (tensor<256xf32>) -> tensor<4xf32>
  %d = call @narrow(%b) : (tensor<256xf32>) -> tensor<4xf32>
  %e = call @add(%c, %d) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %e : tensor<4xf32>
}

// What does anything else stays as it is.
// CHECK-LABEL: func.func @computes
// CHECK-NOT:     npu.
// CHECK:         return
func.func @computes(%x: f32, %y: tensor<4xf32>) -> (f32, tensor<4xf32>) {
  %s = arith.addf %x, %x : f32
  %r = call @add(%y, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %s, %r : f32, tensor<4xf32>
}

func.func private @widen(tensor<4xf32>) -> tensor<256xf32>
func.func private @same(tensor<256xf32>) -> tensor<256xf32>
func.func private @narrow(tensor<256xf32>) -> tensor<4xf32>
func.func private @add(tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>

// Two calls write halves of one tensor, which lies in one place until the third has read it.
// CHECK-LABEL: func.func @halves
// CHECK-SAME:    attributes {npu.workspace_bytes = 1040 : i64}
// CHECK:         call @first({{.*}}) {npu.plan = [{address = [[A:[0-9]+]] : i64, bytes = 1024 : i64, until = 1 : i64}]}
// CHECK-NEXT:    call @second({{.*}}) {npu.plan = [{address = [[A]] : i64, bytes = 1024 : i64, until = 2 : i64}]}
// CHECK-NEXT:    call @narrow({{.*}}) {npu.plan = [{address = {{[0-9]+}} : i64, bytes = 16 : i64, until = 3 : i64}]}
func.func @halves(%x: tensor<128xf32>) -> tensor<256xf32> {
  %a = call @first(%x) : (tensor<128xf32>) -> tensor<256xf32>
  %b = call @second(%x, %a) : (tensor<128xf32>, tensor<256xf32>) -> tensor<256xf32>
  %c = call @narrow(%b) : (tensor<256xf32>) -> tensor<4xf32>
  %d = call @widen(%c) : (tensor<4xf32>) -> tensor<256xf32>
  return %d : tensor<256xf32>
}

#same = affine_map<(i) -> (i)>
func.func private @first(%x: tensor<128xf32>) -> tensor<256xf32> {
  %into = tensor.empty() : tensor<256xf32>
  %e = tensor.empty() : tensor<128xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%x : tensor<128xf32>) outs(%e : tensor<128xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%a: f32, %o: f32):
    %s = math.exp %a : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  %made = tensor.insert_slice %r into %into[0] [128] [1] : tensor<128xf32> into tensor<256xf32>
  return %made : tensor<256xf32>
}
func.func private @second(%x: tensor<128xf32>, %into: tensor<256xf32>) -> tensor<256xf32> {
  %e = tensor.empty() : tensor<128xf32>
  %r = linalg.generic {indexing_maps = [#same, #same], iterator_types = ["parallel"]}
      ins(%x : tensor<128xf32>) outs(%e : tensor<128xf32>) attrs = {npu.bundle = 0} {
  ^bb0(%a: f32, %o: f32):
    %s = math.sqrt %a : f32
    linalg.yield %s : f32
  } -> tensor<128xf32>
  %made = tensor.insert_slice %r into %into[128] [128] [1] : tensor<128xf32> into tensor<256xf32>
  return %made : tensor<256xf32>
}

// What is handed over by all who call a part may stay on the chip, and the part says so.
// CHECK-LABEL: func.func @hand_over
// CHECK:       func.func private @doubled(
// CHECK-SAME:    npu.between = {arguments = array<i64>, results = array<i64: 0>}
// CHECK:       func.func private @added(
// CHECK-SAME:    npu.between = {arguments = array<i64: 1>, results = array<i64>}
// CHECK:       func.func private @alone(
// CHECK-NOT:     npu.between
// CHECK:         return
// GIVEN:       func.func private @doubled(
func.func @hand_over(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %a = call @doubled(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %b = call @doubled(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %c = call @added(%x, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %d = call @alone(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %c, %d : tensor<4xf32>, tensor<4xf32>
}

func.func private @doubled(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.addf %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}

func.func private @added(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.addf %x, %y : tensor<4xf32>
  return %r : tensor<4xf32>
}

func.func private @alone(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = arith.addf %x, %x : tensor<4xf32>
  return %r : tensor<4xf32>
}
