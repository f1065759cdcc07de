// RUN: tilewright opt %s --assign-layouts -split-input-file | FileCheck %s

// lanes lie along the elements; the address is computed where it is wanted, never converted
// CHECK-LABEL: tt.func public @copy
tt.func public @copy(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  // CHECK: tt.load {{.*}} : tensor<256x!tt.ptr<f32>, #ttg.layout<256, reg
  %v = tt.load %q : tensor<256x!tt.ptr<f32>>
  // CHECK-NOT: ttg.convert_layout
  tt.store %q, %v : tensor<256x!tt.ptr<f32>>
  tt.return
}

// -----

// what a reduction leaves is brought to the layout of its shape
// CHECK-LABEL: tt.func public @rows
tt.func public @rows(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %v: f32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %t = tt.splat %v : f32 -> tensor<64x64xf32>
  // CHECK: tt.reduce
  %r = "tt.reduce"(%t) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tt.reduce.return %s : f32
  }) : (tensor<64x64xf32>) -> tensor<64xf32>
  // CHECK: ttg.convert_layout
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %p = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  tt.store %q, %r : tensor<64x!tt.ptr<f32>>
  tt.return
}
