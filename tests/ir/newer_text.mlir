// RUN: split-file %s %t
// RUN: tilewright compile %t/descriptors.mlir --until emit-tiles | FileCheck %s --check-prefix=DESCRIPTORS
// RUN: tilewright compile %t/descriptors.mlir --target cuda:sm_90a --emit ptx -o %t.ptx
// RUN: tilewright compile %t/descriptors.mlir --emit obj -o %t.o
// RUN: tilewright compile %t/policies.mlir --until emit-tiles | FileCheck %s --check-prefix=POLICIES
// RUN: tilewright compile %t/atomics.mlir --until emit-tiles | FileCheck %s --check-prefix=ATOMICS
// RUN: tilewright compile %t/atomics.mlir --target cuda:sm_90a --emit ptx -o %t.ptx
// RUN: tilewright compile %t/atomics.mlir --emit obj -o %t.o
// RUN: tilewright compile %t/limited.mlir --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=LIMITED
// RUN: not tilewright compile %t/limited.mlir --emit obj -o %t.o 2>&1 | FileCheck %s --check-prefix=CLOCK
// RUN: tilewright compile %t/grids.mlir --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=GRIDS
// RUN: tilewright compile %t/grids.mlir --target cuda:sm_80 --emit ptx | FileCheck %s --check-prefix=OLDER
// RUN: tilewright compile %t/grids.mlir --emit obj -o %t.o
// RUN: not tilewright compile %t/small.mlir 2>&1 | FileCheck %s --check-prefix=SMALL
// RUN: not tilewright compile %t/mixed.mlir 2>&1 | FileCheck %s --check-prefix=MIXED
// RUN: not tilewright compile %t/policy.mlir 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not tilewright compile %t/scalar.mlir 2>&1 | FileCheck %s --check-prefix=SCALAR
// What upstream has printed since 3.7: barriers, shorter types of descriptors, cache policies, atomic reads and writes, overlapping grids.

// DESCRIPTORS: tt.make_tensor_descriptor {{.*}} : <f32>, <tensor<32x16xf32>>
// DESCRIPTORS: tt.descriptor_load {{.*}} : !tt.tensordesc<tensor<32x16xf32>> -> tensor<32x16xf32>
// DESCRIPTORS: gpu.barrier
// DESCRIPTORS: gpu.barrier
// DESCRIPTORS: tt.make_tensor_descriptor {{.*}} : <i32>, <tensor<64xui32>>
//--- descriptors.mlir
module {
  tt.func public @k(%p: !tt.ptr<f32>, %q: !tt.ptr<i32>, %n: i32) {
    %c1 = arith.constant 1 : i64
    %c0 = arith.constant 0 : i32
    %s = arith.extsi %n : i32 to i64
    %d = tt.make_tensor_descriptor %p, [%n, %n], [%s, %c1] : !tt.ptr<f32>, !tt.tensordesc<32x16xf32>
    %t = tt.descriptor_load %d[%c0, %c0] : !tt.tensordesc<32x16xf32> -> tensor<32x16xf32>
    ttg.barrier all
    ttg.barrier local|global_read
    tt.descriptor_store %d[%n, %c0], %t : !tt.tensordesc<32x16xf32>, tensor<32x16xf32>
    %bytes = tt.make_tensor_descriptor %q, [%n], [%c1] : !tt.ptr<i32>, !tt.tensordesc<64xui32>
    %b = tt.descriptor_load %bytes[%c0] : !tt.tensordesc<64xui32> -> tensor<64xi32>
    tt.descriptor_reduce max, %bytes[%c0], %b : !tt.tensordesc<64xui32>, tensor<64xi32>
    tt.return
  }
}

// POLICIES: tt.load %{{.*}} cacheModifier = cg evictionPolicy = evict_last : !tt.ptr<f32>
// POLICIES: tt.load %{{.*}} : !tt.ptr<f32>
// POLICIES: arith.divf
// POLICIES: tt.store %{{.*}} evictionPolicy = evict_first : !tt.ptr<f32>
//--- policies.mlir
module {
  tt.func public @k(%p: !tt.ptr<f32>) {
    %a = tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = cg, eviction_policy = evict_last>} : !tt.ptr<f32>
    %b = tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_normal>} : !tt.ptr<f32>
    %c = tt.approx_divf %a, %b : f32
    tt.store %p, %c {cachePolicy = #tt.cache_policy<cache_modifier = none, eviction_policy = evict_first>} : !tt.ptr<f32>
    tt.return
  }
}

// ATOMICS: tt.bitcast %{{.*}} : tensor<64x!tt.ptr<f32>> -> tensor<64x!tt.ptr<i32>>
// ATOMICS: tt.atomic_rmw or, acquire, gpu, {{.*}} -> tensor<64xi32>
// ATOMICS: tt.bitcast %{{.*}} : tensor<64xi32> -> tensor<64xf32>
// ATOMICS: tt.atomic_rmw exch, release, cta, {{.*}} -> tensor<64xi32>
// ATOMICS: tt.atomic_rmw or, relaxed, sys, {{.*}} -> i64
// ATOMICS: scf.while
// ATOMICS: tt.atomic_rmw or, acquire, gpu, {{.*}} : (tensor<64x!tt.ptr<i32>>, tensor<64xi32>, tensor<64xi1>)
//--- atomics.mlir
module {
  tt.func public @k(%p: !tt.ptr<f32>, %q: !tt.ptr<i64>, %i: !tt.ptr<i32>, %m: i1, %v: i32) {
    %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %at = tt.addptr %s, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %mask = tt.splat %m : i1 -> tensor<64xi1>
    %x = tt.atomic_load acquire, gpu, %at, %mask : (tensor<64x!tt.ptr<f32>>, tensor<64xi1>) -> tensor<64xf32>
    tt.atomic_store release, cta, %at, %x, %mask : tensor<64x!tt.ptr<f32>>
    %n = tt.atomic_load relaxed, sys, %q : (!tt.ptr<i64>) -> i64
    tt.atomic_store relaxed, sys, %q, %n : !tt.ptr<i64>
    %is = tt.splat %i : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>>
    %ia = tt.addptr %is, %r : tensor<64x!tt.ptr<i32>>, tensor<64xi32>
    %seen = tt.atomic_poll acquire, gpu, %ia, %r : tensor<64x!tt.ptr<i32>>, tensor<64xi32> -> tensor<64xi1>
    %one = tt.atomic_poll relaxed, cta, %i, %v : !tt.ptr<i32>, i32 -> i1
    %both = arith.select %one, %v, %v : i32
    tt.store %ia, %r, %seen : tensor<64x!tt.ptr<i32>>
    tt.store %i, %both : !tt.ptr<i32>
    tt.return
  }
}

// LIMITED: %globaltimer
// LIMITED: %globaltimer
// CLOCK: error: this is PTX, the assembly of NVIDIA GPUs, but the kernel is compiled for a CPU
//--- limited.mlir
module {
  tt.func public @k(%i: !tt.ptr<i32>, %v: i32, %ns: i64, %o: !tt.ptr<i1>) {
    %seen = tt.atomic_poll acquire, gpu, %i, %v timeout %ns : !tt.ptr<i32>, i32 -> i1
    %wide = arith.extui %seen : i1 to i32
    tt.store %i, %wide : !tt.ptr<i32>
    tt.return
  }
}

// GRIDS: griddepcontrol.wait
// GRIDS: griddepcontrol.launch_dependents
// OLDER-NOT: griddepcontrol
//--- grids.mlir
module {
  tt.func public @k(%i: !tt.ptr<i32>, %v: i32) {
    tt.grid_dependency_wait
    tt.store %i, %v : !tt.ptr<i32>
    tt.grid_dependency_launch_dependents
    tt.return
  }
}

// SMALL: small.mlir:3:10: error: 'tt.atomic_load' op takes pointers to integers or floats of 32 or 64 bits, not '!tt.ptr<f16>'
//--- small.mlir
module {
  tt.func public @k(%p: !tt.ptr<f16>) {
    %x = tt.atomic_load acquire, gpu, %p : (!tt.ptr<f16>) -> f16
    tt.return
  }
}

// MIXED: mixed.mlir:3:10: error: 'tt.atomic_load' op has operands or a result whose types do not match
//--- mixed.mlir
module {
  tt.func public @k(%p: !tt.ptr<f32>) {
    %x = tt.atomic_load acquire, gpu, %p : (!tt.ptr<f32>) -> i32
    tt.return
  }
}

// POLICY: policy.mlir:3:10: error: 'tt.load' op has an unknown cache policy
//--- policy.mlir
module {
  tt.func public @k(%p: !tt.ptr<f32>) {
    %x = tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = l7, eviction_policy = evict_last>} : !tt.ptr<f32>
    tt.return
  }
}

// SCALAR: scalar.mlir:2:40: error: a descriptor has blocks, which are tensors, not 'f32'
//--- scalar.mlir
module {
  tt.func public @k(%p: !tt.tensordesc<f32>) {
    tt.return
  }
}
