// RUN: not tilewright compile %s 2>&1 | FileCheck %s
tt.func public @k(%n: i32) {
  %r = tt.call @down(%n) : (i32) -> i32
  tt.return
}
tt.func private @down(%n: i32) -> i32 {
  // CHECK: recursive_ir.mlir:[[#@LINE+2]]:8: error: @down calls itself
  // CHECK: help: functions cannot recurse: write a loop
  %r = tt.call @down(%n) : (i32) -> i32
  tt.return %r : i32
}
