// Names that nothing has come with the nearest three.
// RUN: not npuflow-opt %s --cannonicalize 2>&1 | filecheck %s --check-prefix=FLAG
// RUN: not npuflow-opt %s --mlir-timings 2>&1 | filecheck %s --check-prefix=FLAG2
// RUN: not npuflow-opt %s --pass-pipeline='builtin.module(cse,func.func(cannonicalize))' 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not npuflow-opt %s --mlir-print-ir-after=cannonicalize 2>&1 | filecheck %s --check-prefix=DUMP
// RUN: not npuflow-opt %s --remarks=npuflow-schedule 2>&1 | filecheck %s --check-prefix=PIPELINE
// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-count-constants=atmost=1 2>&1 | filecheck %s --check-prefix=OPTION
// RUN: not npuflow-opt %s --load=%root/test/core/plugins/passes.py --test-count-constants="at-most=many" 2>&1 | filecheck %s --check-prefix=VALUE
// RUN: not npuflow-opt %s --canonicalize=max-iteration=1 2>&1 | filecheck %s --check-prefix=UPSTREAM
// RUN: not npuflow-opt %s --cse --pass-pipeline='builtin.module(cse)' 2>&1 | filecheck %s --check-prefix=BOTH
// RUN: not npuflow-opt %s --verify-diagnostics=some 2>&1 | filecheck %s --check-prefix=CHOICE
// RUN: not npuflow-opt %s --load=%S/none.py 2>&1 | filecheck %s --check-prefix=PLUGIN
// RUN: not npuflow-opt %S/none.mlir 2>&1 | filecheck %s --check-prefix=INPUT
// RUN: not npuflow-opt %s %s 2>&1 | filecheck %s --check-prefix=TWO

// FLAG: npuflow-opt: error: unknown flag '--cannonicalize'; hint: did you mean --canonicalize,
// FLAG2: npuflow-opt: error: unknown flag '--mlir-timings'; hint: did you mean --mlir-timing,
// PASS: <pass-pipeline>:1:30: error: unknown pass 'cannonicalize'; hint: did you mean canonicalize,
// PASS-NEXT: {{^}}builtin.module(cse,func.func(cannonicalize))
// PASS-NEXT: {{^}}                             ^
// DUMP: error: unknown pass 'cannonicalize'; hint: did you mean canonicalize,
// PIPELINE: error: 'npuflow-schedule' is a named pipeline, and this is about passes; hint: name its passes, which --npuflow-schedule --dump-pass-pipeline shows
// OPTION: error: unknown option of test-count-constants 'atmost'; hint: did you mean at-most, device?
// VALUE: error: option 'at-most' of test-count-constants cannot be 'many': expected an integer; hint: at-most=<int>
// UPSTREAM: error: pass 'canonicalize' is not accepted on 'builtin.module': {{.*}}no such option max-iteration
// BOTH: error: --pass-pipeline and the pass flag --cse are both given; hint: put the pass into the pipeline text
// CHOICE: error: unknown value of flag '--verify-diagnostics' 'some'; hint: did you mean
// PLUGIN: error: plugin '{{.*}}none.py' is no file
// INPUT: error: cannot open input file '{{.*}}none.mlir': No such file or directory; hint:
// TWO: error: 2 input files are given
func.func @empty() {
  return
}
