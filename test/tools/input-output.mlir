// Input is a file or stdin; output is stdout or a file, which only appears on success.
// RUN: npuflow-opt %s | filecheck %s
// RUN: cat %s | npuflow-opt - | filecheck %s
// RUN: cat %s | npuflow-opt | filecheck %s
// RUN: rm -f %t.out && npuflow-opt %s -o %t.out && filecheck %s --input-file %t.out
// RUN: rm -f %t.none && not npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-refuse -o %t.none
// RUN: test ! -e %t.none

// An output file of before is left alone by a run that fails.
// RUN: echo before > %t.kept && not npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-refuse -o %t.kept
// RUN: grep before %t.kept

// CHECK-LABEL: func.func @empty
func.func @empty() {
  return
}
