// What moves within L1 is a kernel; a copy between parts of a buffer that are apart is left out.
// RUN: npuflow-opt %s --npuflow-move-in-l1 | filecheck %s

#back = strided<[8, 1], offset: 32>
#front = strided<[8, 1]>
#middle = strided<[8, 1], offset: 8>

// CHECK-LABEL: func.func @apart
// CHECK-DAG:     %[[BACK:.*]] = memref.subview %arg0[4, 0] [2, 8]
// CHECK-DAG:     %[[FRONT:.*]] = memref.subview %arg0[0, 0] [2, 8]
// CHECK-NOT:     memref.alloc
// CHECK:         linalg.generic {{.*}}ins(%[[BACK]] : {{.*}}outs(%[[FRONT]] :
// CHECK-NEXT:    ^bb0(%[[A:.*]]: i8, %{{.*}}: i8):
// CHECK-NEXT:      linalg.yield %[[A]]
// CHECK-NOT:     memref.copy
func.func @apart(%line: memref<6x8xi8, 2>) {
  %back = memref.subview %line[4, 0] [2, 8] [1, 1] : memref<6x8xi8, 2> to memref<2x8xi8, #back, 2>
  %between = memref.alloc() : memref<2x8xi8, 2>
  memref.copy %back, %between : memref<2x8xi8, #back, 2> to memref<2x8xi8, 2>
  %front = memref.subview %line[0, 0] [2, 8] [1, 1] : memref<6x8xi8, 2> to memref<2x8xi8, #front, 2>
  memref.copy %between, %front : memref<2x8xi8, 2> to memref<2x8xi8, #front, 2>
  return
}

// A row is moved over itself: by way of the copy.
// CHECK-LABEL: func.func @overlapping
// CHECK:         %[[BETWEEN:.*]] = memref.alloc
// CHECK:         linalg.generic {{.*}}outs(%[[BETWEEN]] :
// CHECK:         linalg.generic {{.*}}ins(%[[BETWEEN]] :
func.func @overlapping(%line: memref<3x8xi8, 2>) {
  %back = memref.subview %line[1, 0] [2, 8] [1, 1] : memref<3x8xi8, 2> to memref<2x8xi8, #middle, 2>
  %between = memref.alloc() : memref<2x8xi8, 2>
  memref.copy %back, %between : memref<2x8xi8, #middle, 2> to memref<2x8xi8, 2>
  %front = memref.subview %line[0, 0] [2, 8] [1, 1] : memref<3x8xi8, 2> to memref<2x8xi8, #front, 2>
  memref.copy %between, %front : memref<2x8xi8, 2> to memref<2x8xi8, #front, 2>
  return
}

// Between memories, engines move.
// CHECK-LABEL: func.func @into_l1
// CHECK-NEXT:    memref.copy
// CHECK-NEXT:    return
func.func @into_l1(%a: memref<6x8xi8, 1>, %b: memref<6x8xi8, 2>) {
  memref.copy %a, %b : memref<6x8xi8, 1> to memref<6x8xi8, 2>
  return
}
