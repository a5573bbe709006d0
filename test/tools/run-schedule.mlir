// A schedule is run as it is: timed, executed, and compared with the program that it was made of where that is given.
// RUN: npuflow run %S/../../examples/two_cores.mlir --reference=%S/../../examples/two_cores_reference.mlir | filecheck %s --check-prefixes=CHECK,COMPARED
// RUN: npuflow run %S/../../examples/two_cores.mlir | filecheck %s --check-prefixes=CHECK,ALONE

// CHECK: @matmul(16x64xi8, 64x32xi8) -> (16x32xi32) on toy (2x2 cores, 1 GHz)
// CHECK-NEXT: mapping     given as a schedule, grid 1x2
// As the example derives it: 96 + 64 on the way in, 4 * 128 of work, 2 * 256 on the way out.
// CHECK-NEXT: time        1.184 us, 1184 cycles
// COMPARED: verified    bit-exact, against IREE
// ALONE: verified    executed: no deadlock, no race, nothing read unwritten, nothing lost; its results are compared with nothing
// Nobody said what it multiplies, so that there is no lower bound; tensors have the schedule's names.
// CHECK: L3 {{ +}}3 KiB       2 KiB       5 KiB           ?
// CHECK-NEXT: a {{ +}}1 KiB         0 B       1 KiB
// CHECK-NEXT: b {{ +}}2 KiB         0 B       2 KiB
// CHECK-NEXT: c {{ +}}0 B       2 KiB       2 KiB
