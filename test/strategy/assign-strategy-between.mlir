// A part of a function whose pixels, skip and result may stay on the chip. With all of them in DRAM weights may as well come
// while cores wait; with them on the chip two slots are clearly faster, and cost no more in DRAM.
// RUN: npuflow-opt %s --npuflow-bundle-matmuls=device=npu2 --npuflow-assign-strategy=device=npu2 | filecheck %s

#all = affine_map<(d0, d1) -> (d0, d1)>
#channel = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @from_dram
// CHECK:         npu.strategy = #npu.strategy<{depth_l1 = 1 : i64
func.func @from_dram(%w: tensor<1024x256xi8>, %x: tensor<256x196xi8>, %scale: tensor<1024xf32>, %skip: tensor<1024x196xi8>) -> tensor<1024x196xi8> {
  %zero = arith.constant 0 : i32
  %sums = tensor.empty() : tensor<1024x196xi32>
  %from = linalg.fill ins(%zero : i32) outs(%sums : tensor<1024x196xi32>) -> tensor<1024x196xi32>
  %sum = linalg.matmul ins(%w, %x : tensor<1024x256xi8>, tensor<256x196xi8>) outs(%from : tensor<1024x196xi32>) -> tensor<1024x196xi32>
  %to = tensor.empty() : tensor<1024x196xi8>
  %r = linalg.generic {indexing_maps = [#all, #channel, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %scale, %skip : tensor<1024x196xi32>, tensor<1024xf32>, tensor<1024x196xi8>) outs(%to : tensor<1024x196xi8>) {
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

// CHECK-LABEL: func.func @part
// CHECK:         npu.strategy = #npu.strategy<{depth_l1 = 2 : i64
func.func @part(%w: tensor<1024x256xi8>, %x: tensor<256x196xi8>, %scale: tensor<1024xf32>, %skip: tensor<1024x196xi8>) -> tensor<1024x196xi8>
    attributes {npu.between = {arguments = array<i64: 1, 3>, results = array<i64: 0>}} {
  %zero = arith.constant 0 : i32
  %sums = tensor.empty() : tensor<1024x196xi32>
  %from = linalg.fill ins(%zero : i32) outs(%sums : tensor<1024x196xi32>) -> tensor<1024x196xi32>
  %sum = linalg.matmul ins(%w, %x : tensor<1024x256xi8>, tensor<256x196xi8>) outs(%from : tensor<1024x196xi32>) -> tensor<1024x196xi32>
  %to = tensor.empty() : tensor<1024x196xi8>
  %r = linalg.generic {indexing_maps = [#all, #channel, #all, #all], iterator_types = ["parallel", "parallel"]}
      ins(%sum, %scale, %skip : tensor<1024x196xi32>, tensor<1024xf32>, tensor<1024x196xi8>) outs(%to : tensor<1024x196xi8>) {
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
