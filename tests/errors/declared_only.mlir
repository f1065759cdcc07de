// RUN: not tilewright compile %s 2>&1 | FileCheck %s
// CHECK: declared_only.mlir:[[#@LINE+2]]:1: error: @helper is declared, but its body is not in this module
// CHECK: help: put the function's body into the same file
tt.func private @helper(i32) -> i32
tt.func public @k(%n: i32) {
  %r = tt.call @helper(%n) : (i32) -> i32
  tt.return
}
