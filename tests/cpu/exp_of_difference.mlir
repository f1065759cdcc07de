// RUN: tilewright compile %s --emit loops --target cpu:avx2 --kernel softmax_rows | FileCheck %s --check-prefix=ROWS
// RUN: tilewright compile %s --emit loops --target cpu:avx2 --kernel other_axis | FileCheck %s --check-prefix=OTHER
// RUN: tilewright compile %s --emit loops --target cpu:avx2 --kernel of_multiplied | FileCheck %s --check-prefix=MULTIPLIED
// RUN: tilewright compile %s --emit loops --target cpu:avx2 --kernel of_multiplied --no-fp-fusion | FileCheck %s --check-prefix=UNFUSED

// x - max(x) is at most 0, so 2^n takes one shift, even for subnormal results. In general it takes two shifts, and one more that halves n.

// ROWS-LABEL: llvm.func internal @softmax_rows.program
// ROWS-NOT: arith.shrui
// ROWS: arith.shli
// ROWS-NOT: arith.shrui
// ROWS: llvm.return
tt.func public @softmax_rows(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %flat = tt.load %xp : tensor<1024x!tt.ptr<f32>>
  %v = tt.reshape %flat : tensor<1024xf32> -> tensor<16x64xf32>
  %max = "tt.reduce"(%v) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<16x64xf32>) -> tensor<16xf32>
  %old = arith.constant dense<1.0> : tensor<16xf32>
  %new = arith.maxnumf %old, %max : tensor<16xf32>
  %m = tt.expand_dims %new {axis = 1 : i32} : tensor<16xf32> -> tensor<16x1xf32>
  %mm = tt.broadcast %m : tensor<16x1xf32> -> tensor<16x64xf32>
  %d = arith.subf %v, %mm : tensor<16x64xf32>
  %e = math.exp2 %d : tensor<16x64xf32>
  %y = tt.reshape %e : tensor<16x64xf32> -> tensor<1024xf32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %y : tensor<1024x!tt.ptr<f32>>
  tt.return
}

// Row maxima are subtracted along the columns, so the differences may be positive.
// OTHER-LABEL: llvm.func internal @other_axis.program
// OTHER: arith.shrui
// OTHER: llvm.return
tt.func public @other_axis(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %flat = tt.load %xp : tensor<1024x!tt.ptr<f32>>
  %v = tt.reshape %flat : tensor<1024xf32> -> tensor<32x32xf32>
  %max = "tt.reduce"(%v) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<32x32xf32>) -> tensor<32xf32>
  %m = tt.expand_dims %max {axis = 0 : i32} : tensor<32xf32> -> tensor<1x32xf32>
  %mm = tt.broadcast %m : tensor<1x32xf32> -> tensor<32x32xf32>
  %d = arith.subf %v, %mm : tensor<32x32xf32>
  %e = math.exp %d : tensor<32x32xf32>
  %y = tt.reshape %e : tensor<32x32xf32> -> tensor<1024xf32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %y : tensor<1024x!tt.ptr<f32>>
  tt.return
}

// x * x - max(x * x), rounded once, can be above 0: the maximum was rounded before.
// MULTIPLIED-LABEL: llvm.func internal @of_multiplied.program
// MULTIPLIED: arith.shrui
// MULTIPLIED: llvm.return
// UNFUSED-LABEL: llvm.func internal @of_multiplied.program
// UNFUSED-NOT: arith.shrui
// UNFUSED: llvm.return
tt.func public @of_multiplied(%x: !tt.ptr<f32>, %out: !tt.ptr<f32>) {
  %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %xp = tt.addptr %xs, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %l = tt.load %xp : tensor<1024x!tt.ptr<f32>>
  %v = arith.mulf %l, %l : tensor<1024xf32>
  %max = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maxnumf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<1024xf32>) -> f32
  %m = tt.splat %max : f32 -> tensor<1024xf32>
  %d = arith.subf %v, %m : tensor<1024xf32>
  %e = math.exp %d : tensor<1024xf32>
  %os = tt.splat %out : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %op = tt.addptr %os, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  tt.store %op, %e : tensor<1024x!tt.ptr<f32>>
  tt.return
}
