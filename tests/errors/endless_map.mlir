// RUN: not tilewright compile %s --emit asm 2>&1 | FileCheck %s
// CHECK: error: the body of an element-wise map contains a loop without an end
// CHECK: help: give the loop a condition that ends it
tt.func public @k(%p: tensor<16x!tt.ptr<f32>>, %x: tensor<16xf32>) {
  %y = "tt.map_elementwise"(%x) <{pack = 1 : i32}> ({
  ^bb0(%a: f32):
    cf.br ^bb1
  ^bb1:
    cf.br ^bb1
  }) : (tensor<16xf32>) -> tensor<16xf32>
  tt.store %p, %y : tensor<16x!tt.ptr<f32>>
  tt.return
}
