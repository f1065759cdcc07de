// RUN: tilewright opt %s -allow-unregistered-dialect --place-accumulators -split-input-file -verify-diagnostics | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_100a">
#acc = #ttg.layout<128x64, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp [[32, 0], [64, 0]]>
#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<16x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0]], 16>

// A carried sum stays in tensor memory. An MMA is still in flight at the loop's wait, so two barriers tell the MMAs apart.
// CHECK-LABEL: tt.func @carried
// CHECK: %[[memory:.*]] = ttg.tensor_alloc 64
// CHECK-DAG: %[[tile:.*]] = ttg.tensor_tile %[[memory]], 0 : <128x64xf32>
// CHECK-DAG: %[[barriers:.*]] = ttg.alloc_barriers : <2>
// CHECK: ttg.tensor_store %{{.*}}, %[[tile]]
// CHECK: %[[loop:.*]]:2 = scf.for {{.*}} iter_args({{.*}}, %[[n:.*]] = %{{.*}}) -> ({{.*}}, i32)
// CHECK: ttg.tcgen05_mma %{{.*}}, %{{.*}}, %[[tile]] if %true{{.*}} to %[[barriers]] : !ttg.barriers<2> at %[[n]]
// CHECK: %[[next:.*]] = arith.addi %[[n]], %{{.*}} : i32
// CHECK: ttg.tcgen05_wait 1 of %[[barriers]] at %[[next]]
// CHECK: scf.yield %{{.*}}, %[[next]] : {{.*}}, i32
// CHECK: ttg.tcgen05_wait 0 of %[[barriers]] at %[[loop]]#1
// CHECK: %[[sum:.*]] = ttg.tensor_load %[[tile]]
// CHECK: "use"(%[[sum]])
// CHECK: ttg.tensor_free %[[memory]]
tt.func @carried(%n: i32) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x64xf32, #acc>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = ttg.alloc : !ttg.buffer<1 x f16, #a>
  %b = ttg.alloc : !ttg.buffer<1 x f16, #b>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<128x64xf32, #acc>) : i32 {
    %d = ttg.mma_async %a, %b, %c : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> tensor<128x64xf32, #acc>
    %e = ttg.mma_async_wait 1, %d : tensor<128x64xf32, #acc> -> tensor<128x64xf32, #acc>
    scf.yield %e : tensor<128x64xf32, #acc>
  }
  %s = ttg.mma_async_wait 0, %r : tensor<128x64xf32, #acc> -> tensor<128x64xf32, #acc>
  "use"(%s) : (tensor<128x64xf32, #acc>) -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_100a">
#acc = #ttg.layout<128x64, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp [[32, 0], [64, 0]]>
#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<16x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0]], 16>

// Each iteration adds to a sum from outside the loop. Its MMA starts from that sum, not from the previous iteration's result.
// CHECK-LABEL: tt.func @invariant
// CHECK: ttg.tcgen05_mma %{{.*}}, %{{.*}}, %[[first:.*]] if
// CHECK: %[[loaded:.*]] = ttg.tensor_load %[[first]]
// CHECK: scf.for
// CHECK: ttg.tensor_store %[[loaded]], %[[second:.*]] :
// CHECK: ttg.tcgen05_mma %{{.*}}, %{{.*}}, %[[second]] if %true
// CHECK: %[[sum:.*]] = ttg.tensor_load %[[second]]
// CHECK: "use"(%[[sum]])
tt.func @invariant(%n: i32) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x64xf32, #acc>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = ttg.alloc : !ttg.buffer<1 x f16, #a>
  %b = ttg.alloc : !ttg.buffer<1 x f16, #b>
  %v = ttg.mma_async %a, %b, %zero : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> tensor<128x64xf32, #acc>
  %w = ttg.mma_async_wait 0, %v : tensor<128x64xf32, #acc> -> tensor<128x64xf32, #acc>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %d = ttg.mma_async %a, %b, %w : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> tensor<128x64xf32, #acc>
    %e = ttg.mma_async_wait 0, %d : tensor<128x64xf32, #acc> -> tensor<128x64xf32, #acc>
    "use"(%e) : (tensor<128x64xf32, #acc>) -> ()
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_100a">
#acc = #ttg.layout<128x64, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp [[32, 0], [64, 0]]>
#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<16x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0]], 16>

// A sum that threads scale goes through registers in each iteration. A branch counts its MMA. The zeros of the first MMA are not stored.
// Two MMAs before a wait need two barriers, although the wait is for all of them. The older one has a wait of its own.
// CHECK-LABEL: tt.func @scaled
// CHECK: ttg.tensor_alloc 128
// CHECK-DAG: ttg.tensor_tile %{{.*}}, 0
// CHECK-DAG: ttg.tensor_tile %{{.*}}, 64
// CHECK-DAG: ttg.alloc_barriers : <2>
// CHECK: scf.for {{.*}} -> (tensor<128x64xf32, #{{.*}}>, i32)
// CHECK: arith.mulf
// CHECK: %[[after:.*]] = scf.if %{{.*}} -> (i32)
// CHECK-NOT: ttg.tensor_store
// CHECK: ttg.tcgen05_mma {{.*}} if %false
// CHECK: } else {
// CHECK: scf.yield
// CHECK: ttg.tensor_store %{{.*}}, %[[sum:.*]] :
// CHECK: ttg.tcgen05_mma {{.*}}, %[[sum]] if %true{{.*}} at %[[after]]
// CHECK: ttg.tcgen05_wait 1
// CHECK-NEXT: ttg.tcgen05_wait 0
// CHECK: ttg.tensor_load %[[sum]]
tt.func @scaled(%n: i32, %yes: i1, %factor: tensor<128x64xf32, #acc>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x64xf32, #acc>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %a = ttg.alloc : !ttg.buffer<1 x f16, #a>
  %b = ttg.alloc : !ttg.buffer<1 x f16, #b>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%c = %zero) -> (tensor<128x64xf32, #acc>) : i32 {
    %x = arith.mulf %c, %factor : tensor<128x64xf32, #acc>
    scf.if %yes {
      %s = ttg.mma_async %a, %b, %zero : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> tensor<128x64xf32, #acc>
      %t = ttg.mma_async_wait 1, %s : tensor<128x64xf32, #acc> -> tensor<128x64xf32, #acc>
    }
    %d = ttg.mma_async %a, %b, %x : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> tensor<128x64xf32, #acc>
    %e = ttg.mma_async_wait 0, %d : tensor<128x64xf32, #acc> -> tensor<128x64xf32, #acc>
    scf.yield %e : tensor<128x64xf32, #acc>
  }
  "use"(%r) : (tensor<128x64xf32, #acc>) -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#acc = #ttg.layout<64x8, reg [[0, 1], [8, 0]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>

// Other GPUs have no tensor memory.
// CHECK-LABEL: tt.func @hopper
// CHECK-NOT: tensor_alloc
tt.func @hopper(%x: tensor<64x8xf32, #acc>) attributes {ttg.config = #config} {
  tt.return
}

// -----

#config = #ttg.config<warps = 8, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_100a">
#acc = #ttg.layout<128x512, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [0, 64], [0, 128]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp [[32, 0], [64, 0], [0, 256]]>
#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 8], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<16x512, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [0, 64], [0, 128], [0, 256]], 16>

// Both results are in flight at the same time.
// expected-error @below {{out of resource: columns of tensor memory, Required: 1024, Hardware limit: 512}}
tt.func @tooMuch() attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x512xf32, #acc>
  %a = ttg.alloc : !ttg.buffer<1 x f16, #a>
  %b = ttg.alloc : !ttg.buffer<1 x f16, #b>
  %d = ttg.mma_async %a, %b, %zero : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> tensor<128x512xf32, #acc>
  %e = ttg.mma_async %a, %b, %zero : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> tensor<128x512xf32, #acc>
  %f:2 = ttg.mma_async_wait 0, %d, %e : tensor<128x512xf32, #acc>, tensor<128x512xf32, #acc> -> tensor<128x512xf32, #acc>, tensor<128x512xf32, #acc>
  "use"(%f#0, %f#1) : (tensor<128x512xf32, #acc>, tensor<128x512xf32, #acc>) -> ()
  tt.return
}
