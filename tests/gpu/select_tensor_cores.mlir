// Freed memory is filled with a pattern, so that a use after free is noticed.
// RUN: env MALLOC_PERTURB_=165 tilewright opt %s --assign-layouts --select-tensor-cores -split-input-file | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// Both operands are in shared memory, with the widest swizzle. Loop-invariant operands are written once, before the loop; a transposition is another
// view of the same bytes.
// CHECK-LABEL: tt.func public @wgmma
// CHECK: %[[a:.*]] = ttg.alloc : <1 x f16, #ttg.shared<64x64
// CHECK-NEXT: ttg.store_shared %{{.*}}, %[[a]]
// CHECK-NEXT: ttg.fence_async
// CHECK: scf.for
// CHECK: %[[b:.*]] = ttg.alloc : <1 x f16, #ttg.shared<128x64
// CHECK: %[[turned:.*]] = ttg.view %[[b]] {order = array<i32: 1, 0>}
// CHECK: ttg.store_shared %{{.*}}, %[[b]]
// CHECK: %[[d:.*]] = ttg.mma_async %[[a]], %[[turned]], %{{.*}} -> tensor<64x128xf32
// CHECK-NEXT: ttg.mma_async_wait 0, %[[d]]
// CHECK-NOT: tt.dot
// CHECK-NOT: tt.trans
tt.func public @wgmma(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32, %o: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x128xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %as = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %a = tt.load %as : tensor<64x64x!tt.ptr<f16>>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x128xf32>) : i32 {
    %at = tt.addptr %p, %i : !tt.ptr<f16>, i32
    %bs = tt.splat %at : !tt.ptr<f16> -> tensor<128x64x!tt.ptr<f16>>
    %b = tt.load %bs : tensor<128x64x!tt.ptr<f16>>
    %t = tt.trans %b {order = array<i32: 1, 0>} : tensor<128x64xf16> -> tensor<64x128xf16>
    %d = tt.dot %a, %t, %acc : tensor<64x64xf16> * tensor<64x128xf16> -> tensor<64x128xf32>
    scf.yield %d : tensor<64x128xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x128x!tt.ptr<f32>>
  tt.store %out, %r : tensor<64x128x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// Weights computed from a dot are already in registers, in the layout in which wgmma reads A.
// CHECK-LABEL: tt.func public @chained
// CHECK: ttg.mma_async
// CHECK: %[[s:.*]] = ttg.mma_async_wait 0
// CHECK: %[[w:.*]] = arith.truncf %[[s]]
// CHECK-NOT: ttg.convert_layout
// CHECK: ttg.mma_async %[[w]], %{{.*}} : tensor<64x64xf16
tt.func public @chained(%p: !tt.ptr<f16>, %o: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ps = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %a = tt.load %ps : tensor<64x64x!tt.ptr<f16>>
  %s = tt.dot %a, %a, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %w = arith.truncf %s : tensor<64x64xf32> to tensor<64x64xf16>
  %d = tt.dot %w, %a, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %d : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_80">

// Without wgmma, there is mma.sync, whose operands are read from shared memory into registers.
// CHECK-LABEL: tt.func public @mma
// CHECK: %[[b:.*]] = ttg.alloc : <1 x f16, #ttg.shared<64x64
// CHECK: %[[x:.*]] = ttg.load_shared
// CHECK: %[[y:.*]] = ttg.load_shared
// CHECK: tt.dot %[[x]], %[[y]]
tt.func public @mma(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %o: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ps = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %qs = tt.splat %q : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %a = tt.load %ps : tensor<64x64x!tt.ptr<f16>>
  %b = tt.load %qs : tensor<64x64x!tt.ptr<f16>>
  %d = tt.dot %a, %b, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %d : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// fp32 at full precision uses multiply-add instructions, with operands read element by element from row-major buffers. bf16 results are computed in
// fp32.
// CHECK-LABEL: tt.func public @others
// CHECK: ttg.fma_dot
// CHECK: arith.extf
// CHECK: ttg.mma_async
// CHECK: arith.truncf
tt.func public @others(%p: !tt.ptr<f32>, %h: !tt.ptr<bf16>, %o: !tt.ptr<f32>, %g: !tt.ptr<bf16>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ps = tt.splat %p : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %a = tt.load %ps : tensor<64x64x!tt.ptr<f32>>
  %d = tt.dot %a, %a, %zero, inputPrecision = ieee : tensor<64x64xf32> * tensor<64x64xf32> -> tensor<64x64xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %d : tensor<64x64x!tt.ptr<f32>>
  %hs = tt.splat %h : !tt.ptr<bf16> -> tensor<64x64x!tt.ptr<bf16>>
  %b = tt.load %hs : tensor<64x64x!tt.ptr<bf16>>
  %e = tt.dot %b, %b, %b : tensor<64x64xbf16> * tensor<64x64xbf16> -> tensor<64x64xbf16>
  %gs = tt.splat %g : !tt.ptr<bf16> -> tensor<64x64x!tt.ptr<bf16>>
  tt.store %gs, %e : tensor<64x64x!tt.ptr<bf16>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// A transposed tile is multiplied by itself, and by its own transposition: unused transpositions are erased, each once.
// CHECK-LABEL: tt.func public @same_transposed
// CHECK-COUNT-4: ttg.mma_async {{.*}} -> tensor
// CHECK-NOT: tt.trans
tt.func public @same_transposed(%p: !tt.ptr<f16>, %q: !tt.ptr<f16>, %o: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %ps = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %a = tt.load %ps : tensor<64x64x!tt.ptr<f16>>
  %t = tt.trans %a {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
  %d = tt.dot %t, %t, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %qs = tt.splat %q : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %b = tt.load %qs : tensor<64x64x!tt.ptr<f16>>
  %u = tt.trans %b {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
  %v = tt.trans %u {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
  %e = tt.dot %v, %u, %d : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %w = tt.trans %b {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
  %f = tt.dot %w, %w, %e : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %y = tt.trans %a {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
  %z = tt.trans %y {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
  %g = tt.dot %y, %z, %f : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %g : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// Floats loaded as integers and bitcast: the buffer holds the integers, so that a copy can fill it.
// CHECK-LABEL: tt.func public @bits
// CHECK: %[[bits:.*]] = ttg.alloc : <1 x i8,
// CHECK: %[[floats:.*]] = ttg.view %[[bits]] {{.*}} -> <1 x f8E4M3FN,
// CHECK-NOT: tt.bitcast
// CHECK: ttg.mma_async %[[floats]],
tt.func public @bits(%p: !tt.ptr<i8> {tt.divisibility = 16 : i32}, %o: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %as = tt.splat %p : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>>
  %x = tt.load %as : tensor<64x64x!tt.ptr<i8>>
  %a = tt.bitcast %x : tensor<64x64xi8> -> tensor<64x64xf8E4M3FN>
  %t = tt.trans %a {order = array<i32: 1, 0>} : tensor<64x64xf8E4M3FN> -> tensor<64x64xf8E4M3FN>
  %d = tt.dot %a, %t, %zero : tensor<64x64xf8E4M3FN> * tensor<64x64xf8E4M3FN> -> tensor<64x64xf32>
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  tt.store %out, %d : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
