// RUN: npuflow-opt --load=%root/test/core/plugins/passes.py --list-passes | filecheck %s
// RUN: npuflow-opt --list-passes=upstream | filecheck %s --check-prefix=UPSTREAM
// CHECK-LABEL: core:
// CHECK:         npuflow-apply-schedule {{ +}}Applies the transform schedule
// CHECK-LABEL: plugin:
// CHECK-DAG:     test-count-constants {{ +}}Says where constants are, and how many there are.
// CHECK-DAG:     test-crash {{ +}}Has a bug.
// CHECK-LABEL: named pipelines:
// CHECK:         test-three-stages {{ +}}Counts, folds, merges.
// CHECK-NEXT:      stages: count, fold, merge
// CHECK-NEXT:      device=<str> {{ +}}device name or TOML file (default: none)
// UPSTREAM:      {{^}}canonicalize
// UPSTREAM:      {{^}}cse
