// A part of a function whose pixels, skip and result may stay on the chip: two slots are clearly faster with them there, and cost no
// more in DRAM. What is chosen among is tested in test_phase_times.py.
// RUN: npuflow-opt %s --npuflow-assign-strategy=device=npu2 --remarks=npuflow-assign-strategy 2>&1 | filecheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#channel = affine_map<(d0, d1) -> (d0)>
#lhs = affine_map<(d0, d1, d2) -> (d0, d2)>
#rhs = affine_map<(d0, d1, d2) -> (d2, d1)>
#sum = affine_map<(d0, d1, d2) -> (d0, d1)>

// What that loses if nothing stays is said, also beside the work.
// CHECK: remark: [npuflow-assign-strategy] is mapped for what parts hand over to stay on the chip: in DRAM, it takes an estimated {{.*}} us more than it has to
// CHECK-LABEL: func.func @part
// CHECK-SAME:    npu.work = [{{.*}}lost_in_dram_ns = {{[1-9][0-9]*}} : i64
// CHECK:         npu.strategy = #npu.strategy<{depth_l1 = 2 : i64
func.func @part(%w: tensor<1024x256xi8>, %x: tensor<256x196xi8>, %scale: tensor<1024xf32>, %skip: tensor<1024x196xi8>) -> tensor<1024x196xi8>
    attributes {npu.between = {arguments = array<i64: 1, 3>, results = array<i64: 0>}} {
  %zero = arith.constant 0 : i32
  %sums = tensor.empty() : tensor<1024x196xi32>
  %from = linalg.fill ins(%zero : i32) outs(%sums : tensor<1024x196xi32>) -> tensor<1024x196xi32>
  %sum = linalg.generic {indexing_maps = [#lhs, #rhs, #sum], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%w, %x : tensor<1024x256xi8>, tensor<256x196xi8>) outs(%from : tensor<1024x196xi32>) attrs = {npu.bundle = 0 : i64} {
  ^bb0(%a: i8, %b: i8, %acc: i32):
    %aw = arith.extsi %a : i8 to i32
    %bw = arith.extsi %b : i8 to i32
    %p = arith.muli %aw, %bw : i32
    %t = arith.addi %acc, %p : i32
    linalg.yield %t : i32
  } -> tensor<1024x196xi32>
  %to = tensor.empty() : tensor<1024x196xi8>
  %r = linalg.generic {indexing_maps = [#all, #channel, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %scale, %skip : tensor<1024x196xi32>, tensor<1024xf32>, tensor<1024x196xi8>) outs(%to : tensor<1024x196xi8>)
      attrs = {npu.bundle = 0 : i64} {
  ^bb0(%s: i32, %c: f32, %y: i8, %o: i8):
    %most = arith.constant 127.0 : f32
    %least = arith.constant 0.0 : f32
    %0 = arith.sitofp %s : i32 to f32
    %1 = arith.mulf %0, %c : f32
    %2 = arith.sitofp %y : i8 to f32
    %3 = arith.addf %1, %2 : f32
    %4 = arith.maximumf %3, %least : f32
    %5 = arith.minimumf %4, %most : f32
    %6 = arith.fptosi %5 : f32 to i8
    linalg.yield %6 : i8
  } -> tensor<1024x196xi8>
  return %r : tensor<1024x196xi8>
}
