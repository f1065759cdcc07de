// RUN: tilewright-opt %s | tilewright-opt | FileCheck %s
// RUN: tilewright-opt %s --mlir-print-debuginfo --mlir-print-local-scope | tilewright-opt --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s --check-prefix=LOC
// The text of upstream's TTIR, with each operation once: it is parsed, and printed in the same form.

// == a function, its attributes and its memory
// CHECK-LABEL: tt.func public @memory(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg1: i32) attributes {noinline = false}
// LOC: tt.func public @memory(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"("k.py":3:0))
tt.func public @memory(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x"("k.py":3:0)), %n: i32) attributes {noinline = false} {
  %pid = tt.get_program_id x : i32
  %count = tt.get_num_programs y : i32
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  // CHECK: tt.splat %{{.*}} : i32 -> tensor<64xi32>
  %limit = tt.splat %n : i32 -> tensor<64xi32>
  %m = arith.cmpi slt, %r, %limit {tt.constancy = dense<16> : tensor<1xi32>} : tensor<64xi32>
  %zero = arith.constant dense<0.0> : tensor<64xf32>
  %base = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  // CHECK: tt.addptr %{{.*}}, %{{.*}} : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %p = tt.addptr %base, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  // CHECK: tt.load %[[P:[0-9]+]] : tensor<64x!tt.ptr<f32>>
  %a = tt.load %p : tensor<64x!tt.ptr<f32>>
  // CHECK: tt.load %[[P]], %[[M:[0-9]+]], %{{.*}} cacheModifier = cg evictionPolicy = evict_first {isVolatile = true} : tensor<64x!tt.ptr<f32>>
  %b = tt.load %p, %m, %zero cacheModifier = cg evictionPolicy = evict_first {isVolatile = true} : tensor<64x!tt.ptr<f32>>
  // CHECK: tt.store %[[P]], %{{.*}}, %[[M]] cacheModifier = wt : tensor<64x!tt.ptr<f32>>
  tt.store %p, %b, %m cacheModifier = wt : tensor<64x!tt.ptr<f32>>
  // CHECK: tt.store %{{.*}}, %{{.*}} : !tt.ptr<f32>
  %one = arith.constant 1.0 : f32
  tt.store %x, %one : !tt.ptr<f32>
  // CHECK: tt.atomic_rmw fadd, acq_rel, gpu, %[[P]], %{{.*}}, %[[M]] : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> tensor<64xf32>
  %old = tt.atomic_rmw fadd, acq_rel, gpu, %p, %a, %m : (tensor<64x!tt.ptr<f32>>, tensor<64xf32>, tensor<64xi1>) -> tensor<64xf32>
  %ints = tt.bitcast %x : !tt.ptr<f32> -> !tt.ptr<i32>
  // CHECK: tt.atomic_cas relaxed, sys, %{{.*}}, %arg1, %arg1 : (!tt.ptr<i32>, i32, i32) -> i32
  %was = tt.atomic_cas relaxed, sys, %ints, %n, %n : (!tt.ptr<i32>, i32, i32) -> i32
  // CHECK: tt.print " a: " {hex = false, isSigned = array<i32: 0>} : %{{.*}} : tensor<64xf32>
  tt.print " a: " {hex = false, isSigned = array<i32: 0>} : %a : tensor<64xf32>
  tt.assert %m, "out of range" : tensor<64xi1>
  gpu.barrier
  // LOC: tt.return loc("k.py":9:4)
  tt.return loc("k.py":9:4)
}

// == block pointers and descriptors
// CHECK-LABEL: tt.func public @blocks
tt.func public @blocks(%x: !tt.ptr<f16>, %m: i64, %s: i64, %n: i32) {
  %c0 = arith.constant 0 : i32
  %one = arith.constant 1 : i64
  // CHECK: tt.make_tensor_ptr %arg0, [%arg1, %arg1], [%arg2, %{{.*}}], [%{{.*}}, %{{.*}}] {order = array<i32: 1, 0>} : <tensor<32x16xf16>>
  %p = tt.make_tensor_ptr %x, [%m, %m], [%s, %one], [%c0, %c0] {order = array<i32: 1, 0>} : <tensor<32x16xf16>>
  // CHECK: tt.load %{{.*}} {boundaryCheck = array<i32: 0, 1>, padding = 1 : i32} : !tt.ptr<tensor<32x16xf16>>
  %v = tt.load %p {boundaryCheck = array<i32: 0, 1>, padding = 1 : i32} : !tt.ptr<tensor<32x16xf16>>
  // CHECK: tt.advance %{{.*}}, [%{{.*}}, %{{.*}}] : <tensor<32x16xf16>>
  %q = tt.advance %p, [%c0, %c0] : <tensor<32x16xf16>>
  tt.store %q, %v {boundaryCheck = array<i32: 0>} : !tt.ptr<tensor<32x16xf16>>
  // CHECK: tt.make_tensor_descriptor %arg0, [%arg3, %arg3], [%arg2, %{{.*}}] {padding = 2 : i32} : <f16>, <tensor<32x16xf16>>
  %d = tt.make_tensor_descriptor %x, [%n, %n], [%s, %one] {padding = 2 : i32} : <f16>, <tensor<32x16xf16>>
  // CHECK: tt.descriptor_load %{{.*}}[%{{.*}}, %arg3] : !tt.tensordesc<tensor<32x16xf16>> -> tensor<32x16xf16>
  %w = tt.descriptor_load %d[%c0, %n] : !tt.tensordesc<tensor<32x16xf16>> -> tensor<32x16xf16>
  // CHECK: tt.descriptor_store %{{.*}}[%{{.*}}, %arg3], %{{.*}} : !tt.tensordesc<tensor<32x16xf16>>, tensor<32x16xf16>
  tt.descriptor_store %d[%c0, %n], %w : !tt.tensordesc<tensor<32x16xf16>>, tensor<32x16xf16>
  // CHECK: tt.descriptor_reduce add, %{{.*}}[%{{.*}}, %arg3], %{{.*}} : !tt.tensordesc<tensor<32x16xf16>>, tensor<32x16xf16>
  tt.descriptor_reduce add, %d[%c0, %n], %w : !tt.tensordesc<tensor<32x16xf16>>, tensor<32x16xf16>
  tt.return
}

// == shapes, contractions, reductions and scans
// CHECK-LABEL: tt.func private @tiles
tt.func private @tiles(%a: tensor<16x32xf32>, %b: tensor<32x16xf32>, %x: tensor<32xi32>) -> f32 {
  %e = tt.expand_dims %x {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %f = tt.broadcast %e : tensor<32x1xi32> -> tensor<32x16xi32>
  // CHECK: tt.trans %{{.*}} {order = array<i32: 1, 0>} : tensor<32x16xi32> -> tensor<16x32xi32>
  %t = tt.trans %f {order = array<i32: 1, 0>} : tensor<32x16xi32> -> tensor<16x32xi32>
  // CHECK: tt.reshape %{{.*}} allow_reorder : tensor<16x32xi32> -> tensor<512xi32>
  %l = tt.reshape %t allow_reorder : tensor<16x32xi32> -> tensor<512xi32>
  %c = tt.cat %l, %l : tensor<512xi32> -> tensor<1024xi32>
  %j = tt.join %x, %x : tensor<32xi32> -> tensor<32x2xi32>
  // CHECK: %{{.*}}, %{{.*}} = tt.split %{{.*}} : tensor<32x2xi32> -> tensor<32xi32>
  %lo, %hi = tt.split %j : tensor<32x2xi32> -> tensor<32xi32>
  %g = tt.gather %b[%f] {axis = 0 : i32} : (tensor<32x16xf32>, tensor<32x16xi32>) -> tensor<32x16xf32>
  %h = tt.histogram %x : tensor<32xi32> -> tensor<8xi32>
  // CHECK: tt.sort %{{.*}} {descending, is_unsigned} : tensor<32xi32> -> tensor<4xi32>
  %sorted = tt.sort %x {descending, is_unsigned} : tensor<32xi32> -> tensor<4xi32>
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  // CHECK: tt.dot %arg0, %arg1, %{{.*}}, inputPrecision = tf32 : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>
  %d = tt.dot %a, %b, %zero, inputPrecision = tf32 : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>
  // CHECK: tt.dot %arg0, %arg1, %{{.*}} : tensor<16x32xf32>
  %d2 = tt.dot %a, %b, %d : tensor<16x32xf32> * tensor<32x16xf32> -> tensor<16x16xf32>
  // CHECK: "tt.scan"(%{{.*}}) <{axis = 1 : i32, reverse = false}> ({
  %s = "tt.scan"(%d2) <{axis = 1 : i32, reverse = false}> ({
  ^bb0(%u: f32, %v: f32):
    %w = arith.addf %u, %v : f32
    tt.scan.return %w : f32
  }) : (tensor<16x16xf32>) -> tensor<16x16xf32>
  // CHECK: "tt.reduce"(%{{.*}}) <{axis = 0 : i32}> ({
  %r = "tt.reduce"(%s) <{axis = 0 : i32}> ({
  ^bb0(%u: f32, %v: f32):
    %w = arith.maxnumf %u, %v : f32
    tt.reduce.return %w : f32
  }) : (tensor<16x16xf32>) -> tensor<16xf32>
  %sum = "tt.reduce"(%r) <{axis = 0 : i32}> ({
  ^bb0(%u: f32, %v: f32):
    %w = arith.addf %u, %v : f32
    tt.reduce.return %w : f32
  }) : (tensor<16xf32>) -> f32
  tt.return %sum : f32
}

// == elementwise operations beyond arith, calls
// CHECK-LABEL: tt.func public @elementwise
tt.func public @elementwise(%x: tensor<32xf32>, %i: tensor<32xi32>, %a: tensor<16x32xf32>, %b: tensor<32x16xf32>) {
  // CHECK: tt.clampf %arg0, %arg0, %arg0, propagateNan = none : tensor<32xf32>
  %c = tt.clampf %x, %x, %x, propagateNan = none : tensor<32xf32>
  %q = tt.precise_divf %c, %x : tensor<32xf32>
  %r = tt.precise_sqrt %q : tensor<32xf32>
  %u = tt.mulhiui %i, %i : tensor<32xi32>
  // CHECK: tt.fp_to_fp %{{.*}}, rounding = rtne : tensor<32xf32> -> tensor<32xf8E4M3FN>
  %f = tt.fp_to_fp %r, rounding = rtne : tensor<32xf32> -> tensor<32xf8E4M3FN>
  // CHECK: tt.extern_elementwise %{{.*}} {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"} : (tensor<32xf32>) -> tensor<32xf32>
  %t = tt.extern_elementwise %r {libname = "", libpath = "", pure = true, symbol = "__nv_tanhf"} : (tensor<32xf32>) -> tensor<32xf32>
  // CHECK: tt.call @tiles(%arg2, %arg3, %arg1) : (tensor<16x32xf32>, tensor<32x16xf32>, tensor<32xi32>) -> f32
  %v = tt.call @tiles(%a, %b, %i) : (tensor<16x32xf32>, tensor<32x16xf32>, tensor<32xi32>) -> f32
  tt.return
}

// == loops keep upstream's attributes
// CHECK-LABEL: tt.func public @loop
tt.func public @loop(%n: i32) {
  // CHECK: } {tt.flatten, tt.loop_unroll_factor = 2 : i32, tt.num_stages = 3 : i32, tt.warp_specialize}
  scf.for %i = %n to %n step %n : i32 {
  } {tt.flatten, tt.loop_unroll_factor = 2 : i32, tt.num_stages = 3 : i32, tt.warp_specialize}
  tt.return
}
