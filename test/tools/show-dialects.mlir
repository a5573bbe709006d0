// RUN: npuflow-opt --show-dialects | filecheck %s
// RUN: npuflow-opt --show-dialects --irdl-file=%S/Inputs/shape.irdl.mlir | filecheck %s --check-prefix=WITH-IRDL
// CHECK: Available Dialects: {{.*}}linalg,{{.*}}npu,{{.*}}transform,
// WITH-IRDL: Available Dialects: {{.*}}plane,
