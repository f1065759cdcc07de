// A load may not run ahead of a store through a tensor map that may write what it reads. form-descriptors makes no such map; IR may have one.
// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops | FileCheck %s --check-prefix=OWN
// RUN: sed 's/tensor_map<base = 0/tensor_map<base = 1/' %s | tilewright opt - --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops | FileCheck %s --check-prefix=OTHER
// OWN-NOT: plain-loads
// OTHER: #schedule = #ttg.loop_schedule<policy "plain-loads"

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f32, swizzle = 0>
tt.func public @sums(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32>, %n: i32, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c1024 = arith.constant 1024 : i32
  %range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
  %nothing = arith.constant 0.0 : f32
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %nothing) -> (f32) : i32 {
    %start = arith.muli %i, %c1024 : i32
    %row = tt.addptr %p, %start : !tt.ptr<f32>, i32
    %rows = tt.splat %row : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %pointers = tt.addptr %rows, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %tile = tt.load %pointers : tensor<1024x!tt.ptr<f32>>
    %s = "tt.reduce"(%tile) <{axis = 0 : i32}> ({
    ^bb0(%u: f32, %v: f32):
      %w = arith.addf %u, %v : f32
      tt.reduce.return %w : f32
    }) : (tensor<1024xf32>) -> f32
    %square = tt.splat %s : f32 -> tensor<64x32xf32>
    ttg.descriptor_store %square to %x[%i, %c0] {order = array<i32: 1, 0>} : tensor<64x32xf32>
    scf.yield %s : f32
  }
  tt.return
}
