// RUN: not tilewright compile %s --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s
tt.func public @k(%p: !tt.ptr<i64>) {
  %x = arith.constant dense<1> : tensor<16xi32>
  // CHECK: not_on_gpus.mlir:[[#@LINE+2]]:8: error: a histogram of i64 is not supported on GPUs
  // CHECK: help: count in 32 bits
  %h = tt.histogram %x : tensor<16xi32> -> tensor<16xi64>
  %ps = tt.splat %p : !tt.ptr<i64> -> tensor<16x!tt.ptr<i64>>
  tt.store %ps, %h : tensor<16x!tt.ptr<i64>>
  tt.return
}
