// `--device` fills the `device` option of passes and pipelines that have one and got none.
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --device=mine --test-count-constants --cse --remarks -o %t 2>&1 | filecheck %s --check-prefix=MINE
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --device=mine --test-count-constants=device=given --remarks -o %t 2>&1 | filecheck %s --check-prefix=GIVEN
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --device "a b.toml" --test-three-stages --remarks -o %t 2>&1 | filecheck %s --check-prefix=BLANK
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --device=mine --pass-pipeline='builtin.module(test-three-stages{device=given})' --remarks -o %t 2>&1 | filecheck %s --check-prefix=GIVEN
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --device=mine --test-three-stages=device=none --remarks -o %t 2>&1 | filecheck %s --check-prefix=NONE
// MINE: a constant on mine
// NONE: a constant on none
// GIVEN: a constant on given
// BLANK: a constant on a b.toml
func.func @one() -> index {
  %one = arith.constant 1 : index
  return %one : index
}
