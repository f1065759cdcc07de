// RUN: not tilewright compile %s 2>&1 | FileCheck %s
module {
  // CHECK: foreign_dialect.mlir:[[#@LINE+2]]:5: error: this text uses a dialect that the compiler does not read here
  tt.func public @k(%a: !tt.ptr<f32>) {
    "amdgpu.something"(%a) : (!tt.ptr<f32>) -> ()
    tt.return
  }
}
// CHECK: help: it reads tt, arith, math, scf and cf
