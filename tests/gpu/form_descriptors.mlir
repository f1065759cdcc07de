// RUN: tilewright opt %s --form-descriptors --simplify -split-input-file | FileCheck %s

// Row i of A is at (m + i) * stride, and columns are contiguous; the map has the mask's bounds. C is written through another map.
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
  // CHECK: %[[M:[a-z0-9]+]] = arith.muli {{.*}}, %c64_i32
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
    // CHECK: %[[A:[a-z0-9]+]] = ttg.descriptor_load %{{.*}}[%[[K]], %[[M]]] {evict = 3 : i32, order = array<i32: 1, 0>} : tensor<64x64xf16>
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
    // only the accumulator is still carried
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

// -----

// Contiguous along dimension 0 of the tile; rows below 0 are masked.
// CHECK-LABEL: tt.func public @columns
// CHECK-SAME: base = 0, offset = [], dims = {{\[\[\]}}, [array<i64: 1, 1>], []], strides = {{\[\[}}array<i64: 1, 2>], [array<i64: 1, 3>]]
// CHECK-SAME: ttg.remarks = [#ttg.remark<pass = "form-descriptors", about = {{[^,]*}}, text = "no tensor map: 
tt.func public @columns(%a: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %sn: i32 {tt.divisibility = 16 : i32}, %sh: i32 {tt.divisibility = 16 : i32}, %out: !tt.ptr<f32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %init = arith.constant dense<0.0> : tensor<64x64xf32>
  %first = arith.constant dense<3> : tensor<1x64xi32>
  %none = arith.constant dense<0> : tensor<1x64xi32>
  // CHECK-DAG: %[[START:.*]] = arith.constant -3 : i32
  // CHECK-DAG: %[[HEAD:[0-9]+]] = tt.get_program_id y
  %head = tt.get_program_id y : i32
  %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %row = tt.expand_dims %range {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %column1 = tt.expand_dims %range {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %column = arith.subi %column1, %first : tensor<1x64xi32>
  %below = arith.cmpi sge, %column, %none : tensor<1x64xi32>
  %ns = tt.splat %n : i32 -> tensor<1x64xi32>
  %above = arith.cmpi slt, %column, %ns : tensor<1x64xi32>
  %both = arith.andi %below, %above : tensor<1x64xi1>
  %mask = tt.broadcast %both : tensor<1x64xi1> -> tensor<64x64xi1>
  %far = arith.muli %head, %sh : i32
  %base = tt.addptr %a, %far : !tt.ptr<f16>, i32
  %p = tt.splat %base : !tt.ptr<f16> -> tensor<64x1x!tt.ptr<f16>>
  %p1 = tt.addptr %p, %row : tensor<64x1x!tt.ptr<f16>>, tensor<64x1xi32>
  %p2 = tt.broadcast %p1 : tensor<64x1x!tt.ptr<f16>> -> tensor<64x64x!tt.ptr<f16>>
  %s = tt.splat %sn : i32 -> tensor<1x64xi32>
  %o = arith.muli %column, %s : tensor<1x64xi32>
  %o2 = tt.broadcast %o : tensor<1x64xi32> -> tensor<64x64xi32>
  %p3 = tt.addptr %p2, %o2 : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %d = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init) -> (tensor<64x64xf32>) : i32 {
    // CHECK: ttg.descriptor_load %{{.*}}[%c0_i32, %[[START]], %[[HEAD]]] {order = array<i32: 0, 1>} : tensor<64x64xf16>
    %v = tt.load %p3, %mask : tensor<64x64x!tt.ptr<f16>>
    %t = tt.trans %v {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %next = tt.dot %t, %t, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next : tensor<64x64xf32>
  }
  %q = tt.splat %out : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  // CHECK: tt.store
  tt.store %q, %d : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
