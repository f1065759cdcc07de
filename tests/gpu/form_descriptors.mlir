// RUN: tilewright opt %s --form-descriptors --simplify -split-input-file | FileCheck %s

// Rows i of A at (m + i) * stride, columns contiguous; the mask's bounds are the map's. C is written through a map of its own.
// CHECK-LABEL: tt.func public @product
// CHECK-SAME: ttg.tensor_map = #ttg.tensor_map<base = 0, offset = [], dims = {{\[\[}}array<i64: 1, 5>], [array<i64: 1, 3>]], strides = {{\[\[}}array<i64: 1, 6>]], box = [], element = f16, swizzle = 0>
// CHECK-SAME: ttg.tensor_map = #ttg.tensor_map<base = 1, offset = [], dims = {{\[\[\]}}, []], strides = {{\[\[}}array<i64: 128>]]
// CHECK-SAME: ttg.tensor_map = #ttg.tensor_map<base = 2, offset = [array<i64: 1, 6>], dims = {{\[\[\]}}, [array<i64: 1, 3>]], strides = {{\[\[}}array<i64: 1, 7>]], box = [], element = f32
tt.func public @product(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %b: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %c: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %m: i32, %n: i32, %k: i32, %sa: i32 {tt.divisibility = 16 : i32}, %sc: i32 {tt.divisibility = 16 : i32}) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %c64 = arith.constant 64 : i32
  %c0 = arith.constant 0 : i32
  %zero = arith.constant dense<0.0> : tensor<64x64xf16>
  %init = arith.constant dense<0.0> : tensor<64x64xf32>
  %pid = tt.get_program_id x : i32
  // Where a bound lets nothing through, tiles start behind the one element that the map then has.
  // CHECK: %[[NOM:[a-z0-9]+]] = arith.cmpi slt, %{{.*}}, %c1_i64
  // CHECK: %[[PASTM:[a-z0-9]+]] = arith.extui %[[NOM]]
  // CHECK: %[[PASTK:[a-z0-9]+]] = arith.extui
  // CHECK: %[[M0:[a-z0-9]+]] = arith.muli {{.*}}, %c64_i32
  // CHECK: %[[M:[a-z0-9]+]] = arith.addi %[[M0]], %[[PASTM]]
  %m0 = arith.muli %pid, %c64 : i32
  %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %ms = tt.splat %m0 : i32 -> tensor<64xi32>
  %rows1 = arith.addi %range, %ms : tensor<64xi32>
  %rows = tt.expand_dims %rows1 {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %column = tt.expand_dims %range {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %row = tt.expand_dims %range {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tt.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %as = tt.splat %sa : i32 -> tensor<64x1xi32>
  %ao = arith.muli %rows, %as : tensor<64x1xi32>
  %aob = tt.broadcast %ao : tensor<64x1xi32> -> tensor<64x64xi32>
  %aoc = arith.addi %aob, %columns : tensor<64x64xi32>
  %c128 = arith.constant dense<128> : tensor<64x1xi32>
  %bo = arith.muli %row, %c128 : tensor<64x1xi32>
  %bob = tt.broadcast %bo : tensor<64x1xi32> -> tensor<64x64xi32>
  %boc = arith.addi %bob, %columns : tensor<64x64xi32>
  %mbound = tt.splat %m : i32 -> tensor<64x1xi32>
  %mmask1 = arith.cmpi slt, %rows, %mbound : tensor<64x1xi32>
  %mmask = tt.broadcast %mmask1 : tensor<64x1xi1> -> tensor<64x64xi1>
  // CHECK: scf.for %[[K:[a-z0-9]+]] =
  %sum:3 = scf.for %i = %c0 to %k step %c64 iter_args(%acc = %init, %at = %c0, %bt = %c0) -> (tensor<64x64xf32>, i32, i32) : i32 {
    %abase = tt.addptr %a, %at : !tt.ptr<f16>, i32
    %ap = tt.splat %abase : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %aps = tt.addptr %ap, %aoc : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %left = arith.subi %k, %i : i32
    %ks = tt.splat %left : i32 -> tensor<1x64xi32>
    %kmask1 = arith.cmpi sgt, %ks, %column : tensor<1x64xi32>
    %kmask2 = tt.broadcast %kmask1 : tensor<1x64xi1> -> tensor<64x64xi1>
    %kmask = arith.andi %kmask2, %mmask : tensor<64x64xi1>
    // CHECK: %[[AT:[a-z0-9]+]] = arith.addi %[[K]], %[[PASTK]]
    // CHECK: %[[A:[a-z0-9]+]] = ttg.descriptor_load %{{.*}}[%[[AT]], %[[M]]] {evict = 3 : i32, order = array<i32: 1, 0>} : tensor<64x64xf16>
    %av = tt.load %aps, %kmask, %zero evictionPolicy = evict_last : tensor<64x64x!tt.ptr<f16>>
    %bbase = tt.addptr %b, %bt : !tt.ptr<f16>, i32
    %bp = tt.splat %bbase : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %bps = tt.addptr %bp, %boc : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    // the step of 8192 elements is 64 rows of 128
    // CHECK: %[[B:[a-z0-9]+]] = ttg.descriptor_load %{{.*}}[%c0_i32, %[[K]]]
    %bv = tt.load %bps : tensor<64x64x!tt.ptr<f16>>
    // CHECK: tt.dot %[[A]], %[[B]]
    %d = tt.dot %av, %bv, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %anext = arith.addi %at, %c64 : i32
    %c8192 = arith.constant 8192 : i32
    %bnext = arith.addi %bt, %c8192 : i32
    // nothing but the sum is carried any more
    // CHECK: scf.yield %{{[0-9a-z_]+}} : tensor<64x64xf32>
    scf.yield %d, %anext, %bnext : tensor<64x64xf32>, i32, i32
  }
  %cs = tt.splat %sc : i32 -> tensor<64x1xi32>
  %co = arith.muli %rows, %cs : tensor<64x1xi32>
  %cbase = tt.addptr %c, %sa : !tt.ptr<f32>, i32
  %cp = tt.splat %cbase : !tt.ptr<f32> -> tensor<64x1x!tt.ptr<f32>>
  %cp1 = tt.addptr %cp, %co : tensor<64x1x!tt.ptr<f32>>, tensor<64x1xi32>
  %cp2 = tt.broadcast %cp1 : tensor<64x1x!tt.ptr<f32>> -> tensor<64x64x!tt.ptr<f32>>
  %cp3 = tt.addptr %cp2, %columns : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  // CHECK: ttg.descriptor_store %{{.*}} to %{{.*}}[%c0_i32, %[[M]]] {order = array<i32: 1, 0>} : tensor<64x64xf32>
  tt.store %cp3, %sum#0, %mmask : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
