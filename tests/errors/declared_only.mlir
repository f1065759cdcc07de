// RUN: not tilewright compile %s 2>&1 | FileCheck %s
// CHECK: declared_only.mlir:[[#@LINE+2]]:1: error: @helper is declared, but this module does not contain its body
// CHECK: help: put the body of the function into the same file
tt.func private @helper(i32) -> i32
tt.func public @k(%n: i32) {
  %r = tt.call @helper(%n) : (i32) -> i32
  tt.return
}
