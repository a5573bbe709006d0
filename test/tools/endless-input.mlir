// What has no end is not read, whatever it is called; numbers have an end as well.
// RUN: not npuflow-opt /dev/zero 2>&1 | filecheck %s --check-prefix=DEVICE
// RUN: ln -sf /dev/zero %t.mlir && not npuflow run %t.mlir 2>&1 | filecheck %s --check-prefix=DEVICE
// RUN: not npuflow verify /dev/zero --pipeline=cse 2>&1 | filecheck %s --check-prefix=DEVICE
// RUN: not npuflow run %s --seed=9999999999999999999999 2>&1 | filecheck %s --check-prefix=DIGITS

// DEVICE: error: cannot open input file '{{.*}}': it is a device; hint: give the path of an .mlir file, or - for stdin
// DIGITS: flag '--seed' cannot be '999999999999999999...'; hint: give a number, 0 or larger
