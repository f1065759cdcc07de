// RUN: not tilewright compile %s --emit asm 2>&1 | FileCheck %s
// RUN: not tilewright compile %s --emit ptx --target cuda:sm_80 2>&1 | FileCheck %s
// CHECK: argument_slot.mlir:[[#@LINE+2]]:1: error: a kernel cannot take an argument of type i128
// CHECK: help: pass a pointer to it
tt.func public @k(%n: i128) {
  tt.return
}
