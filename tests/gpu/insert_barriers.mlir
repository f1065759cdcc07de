// RUN: tilewright opt %s --allocate-shared --insert-barriers -split-input-file -verify-diagnostics | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// Three buffers share bytes: a store waits for the readers of the buffer before. A conversion has a barrier before its own stores.
// CHECK-LABEL: tt.func @share
tt.func @share(%t: tensor<64x64xf16, #tile>) attributes {ttg.config = #config} {
  // CHECK: ttg.alloc {ttg.offset = 0 : i64}
  // CHECK-NEXT: ttg.alloc {ttg.offset = 0 : i64}
  // CHECK-NEXT: ttg.store_shared
  // CHECK-NEXT: ttg.cta_barrier
  // CHECK-NEXT: ttg.load_shared
  // CHECK-NEXT: ttg.cta_barrier
  // CHECK-NEXT: ttg.store_shared
  // CHECK-NEXT: ttg.cta_barrier
  // CHECK-NEXT: ttg.load_shared
  // CHECK-NEXT: ttg.convert_layout {{.*}} {ttg.offset = 0 : i64}
  %a = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  %b = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  ttg.store_shared %t, %a : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
  %x = ttg.load_shared %a : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
  ttg.store_shared %x, %b : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
  %y = ttg.load_shared %b : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
  %z = ttg.convert_layout %y : tensor<64x64xf16, #tile> -> tensor<64x64xf16, #turned>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// Iterations alternate between two stages: the barrier between store and load also orders the next store to the stage.
// CHECK-LABEL: tt.func @stages
tt.func @stages(%t: tensor<64x64xf16, #tile>, %n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %a = ttg.alloc : !ttg.buffer<2 x f16, #shared>
  // CHECK: scf.for
  // CHECK-NOT: ttg.cta_barrier
  // CHECK: ttg.store_shared
  // CHECK-NEXT: ttg.cta_barrier
  // CHECK-NEXT: ttg.load_shared
  // CHECK-NOT: ttg.cta_barrier
  // CHECK: scf.yield
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %t, %stage = %c0) -> (tensor<64x64xf16, #tile>, i32) : i32 {
    %s = ttg.stage %a[%stage] : !ttg.buffer<2 x f16, #shared> -> !ttg.buffer<1 x f16, #shared>
    ttg.store_shared %x, %s : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
    %y = ttg.load_shared %s : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
    %next = arith.addi %stage, %c1 : i32
    %wraps = arith.cmpi eq, %next, %c2 : i32
    %following = arith.select %wraps, %c0, %next : i32
    scf.yield %y, %following : tensor<64x64xf16, #tile>, i32
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// With a single stage, a second barrier orders the load and the store of the next iteration.
// CHECK-LABEL: tt.func @single
tt.func @single(%t: tensor<64x64xf16, #tile>, %n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  // CHECK: scf.for
  // CHECK-NEXT: ttg.cta_barrier
  // CHECK-NEXT: ttg.store_shared
  // CHECK-NEXT: ttg.cta_barrier
  // CHECK-NEXT: ttg.load_shared
  // CHECK-NEXT: scf.yield
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %t) -> (tensor<64x64xf16, #tile>) : i32 {
    ttg.store_shared %x, %a : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
    %y = ttg.load_shared %a : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
    scf.yield %y : tensor<64x64xf16, #tile>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// TMA writes where threads have written in the previous iteration: the threads fence and synchronize.
// CHECK-LABEL: tt.func @proxies
tt.func @proxies(%t: tensor<64x64xf16, #tile>, %n: i32, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %w = ttg.alloc_barriers : !ttg.barriers<1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: scf.for
  scf.for %i = %c0 to %n step %c1 : i32 {
    // CHECK-NEXT: ttg.fence_async
    // CHECK-NEXT: ttg.cta_barrier
    // CHECK-NEXT: ttg.alloc {ttg.offset = 0 : i64}
    // CHECK-NEXT: ttg.barrier_expect
    // CHECK-NEXT: ttg.tma_load
    %a = ttg.alloc : !ttg.buffer<1 x f16, #shared>
    ttg.barrier_expect %w[%c0], 8192 : !ttg.barriers<1>
    ttg.tma_load %m[%c0, %c0] to %a, %w[%c0] : !ttg.buffer<1 x f16, #shared>, !ttg.barriers<1>
    ttg.barrier_wait %w[%c0], %c0 : !ttg.barriers<1>
    %x = ttg.load_shared %a : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
    // CHECK: ttg.convert_layout {{.*}} {ttg.offset = 0 : i64}
    %z = ttg.convert_layout %x : tensor<64x64xf16, #tile> -> tensor<64x64xf16, #turned>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// A TMA store is waited for before a barrier that stands in the iteration already. An access before the loop needs no barrier in it.
// CHECK-LABEL: tt.func @earlier
tt.func @earlier(%t: tensor<64x64xf16, #tile>, %n: i32, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  %b = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  %c = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  ttg.store_shared %t, %c : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
  // CHECK: ttg.store_shared
  // CHECK-NEXT: ttg.cta_barrier
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: ttg.load_shared
  // CHECK-NEXT: ttg.store_shared
  // CHECK-NEXT: ttg.tma_store_wait 0
  // CHECK-NEXT: ttg.cta_barrier
  // CHECK-NEXT: ttg.load_shared
  // CHECK-NEXT: ttg.store_shared
  // CHECK-NEXT: ttg.fence_async
  // CHECK-NEXT: ttg.cta_barrier
  // CHECK-NEXT: ttg.tma_store
  // CHECK-NEXT: }
  scf.for %i = %c0 to %n step %c1 : i32 {
    %y = ttg.load_shared %c : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
    ttg.store_shared %t, %a : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
    %x = ttg.load_shared %a : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
    ttg.tma_store_wait 0
    ttg.store_shared %x, %b : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
    ttg.fence_async
    ttg.tma_store %b to %m[%c0, %c0] : !ttg.buffer<1 x f16, #shared>
  }
  ttg.tma_store_wait 0
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

tt.func @unfinished(%t: tensor<64x64xf16, #tile>, %n: i32, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %a = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  ttg.tma_store %a to %m[%c0, %c0] : !ttg.buffer<1 x f16, #shared>
  // expected-error @+1 {{it may access shared memory before an asynchronous access to the same bytes has ended}}
  ttg.store_shared %t, %a : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
  tt.return
}
