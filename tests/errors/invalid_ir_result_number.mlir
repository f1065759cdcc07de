// MLIR's parser allocates memory for as many results as the number says.
// RUN: not tilewright compile %s --emit obj 2>&1 | FileCheck %s
module {
  tt.func public @k(%a: !tt.ptr<f32>) {
    %0 = arith.constant 0.0 : f32
    // CHECK: invalid_ir_result_number.mlir:[[#@LINE+1]]:20: error: there is no operation result with the number 2147483648
    tt.store %a, %0#2147483648 : !tt.ptr<f32>
    tt.return
  }
}
