// RUN: not tilewright compile %s --emit obj 2>&1 | FileCheck %s
module {
  tt.func public @k(%a: !tt.ptr<f32>) {
    // CHECK: invalid_ir.mlir:[[#@LINE+1]]:10: error: 'tt.make_range' op has 7 elements, but its type is 'tensor<8xi32>'
    %0 = tt.make_range {start = 0 : i32, end = 7 : i32} : tensor<8xi32>
    tt.return
  }
}
