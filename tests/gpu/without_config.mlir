// A function without a configuration is reported.
// RUN: tilewright opt %s --assume-no-wrap -split-input-file -verify-diagnostics

// expected-error @+1 {{this kernel has no ttg.config}}
tt.func private @outside(tensor<8x!tt.ptr<f32>>)

// -----

// expected-error @+1 {{this kernel has no ttg.config}}
tt.func public @kernel(%p: tensor<8x!tt.ptr<f32>>, %i: tensor<8xi32>) {
  %q = tt.addptr %p, %i : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
  tt.return
}
