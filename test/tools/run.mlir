// One screen says how long a program takes on a device, whether it is right, and what limits it.
// RUN: npuflow run %s --device=toy --grid=2,2 --tile-l2=32,32,64 --tile-l1=16,16,32 | filecheck %s

// CHECK: @matmul(64x128xi8, 128x64xi8) -> (64x64xi32) on toy (2x2 cores, 1 GHz)
// CHECK-NEXT: mapping     npuflow-stream-k, grid 2x2, tile-l2 32x32x64, tile-l1 16x16x32, pack 4x8x8, depth-l2 2, depth-l1 2
// CHECK-NEXT: time        {{[0-9.]+}} us, {{[0-9]+}} cycles
// CHECK-NEXT: rate        {{[0-9.]+}} Gops/s, {{[0-9.]+}} % of the array's 512 Gops/s (i8 x i8 -> i32)
// CHECK-NEXT: bound by    {{compute|dram|dma|control|launch}}: without it {{[0-9.]+}} % less time;
// CHECK-NEXT: verified    bit-exact, against IREE
// Two blocks of rows and of columns: each operand is read twice.
// CHECK: traffic            read     written  compulsory lower bound
// CHECK-NEXT: L3               32 KiB      16 KiB      32 KiB      32 KiB
// CHECK-NEXT:   arg0           16 KiB         0 B       8 KiB
// CHECK-NEXT:   arg1           16 KiB         0 B       8 KiB
// CHECK-NEXT:   result0           0 B      16 KiB      16 KiB
// CHECK-NEXT: L2
// CHECK: engines{{ +}}busy  what they do, on average
// CHECK: 4 core {{ +}}{{[0-9.]+}} %  {{.*}}computing
// CHECK: 1 control
// CHECK: the largest losses, each measured by a run without it (they overlap)
// CHECK: memory      L1 {{[0-9]+}} of 32768 bytes
// CHECK-NEXT: L2 {{[0-9]+}} of 262144 bytes
func.func @matmul(%a: tensor<64x128xi8>, %b: tensor<128x64xi8>) -> tensor<64x64xi32> {
  %zero = arith.constant 0 : i32
  %empty = tensor.empty() : tensor<64x64xi32>
  %fill = linalg.fill ins(%zero : i32) outs(%empty : tensor<64x64xi32>) -> tensor<64x64xi32>
  %sum = linalg.matmul ins(%a, %b : tensor<64x128xi8>, tensor<128x64xi8>) outs(%fill : tensor<64x64xi32>) -> tensor<64x64xi32>
  return %sum : tensor<64x64xi32>
}
