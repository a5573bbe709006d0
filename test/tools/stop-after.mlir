// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-three-stages --stop-after=count | filecheck %s --check-prefix=COUNT
// RUN: npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-three-stages --stop-after fold --dump-pass-pipeline 2>&1 | filecheck %s --check-prefix=FOLD
// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-three-stages --stop-after=flod 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: not npuflow-opt %s --cse --stop-after=fold 2>&1 | filecheck %s --check-prefix=NONE
// COUNT: arith.addi
// FOLD: Pass Manager with 2 passes
// FOLD-NOT: arith.addi
// UNKNOWN: error: unknown stage 'flod'; hint: did you mean fold, count, merge?
// NONE: error: no named pipeline runs that could stop after 'fold'; hint: --list-passes shows
func.func @sum() -> index {
  %one = arith.constant 1 : index
  %again = arith.constant 1 : index
  %sum = arith.addi %one, %again : index
  return %sum : index
}
