// RUN: tilewright opt %s --prepare-lowering -split-input-file | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

// A product is rounded already, a loaded number may be exact.
// CHECK-LABEL: tt.func public @exponentials
// CHECK: math.exp %arg0 : tensor
// CHECK: math.exp %{{.*}} {ttg.rounded} : tensor
tt.func public @exponentials(%x: tensor<128xf32, #tile>) attributes {ttg.config = #config} {
  %a = math.exp %x : tensor<128xf32, #tile>
  %p = arith.mulf %x, %x : tensor<128xf32, #tile>
  %b = math.exp %p : tensor<128xf32, #tile>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

// CHECK-LABEL: tt.func public @columns
// CHECK: arith.cmpi slt, {{.*}} {ttg.row_length = array<i64: -9223372036854775808, 100>}
// CHECK: arith.cmpi sgt, %{{.*}}, %{{.*}} : tensor
tt.func public @columns(%n: i32 {ttg.max_value = 100 : i64}) attributes {ttg.config = #config} {
  %columns = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #tile>
  %length = tt.splat %n : i32 -> tensor<128xi32, #tile>
  %mask = arith.cmpi slt, %columns, %length : tensor<128xi32, #tile>
  %other = arith.cmpi sgt, %columns, %length : tensor<128xi32, #tile>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#row = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>

// Barriers of consecutive allocations are initialized together. A stage knows its distance from the next one.
// CHECK-LABEL: tt.func public @buffers
// CHECK: %[[full:.*]] = ttg.alloc_barriers
// CHECK: %[[empty:.*]] = ttg.alloc_barriers
// CHECK-NEXT: ttg.init_barriers %[[full]], %[[empty]] arrivals [1, 4] : !ttg.barriers<2>, !ttg.barriers<2>
// CHECK: ttg.stage {{.*}} {distance = 1024 : i32}
tt.func public @buffers(%i: i32) attributes {ttg.config = #config} {
  %buffer = ttg.alloc : !ttg.buffer<2 x f32, #row>
  %full = ttg.alloc_barriers : !ttg.barriers<2>
  %zero = arith.constant 0 : i32
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : !ttg.barriers<2>
  ttg.barrier_wait %full[%zero], %zero : !ttg.barriers<2>
  %stage = ttg.stage %buffer[%i] : !ttg.buffer<2 x f32, #row> -> <1 x f32, #row>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

// Values to be computed before a wait come last.
// CHECK-LABEL: tt.func public @wait
// CHECK: %[[e:.*]] = arith.mulf
// CHECK: %[[r:.*]]:2 = ttg.mma_async_wait 1, %arg0, %[[e]] {{.*}} {computed = 1 : i32}
// CHECK: arith.addf %[[r]]#1, %[[r]]#0
tt.func public @wait(%sum: tensor<128xf32, #tile>, %x: tensor<128xf32, #tile>) attributes {ttg.config = #config} {
  %e = arith.mulf %x, %x : tensor<128xf32, #tile>
  %r:2 = ttg.mma_async_wait 1, %e, %sum : tensor<128xf32, #tile>, tensor<128xf32, #tile> -> tensor<128xf32, #tile>, tensor<128xf32, #tile>
  %y = arith.addf %r#0, %r#1 : tensor<128xf32, #tile>
  tt.return
}
