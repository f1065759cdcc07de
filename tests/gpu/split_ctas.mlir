// Two CTAs share a program.
// RUN: tilewright opt %s --split-ctas -split-input-file | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 2, stages = 3, maxRegisters = 0, target = "sm_90a">
// Each CTA sums its half; both combine the two sums, and only the first CTA stores the result.
// CHECK-LABEL: tt.func public @sum
// CHECK: %[[rank:.*]] = ptx.cluster_rank
// CHECK: %[[first:.*]] = arith.cmpi eq, %[[rank]]
// CHECK: %[[block:.*]] = arith.andi %[[rank]]
// CHECK: arith.muli %[[block]], %c128_i32
// CHECK: tt.load {{.*}} : tensor<128x!tt.ptr<f32>>
// CHECK: "tt.reduce"
// CHECK: : (tensor<128xf32>) -> f32
// CHECK: %[[both:.*]]:2 = ttg.read_cluster
// CHECK: tt.join %[[both]]#0, %[[both]]#1
// CHECK: : (tensor<1x2xf32>) -> tensor<1xf32>
// CHECK: tt.store %{{.*}}, %{{.*}}, %[[first]]
tt.func public @sum(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  %v = tt.load %q : tensor<256x!tt.ptr<f32>>
  %s = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.addf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<256xf32>) -> f32
  tt.store %y, %s : !tt.ptr<f32>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 2, stages = 3, maxRegisters = 0, target = "sm_90a">
// A dot splits its rows: the second operand is replicated in both CTAs, and nothing is exchanged.
// CHECK-LABEL: tt.func public @product
// CHECK-NOT: ttg.read_cluster
// CHECK: tt.dot {{.*}} : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
// CHECK-NOT: ttg.read_cluster
// CHECK: tt.store {{.*}} : tensor<64x64x!tt.ptr<f32>>
tt.func public @product(%p: !tt.ptr<f16>, %o: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %as = tt.splat %p : !tt.ptr<f16> -> tensor<128x64x!tt.ptr<f16>>
  %bs = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %a = tt.load %as : tensor<128x64x!tt.ptr<f16>>
  %b = tt.load %bs : tensor<64x64x!tt.ptr<f16>>
  %d = tt.dot %a, %b, %zero : tensor<128x64xf16> * tensor<64x64xf16> -> tensor<128x64xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x64x!tt.ptr<f32>>
  tt.store %out, %d : tensor<128x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 2, stages = 3, maxRegisters = 0, target = "sm_90a">
// It splits its columns if there are too few rows.
// CHECK-LABEL: tt.func public @columns
// CHECK: tt.dot {{.*}} : tensor<16x64xf16> * tensor<64x32xf16> -> tensor<16x32xf32>
tt.func public @columns(%p: !tt.ptr<f16>, %o: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<16x64xf32>
  %as = tt.splat %p : !tt.ptr<f16> -> tensor<16x64x!tt.ptr<f16>>
  %bs = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %a = tt.load %as : tensor<16x64x!tt.ptr<f16>>
  %b = tt.load %bs : tensor<64x64x!tt.ptr<f16>>
  %d = tt.dot %a, %b, %zero : tensor<16x64xf16> * tensor<64x64xf16> -> tensor<16x64xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<16x64x!tt.ptr<f32>>
  tt.store %out, %d : tensor<16x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 2, stages = 3, maxRegisters = 0, target = "sm_90a">
// The first CTA performs a scalar memory access, and sends its result to the other one.
// CHECK-LABEL: tt.func public @count
// CHECK: %[[first:.*]] = arith.cmpi eq
// CHECK: %[[old:.*]] = tt.atomic_rmw {{.*}}, %[[first]]
// CHECK: %[[one:.*]] = tt.splat %[[old]]
// CHECK: %[[seen:.*]]:2 = ttg.read_cluster %[[one]]
// CHECK: tt.unsplat %[[seen]]#0
tt.func public @count(%p: !tt.ptr<i32>, %o: !tt.ptr<i32>) attributes {ttg.config = #config} {
  %one = arith.constant 1 : i32
  %old = tt.atomic_rmw add, acq_rel, gpu, %p, %one : (!tt.ptr<i32>, i32) -> i32
  tt.store %o, %old : !tt.ptr<i32>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 2, stages = 3, maxRegisters = 0, target = "sm_90a">
// Each CTA loads and unpacks its rows: two numbers in a byte are next to each other along the other dimension.
// CHECK-LABEL: tt.func public @unpacked
// CHECK: tt.load {{.*}} : tensor<32x32x!tt.ptr<i8>>
// CHECK: ttg.unpack_e2m1 {{.*}} : tensor<32x32xi8> -> tensor<32x64xf16>
// CHECK: tt.store {{.*}} : tensor<32x64x!tt.ptr<f16>>
tt.func public @unpacked(%x: !tt.ptr<i8>, %y: !tt.ptr<f16>) attributes {ttg.config = #config} {
  %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %c = tt.make_range {start = 0 : i32, end = 32 : i32} : tensor<32xi32>
  %k = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %row = tt.expand_dims %r {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %col = tt.expand_dims %c {axis = 0 : i32} : tensor<32xi32> -> tensor<1x32xi32>
  %kol = tt.expand_dims %k {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %s64 = arith.constant dense<64> : tensor<64x1xi32>
  %start = arith.muli %row, %s64 : tensor<64x1xi32>
  %r0 = tt.broadcast %start : tensor<64x1xi32> -> tensor<64x32xi32>
  %c0 = tt.broadcast %col : tensor<1x32xi32> -> tensor<64x32xi32>
  %at = arith.addi %r0, %c0 : tensor<64x32xi32>
  %r1 = tt.broadcast %start : tensor<64x1xi32> -> tensor<64x64xi32>
  %c1 = tt.broadcast %kol : tensor<1x64xi32> -> tensor<64x64xi32>
  %to = arith.addi %r1, %c1 : tensor<64x64xi32>
  %p = tt.splat %x : !tt.ptr<i8> -> tensor<64x32x!tt.ptr<i8>>
  %q = tt.addptr %p, %at : tensor<64x32x!tt.ptr<i8>>, tensor<64x32xi32>
  %bytes = tt.load %q : tensor<64x32x!tt.ptr<i8>>
  %v = ttg.unpack_e2m1 %bytes {dim = 1 : i32} : tensor<64x32xi8> -> tensor<64x64xf16>
  %g = tt.splat %y : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %h = tt.addptr %g, %to : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  tt.store %h, %v : tensor<64x64x!tt.ptr<f16>>
  tt.return
}
