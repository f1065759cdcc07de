// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops --pipeline-loops --copy-unpipelined --allocate-shared --insert-barriers --specialize-warps -split-input-file | FileCheck %s

#config = #ttg.config<warps = 8, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// Attention: threads compute between the MMAs, and the accumulators fill an SM. One warp of its own starts all copies of the loop, after eight warps
// have released a stage; the consumer warps never synchronize in the loop. The warps that use the queries copy them. Keys are read before the values of
// the same iteration, so their stages are released separately, when their MMA has finished.
// CHECK-LABEL: tt.func public @attention
// CHECK: %[[q:.*]] = ttg.alloc_barriers {ttg.offset = {{.*}}} : <1>
// CHECK: %[[valuesRead:.*]] = ttg.alloc_barriers {arrivals = 8 : i32, ttg.offset = {{.*}}} : <3>
// CHECK: %[[keysRead:.*]] = ttg.alloc_barriers {arrivals = 8 : i32, ttg.offset = {{.*}}} : <3>
// CHECK: %[[values:.*]] = ttg.alloc_barriers {ttg.offset = {{.*}}} : <3>
// CHECK: %[[keys:.*]] = ttg.alloc_barriers {ttg.offset = {{.*}}} : <3>
// CHECK: ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24>}
// CHECK-NEXT: default {
// CHECK: ttg.barrier_expect %[[q]]
// CHECK: ttg.barrier_wait %[[q]]
// The first scores, if there are any; their result is passed to the second stage of the iteration.
// CHECK: %[[first:.*]]:5 = scf.if
// CHECK: ttg.barrier_wait %[[keys]]
// CHECK-NEXT: ttg.mma_async
// CHECK-NEXT: ttg.mma_async_wait 0
// CHECK-NEXT: ttg.barrier_arrive %[[keysRead]]
// CHECK: arith.truncf
// The second warp group lets the first one continue.
// CHECK: ptx.barrier_arrive {id = 2
// CHECK: scf.for {{.*}}, %[[slot:[^ ]*]] = %[[first]]#2, %[[parity:[^ ]*]] = %[[first]]#3, %[[weights:[^ ]*]] = %[[first]]#4
// CHECK-NOT: barrier_expect
// CHECK-NOT: ttg.cta_barrier
// CHECK: ttg.barrier_wait %[[keys]]
// CHECK: ptx.barrier {id = 2
// CHECK: ptx.barrier {id = 3
// CHECK: %[[next:.*]] = ttg.mma_async
// CHECK-NEXT: ttg.barrier_wait %[[values]][%[[slot]]], %[[parity]]
// CHECK-NEXT: %[[sum:.*]] = ttg.mma_async %[[weights]]
// CHECK: ptx.barrier_arrive {id = 3
// CHECK: ptx.barrier_arrive {id = 2
// CHECK: %[[s:.*]] = ttg.mma_async_wait 1, %[[next]]
// CHECK-NEXT: ttg.barrier_arrive %[[keysRead]]
// CHECK-NEXT: %[[e:.*]] = math.exp2 %[[s]]
// CHECK-NEXT: %[[both:.*]]:2 = ttg.mma_async_wait 0, %[[sum]], %[[e]]
// CHECK-NEXT: arith.truncf %[[both]]#1
// CHECK-NEXT: ttg.barrier_arrive %[[valuesRead]][%[[slot]]]
// CHECK: scf.yield
// The last iteration's second stage.
// CHECK: scf.if
// CHECK: ttg.barrier_wait %[[values]]
// CHECK-NEXT: ttg.mma_async
// CHECK-NEXT: ttg.mma_async_wait 0
// CHECK-NEXT: ttg.barrier_arrive %[[valuesRead]]
// CHECK: scf.yield
// CHECK: ttg.warp_yield
// CHECK: partition0() num_warps(1) {
// CHECK: scf.for {{.*}} iter_args(%[[slot:[^ ]*]] =
// CHECK: ttg.barrier_wait %[[keysRead]][%[[slot]]], %{{.*}} : <3>
// CHECK: ttg.barrier_expect %[[keys]][%[[slot]]], 16384
// CHECK: ttg.tma_load
// CHECK: ttg.barrier_wait %[[valuesRead]][%[[slot]]], %{{.*}} : <3>
// CHECK: ttg.barrier_expect %[[values]][%[[slot]]], 16384
// CHECK: ttg.tma_load
// CHECK-NOT: ttg.mma_async
// CHECK: ttg.warp_return
tt.func public @attention(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x64xf32>
  %nothing = arith.constant dense<0.0> : tensor<128x128xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %c128 = arith.constant 128 : i32
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<128x64xf16>
  %r = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %zero) -> (tensor<128x64xf32>) : i32 {
    %k = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %v = ttg.descriptor_load %x[%c64, %i] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %t = tt.trans %k {order = array<i32: 1, 0>} : tensor<128x64xf16> -> tensor<64x128xf16>
    %s = tt.dot %q, %t, %nothing : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
    %e = math.exp2 %s : tensor<128x128xf32>
    %w = arith.truncf %e : tensor<128x128xf32> to tensor<128x128xf16>
    %d = tt.dot %w, %v, %acc : tensor<128x128xf16> * tensor<128x64xf16> -> tensor<128x64xf32>
    scf.yield %d : tensor<128x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<128x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 8, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// An MMA without other computations gains nothing, and gets warp specialization only on request. It stays in flight across the back edge: an
// iteration releases the previous stage, and the last stage is released after the loop. Here an outer loop repeats the loop, and the circular buffer
// continues.
// CHECK-LABEL: tt.func public @unasked
// CHECK-SAME: ttg.not_warp_specialized = "there is no computation between the dots to overlap with"
// CHECK-NOT: ttg.warp_specialize
// CHECK-LABEL: tt.func public @asked
// CHECK: ttg.alloc_barriers {arrivals = 8
// CHECK: default {
// CHECK: scf.for
// CHECK: scf.for %[[k:.*]] = %[[first:.*]] to
// CHECK: ttg.mma_async
// CHECK-NEXT: ttg.mma_async_wait 1
// CHECK: %[[later:.*]] = arith.cmpi ne, %[[k]], %[[first]]
// CHECK: ttg.barrier_arrive %{{.*}}[%{{.*}}] if %[[later]]
// CHECK: ttg.mma_async_wait 0
// CHECK: ttg.barrier_arrive %{{.*}}[%{{.*}}] if
// CHECK: partition0() num_warps(1) {
// CHECK: scf.for
// CHECK: scf.for
// CHECK: ttg.tma_load
tt.func public @unasked(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<128x256xf32>) : i32 {
    %a = ttg.descriptor_load %x[%k, %c0] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %b = ttg.descriptor_load %x[%c0, %k] {order = array<i32: 1, 0>} : tensor<64x256xf16>
    %d = tt.dot %a, %b, %acc : tensor<128x64xf16> * tensor<64x256xf16> -> tensor<128x256xf32>
    scf.yield %d : tensor<128x256xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x256x!tt.ptr<f32>>
  tt.store %out, %r : tensor<128x256x!tt.ptr<f32>>
  tt.return
}
tt.func public @asked(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x256xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x256x!tt.ptr<f32>>
  scf.for %t = %c0 to %n step %c1 : i32 {
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<128x256xf32>) : i32 {
      %a = ttg.descriptor_load %x[%k, %t] {order = array<i32: 1, 0>} : tensor<128x64xf16>
      %b = ttg.descriptor_load %x[%t, %k] {order = array<i32: 1, 0>} : tensor<64x256xf16>
      %d = tt.dot %a, %b, %acc : tensor<128x64xf16> * tensor<64x256xf16> -> tensor<128x256xf32>
      scf.yield %d : tensor<128x256xf32>
    }
    tt.store %out, %r : tensor<128x256x!tt.ptr<f32>>
  } {tt.warp_specialize}
  tt.return
}

// -----

#config = #ttg.config<warps = 8, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// Partitions that the author has made get no producer, and each runs its loops alone: the stage index begins in the partition.
// CHECK-LABEL: tt.func public @own_partitions
// CHECK-SAME: ttg.not_warp_specialized = "the kernel has partitions of its own"
// CHECK: ttg.alloc_barriers
// CHECK: ttg.warp_specialize()
// CHECK-NEXT: default {
// CHECK: ttg.tma_load
// CHECK: scf.for
// CHECK: ttg.cta_barrier
// CHECK: ttg.tma_load
// CHECK: ttg.warp_yield
// CHECK: partition0() num_warps(4) {
// CHECK-NEXT: ttg.warp_return
tt.func public @own_partitions(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  ttg.warp_specialize()
  default {
    %zero = arith.constant dense<0.0> : tensor<128x64xf32>
    %nothing = arith.constant dense<0.0> : tensor<128x128xf32>
    %c0 = arith.constant 0 : i32
    %c64 = arith.constant 64 : i32
    %c128 = arith.constant 128 : i32
    %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<128x64xf16>
    %r = scf.for %i = %c0 to %n step %c128 iter_args(%acc = %zero) -> (tensor<128x64xf32>) : i32 {
      %k = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<128x64xf16>
      %v = ttg.descriptor_load %x[%c64, %i] {order = array<i32: 1, 0>} : tensor<128x64xf16>
      %t = tt.trans %k {order = array<i32: 1, 0>} : tensor<128x64xf16> -> tensor<64x128xf16>
      %s = tt.dot %q, %t, %nothing : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
      %e = math.exp2 %s : tensor<128x128xf32>
      %w = arith.truncf %e : tensor<128x128xf32> to tensor<128x128xf16>
      %d = tt.dot %w, %v, %acc : tensor<128x128xf16> * tensor<128x64xf16> -> tensor<128x64xf32>
      scf.yield %d : tensor<128x64xf32>
    }
    %out = tt.splat %o : !tt.ptr<f32> -> tensor<128x64x!tt.ptr<f32>>
    tt.store %out, %r : tensor<128x64x!tt.ptr<f32>>
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}
