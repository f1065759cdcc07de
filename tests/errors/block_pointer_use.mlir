// RUN: not tilewright compile %s --emit obj -o %t.o 2>&1 | FileCheck %s
// CHECK: block_pointer_use.mlir:[[#@LINE+4]]:10: error: 'tt.bitcast' cannot take or return a block pointer or a tensor descriptor
// CHECK: help: make, advance, load and store are allowed
module {
  tt.func public @k(%x: !tt.ptr<f32>) {
    %p = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<tensor<16xf32>>
    %v = tt.load %p : !tt.ptr<tensor<16xf32>>
    tt.store %p, %v : !tt.ptr<tensor<16xf32>>
    tt.return
  }
}
