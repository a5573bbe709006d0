// RUN: npuflow-opt --load=%root/test/core/plugins/passes.py --help | filecheck %s
// RUN: npuflow-opt --version | filecheck %s --check-prefix=VERSION
// CHECK: usage: npuflow-opt [flags] [input file, or - for stdin]
// CHECK: --split-input-file[=<marker>] {{ +}}process the parts
// CHECK: --test-count-constants {{ +}}Says where constants are
// CHECK-NEXT: device=<str> {{ +}}device name or TOML file (default: none)
// CHECK-NEXT: at-most=<int> {{ +}}more than this is an error (default: 100)
// CHECK: Exit codes: 0 ok
// VERSION: npuflow {{[0-9]+\.[0-9]+}}
// VERSION-NEXT: MLIR from {{.+ [0-9]+}}
// VERSION-NEXT: LLVM {{[0-9]+\.[0-9]+\.[0-9]+.*}}, revision {{([0-9a-f]{40})}}
