// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops --pipeline-loops --copy-unpipelined --allocate-shared --insert-barriers -split-input-file | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// MMAs accumulate in place: copies are two iterations ahead, and an iteration's MMA still runs when the next one starts. A and B share an mbarrier.
// CHECK-LABEL: tt.func public @gemm
// CHECK-SAME: box = [64, 64], element = f16, swizzle = 128
// CHECK-DAG: %[[full:.*]] = ttg.alloc_barriers {{.*}}: <3>
// CHECK-DAG: %[[a:.*]] = ttg.alloc {{.*}}: <3 x f16,
// CHECK-DAG: %[[b:.*]] = ttg.alloc {{.*}}: <3 x f16,
// iterations 0 and 1
// CHECK: ttg.barrier_expect %[[full]][%{{.*}}], 16384 if
// CHECK: ttg.tma_load
// CHECK: ttg.tma_load
// CHECK: ttg.barrier_expect %[[full]][%{{.*}}], 16384 if
// CHECK: ttg.tma_load
// CHECK: ttg.tma_load
// CHECK: scf.for %[[i:.*]] = {{.*}} iter_args(%[[acc:.*]] = {{.*}}, %[[slot:.*]] = {{.*}}, %[[parity:.*]] = {{.*}})
// CHECK-DAG: %[[mine:.*]] = ttg.stage %[[a]][%[[slot]]]
// CHECK-NOT: ttg.cta_barrier
// CHECK: ttg.barrier_wait %[[full]][%[[slot]]], %[[parity]]
// CHECK: %[[d:.*]] = ttg.mma_async %[[mine]], {{.*}}, %[[acc]]
// CHECK-NEXT: ttg.mma_async_wait 1
// CHECK-NEXT: ttg.cta_barrier
// iteration i + 2, into the stage of iteration i - 1
// CHECK: %[[exists:.*]] = arith.cmpi ugt
// CHECK: %[[target:.*]] = arith.select
// CHECK: arith.addi %[[i]], %{{.*}} : i32
// CHECK: ttg.barrier_expect %[[full]][%[[target]]], 16384 if %[[exists]]
// CHECK-COUNT-2: ttg.tma_load
// CHECK-NOT: ttg.cta_barrier
// CHECK: scf.yield %[[d]]
// CHECK: ttg.mma_async_wait 0
tt.func public @gemm(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}, %y: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %a = ttg.descriptor_load %x[%k, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %b = ttg.descriptor_load %y[%c0, %k] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %d = tt.dot %a, %b, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 8, ctas = 1, stages = 2, maxRegisters = 240, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// Attention: keys and values have separate mbarriers. The next iteration's scores start before this one's are used, so that they overlap with the
// threads' work. One CTA barrier ends the iteration: values are refilled there, keys at the start of the next one. Queries are copied once. The
// number of registers is fixed, so warp groups cannot exchange registers (specialize_warps.mlir tests that).
// CHECK-LABEL: tt.func public @attention
// CHECK-DAG: %[[q:.*]] = ttg.alloc_barriers {{.*}}: <1>
// CHECK: ttg.barrier_expect %[[q]]
// CHECK: ttg.barrier_expect %[[keys:[^\[]*]][
// CHECK: ttg.barrier_expect %[[values:[^\[]*]][
// CHECK: ttg.barrier_expect %[[keys]][
// CHECK: ttg.barrier_expect %[[values]][
// CHECK-NOT: barrier_expect
// the first iteration's scores
// CHECK: %[[first:.*]] = scf.if
// CHECK: ttg.barrier_wait %[[keys]][
// CHECK-NEXT: ttg.mma_async
// CHECK-NEXT: ttg.mma_async_wait 0
// CHECK: ttg.cta_barrier
// CHECK: scf.for {{.*}}, %[[scores:[^,]*]] = %[[first]])
// CHECK-NOT: ttg.cta_barrier
// CHECK: ttg.barrier_expect %[[keys]][
// CHECK: ttg.barrier_wait %[[keys]][
// CHECK: %[[next:.*]] = ttg.mma_async
// CHECK-NEXT: math.exp2 %[[scores]]
// CHECK: ttg.barrier_wait %[[values]][
// CHECK-NEXT: %[[sum:.*]] = ttg.mma_async
// CHECK-NEXT: %[[done:.*]]:2 = ttg.mma_async_wait 0, %[[sum]], %[[next]]
// CHECK-NEXT: ttg.cta_barrier
// CHECK: ttg.barrier_expect %[[values]][
// CHECK: scf.yield %[[done]]#0, {{.*}}, %[[done]]#1
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

#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 128, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// Two CTAs share an SM and overlap each other, so a CTA's own iterations do not. One CTA barrier serves both buffers: keys are refilled after they
// have been read, two iterations ahead, and values an iteration later.
// CHECK-LABEL: tt.func public @in_turns
// CHECK-DAG: %[[q:.*]] = ttg.alloc_barriers {{.*}}: <1>
// CHECK: ttg.barrier_expect %[[q]]
// CHECK: ttg.barrier_expect %[[keys:[^\[]*]][
// CHECK: ttg.barrier_expect %[[values:[^\[]*]][
// CHECK: ttg.barrier_expect %[[keys]][
// CHECK-NOT: barrier_expect
// CHECK: ttg.barrier_wait %[[q]]
// CHECK: scf.for
// CHECK: ttg.barrier_wait %[[keys]][
// CHECK-NEXT: ttg.mma_async
// CHECK-NEXT: ttg.mma_async_wait 0
// CHECK-NEXT: ttg.cta_barrier
// CHECK: ttg.barrier_expect %[[keys]][
// CHECK: ttg.barrier_expect %[[values]][
// CHECK: math.exp2
// CHECK: ttg.barrier_wait %[[values]][
// CHECK-NEXT: ttg.mma_async
// CHECK-NEXT: ttg.mma_async_wait 0
// CHECK-NOT: ttg.cta_barrier
// CHECK: scf.yield
tt.func public @in_turns(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %q = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %r = scf.for %i = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %k = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %v = ttg.descriptor_load %x[%c64, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %t = tt.trans %k {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %q, %t, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %w = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    %d = tt.dot %w, %v, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_80">

// Without TMA every thread copies (cp.async): groups are counted. One CTA barrier at the start makes the data visible and frees the stage of the
// previous iteration. The pointers of a later iteration are the carried offset plus the steps up to it.
// CHECK-LABEL: tt.func public @copies
// CHECK: ttg.copy_async
// CHECK: ttg.copy_commit
// CHECK: ttg.copy_async
// CHECK: ttg.copy_commit
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = {{.*}}, %[[at:.*]] = {{.*}}, %[[slot:.*]] = {{.*}}, %{{.*}} = {{.*}})
// CHECK: %[[mine:.*]] = ttg.stage {{.*}}[%[[slot]]]
// CHECK: ttg.copy_wait 1
// CHECK-NEXT: ttg.cta_barrier
// CHECK: arith.addi %[[at]], %{{.*}} : i32
// CHECK: ttg.copy_async
// CHECK: ttg.copy_commit
// CHECK-NOT: ttg.cta_barrier
// CHECK: ttg.load_shared %[[mine]]
// CHECK: tt.dot
// CHECK: scf.yield
// CHECK: ttg.copy_wait 0
tt.func public @copies(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %o: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %other = arith.constant dense<0.5> : tensor<64x64xf16>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %columns = tt.expand_dims %range {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %column = tt.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %lines = tt.expand_dims %range {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %far = tt.splat %c64 : i32 -> tensor<64x1xi32>
  %row = arith.muli %lines, %far : tensor<64x1xi32>
  %rows = tt.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
  %place = arith.addi %rows, %column : tensor<64x64xi32>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero, %at = %c0) -> (tensor<64x64xf32>, i32) : i32 {
    %here = tt.addptr %p, %at : !tt.ptr<f16>, i32
    %base = tt.splat %here : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %q = tt.addptr %base, %place : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %b = tt.load %q : tensor<64x64x!tt.ptr<f16>>
    %d = tt.dot %other, %b, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %next = arith.addi %at, %c64 : i32
    scf.yield %d, %next : tensor<64x64xf32>, i32
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r#0 : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// A persistent loop: mbarriers are initialized once, and stage and parity continue from tile to tile. The result is stored through a buffer. The
// first tile's copies are before both loops.
// CHECK-LABEL: tt.func public @persistent
// CHECK: ttg.alloc_barriers {{.*}}: <4>
// CHECK: scf.if
// CHECK: ttg.barrier_expect
// CHECK: scf.for {{.*}} iter_args(%[[slot:.*]] = {{.*}}, %[[parity:.*]] = {{.*}}) -> (i32, i32)
// CHECK-NOT: ttg.barrier_expect
// CHECK: %[[inner:.*]]:3 = scf.for {{.*}} iter_args(%{{.*}} = {{.*}}, %{{.*}} = %[[slot]], %{{.*}} = %[[parity]])
// CHECK: ttg.mma_async_wait 0
// CHECK: ttg.cta_barrier
// CHECK: scf.if
// CHECK: ttg.barrier_expect
// CHECK: ttg.tma_store_wait 0
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: ttg.store_shared
// CHECK-NEXT: ttg.fence_async
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: ttg.tma_store
// CHECK-NEXT: scf.yield %[[inner]]#1, %[[inner]]#2
// CHECK: ttg.tma_store_wait 0
tt.func public @persistent(%p: !tt.ptr<f16>, %n: i32, %tiles: i32, %x: !ptx.tensor_map {ttg.tensor_map = #map}, %z: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c64 = arith.constant 64 : i32
  scf.for %t = %c0 to %tiles step %c1 : i32 {
    %at = arith.muli %t, %c64 : i32
    %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
      %a = ttg.descriptor_load %x[%k, %at] {order = array<i32: 1, 0>} : tensor<64x64xf16>
      %b = ttg.descriptor_load %x[%at, %k] {order = array<i32: 1, 0>} : tensor<64x64xf16>
      %d = tt.dot %a, %b, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
      scf.yield %d : tensor<64x64xf32>
    }
    %h = arith.truncf %r : tensor<64x64xf32> to tensor<64x64xf16>
    ttg.descriptor_store %h to %z[%at, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 1, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// One stage: the wait for the copy is at the read of the tile, and the parity of its mbarrier flips with every use.
// CHECK-LABEL: tt.func public @alone
// CHECK: scf.for {{.*}} iter_args(%[[parity:.*]] = %{{.*}})
// CHECK-NOT: ttg.cta_barrier
// CHECK: ttg.fence_async
// CHECK-NEXT: ttg.cta_barrier
// CHECK: ttg.barrier_expect
// CHECK-NEXT: ttg.tma_load
// CHECK-NEXT: ttg.barrier_wait %{{.*}}, %[[parity]]
// CHECK: %[[next:.*]] = arith.xori %[[parity]]
// CHECK: ttg.load_shared
// CHECK: scf.yield %[[next]]
tt.func public @alone(%o: !tt.ptr<f16>, %n: i32, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %a = ttg.descriptor_load %x[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %p = tt.splat %o : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    tt.store %p, %a : tensor<64x64x!tt.ptr<f16>>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// Threads write A, TMA writes B: a fence and a barrier make the threads' writes visible.
// CHECK-LABEL: tt.func public @both
// CHECK: ttg.tma_load
// CHECK-NEXT: ttg.store_shared
// CHECK-NEXT: ttg.fence_async
// CHECK-NEXT: ttg.barrier_wait
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: ttg.mma_async
tt.func public @both(%o: !tt.ptr<f32>, %f: f16, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %a = tt.splat %f : f16 -> tensor<64x64xf16>
  %b = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %d = tt.dot %a, %b, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %d : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

// An operand that threads compute has two buffers: one is written while the previous MMA reads the other. Its inputs are loaded an iteration early,
// before all computations.
// CHECK-LABEL: tt.func public @computed
// CHECK: %[[both:.*]] = ttg.alloc {{.*}}: <2 x f16,
// CHECK: %[[first:.*]] = tt.load {{.*}} : tensor<64x64x!tt.ptr<i8>
// CHECK: scf.for {{.*}} iter_args(%[[acc:.*]] = %{{.*}}, %[[number:.*]] = %{{.*}}, %[[held:.*]] = %[[first]],
// CHECK: %[[next:.*]] = tt.load
// CHECK: ptx.warp_barrier
// CHECK: %[[mine:.*]] = ttg.stage %[[both]][%[[number]]]
// CHECK: %[[b:.*]] = arith.sitofp %[[held]]
// CHECK-NOT: ttg.cta_barrier
// CHECK: ttg.store_shared %[[b]], %[[mine]]
// CHECK-NEXT: ttg.fence_async
// CHECK-NEXT: ttg.barrier_wait
// CHECK-NEXT: ttg.cta_barrier
// CHECK-NEXT: %[[d:.*]] = ttg.mma_async %{{.*}}, %[[mine]], %[[acc]]
// CHECK-NEXT: ttg.mma_async_wait 1
// CHECK-NEXT: ttg.cta_barrier
// CHECK: scf.yield %[[d]], %{{.*}}, %[[next]]
// CHECK: ttg.mma_async_wait 0
tt.func public @computed(%q: !tt.ptr<i8> {tt.divisibility = 16 : i32}, %n: i32, %o: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %row = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %column = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %width = arith.constant dense<64> : tensor<64x1xi32>
  %start = arith.muli %row, %width : tensor<64x1xi32>
  %starts = tt.broadcast %start : tensor<64x1xi32> -> tensor<64x64xi32>
  %columns = tt.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %inside = arith.addi %starts, %columns : tensor<64x64xi32>
  %r = scf.for %k = %c0 to %n step %c64 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %from = arith.muli %k, %c64 : i32
    %qk = tt.addptr %q, %from : !tt.ptr<i8>, i32
    %qs = tt.splat %qk : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>>
    %bs = tt.addptr %qs, %inside : tensor<64x64x!tt.ptr<i8>>, tensor<64x64xi32>
    %a = ttg.descriptor_load %x[%k, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %small = tt.load %bs : tensor<64x64x!tt.ptr<i8>>
    %b = arith.sitofp %small : tensor<64x64xi8> to tensor<64x64xf16>
    %d = tt.dot %a, %b, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
