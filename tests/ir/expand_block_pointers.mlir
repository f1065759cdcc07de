// RUN: tilewright-opt %s --expand-block-pointers -split-input-file -verify-diagnostics | FileCheck %s

// == one dimension: origin, range and mask, all in i64
// CHECK-LABEL: @line(%arg0: !tt.ptr<f16>, %arg1: i64, %arg2: i64, %arg3: i32)
// CHECK: %[[OFF:.*]] = arith.extsi %arg3 : i32 to i64
// CHECK: %[[MOVE:.*]] = arith.muli %[[OFF]], %arg2 : i64
// CHECK: %[[ORIGIN:.*]] = tt.addptr %arg0, %[[MOVE]] : !tt.ptr<f16>, i64
// CHECK: tt.splat %[[ORIGIN]] : !tt.ptr<f16> -> tensor<8x!tt.ptr<f16>>
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: %[[MASK:.*]] = arith.andi {{.*}} : tensor<8xi1>
// CHECK: tt.load %{{.*}}, %[[MASK]], %{{.*}} : tensor<8x!tt.ptr<f16>>
tt.func @line(%base: !tt.ptr<f16>, %n: i64, %stride: i64, %off: i32) -> tensor<8xf16> {
  %p = tt.make_tensor_ptr %base, [%n], [%stride], [%off] {order = array<i32: 0>} : <tensor<8xf16>>
  %v = tt.load %p {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<8xf16>>
  tt.return %v : tensor<8xf16>
}

// -----

// == an unchecked dimension has no mask; an offset that cannot be negative has one bound
// CHECK-LABEL: @bounds
// CHECK-NOT: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: tt.store %{{.*}}, %{{.*}}, %{{.*}} : tensor<4x8x!tt.ptr<f16>>
// CHECK: tt.store %{{[0-9]+}}, %{{[^,]+}} : tensor<4x8x!tt.ptr<f16>>
tt.func @bounds(%base: !tt.ptr<f16>, %n: i64, %v: tensor<4x8xf16>) {
  %one = arith.constant 1 : i64
  %off = tt.get_program_id x : i32
  %p = tt.make_tensor_ptr %base, [%n, %n], [%n, %one], [%off, %off] {order = array<i32: 1, 0>} : <tensor<4x8xf16>>
  tt.store %p, %v {boundaryCheck = array<i32: 1>} : !tt.ptr<tensor<4x8xf16>>
  tt.store %p, %v : !tt.ptr<tensor<4x8xf16>>
  tt.return
}

// -----

// == through a loop, a branch and a select
// CHECK-LABEL: @carried
// CHECK-NOT: tensor<8xf16>>
// CHECK: scf.for {{.*}} -> (!tt.ptr<f16>, i64, i64, i32)
// CHECK: arith.addi %{{.*}}, %{{.*}} : i32
// CHECK: scf.if {{.*}} -> (!tt.ptr<f16>, i64, i64, i32)
// CHECK: arith.select {{.*}} : !tt.ptr<f16>
tt.func @carried(%base: !tt.ptr<f16>, %n: i64, %c8: i32, %flag: i1, %v: tensor<8xf16>) {
  %p = tt.make_tensor_ptr %base, [%n], [%n], [%c8] {order = array<i32: 0>} : <tensor<8xf16>>
  %r = scf.for %i = %c8 to %c8 step %c8 iter_args(%q = %p) -> (!tt.ptr<tensor<8xf16>>) : i32 {
    tt.store %q, %v : !tt.ptr<tensor<8xf16>>
    %next = tt.advance %q, [%c8] : <tensor<8xf16>>
    scf.yield %next : !tt.ptr<tensor<8xf16>>
  }
  %s = scf.if %flag -> (!tt.ptr<tensor<8xf16>>) {
    scf.yield %p : !tt.ptr<tensor<8xf16>>
  } else {
    scf.yield %r : !tt.ptr<tensor<8xf16>>
  }
  %t = arith.select %flag, %s, %r : !tt.ptr<tensor<8xf16>>
  tt.store %t, %v : !tt.ptr<tensor<8xf16>>
  tt.return
}

// -----

// == a descriptor argument becomes its base, followed by sizes and strides; NaN padding is kept
// CHECK-LABEL: @descriptors(%arg0: !tt.ptr<f16>, %arg1: i32, %arg2: i32, %arg3: i64, %arg4: i64, %arg5: i32)
// CHECK: tt.load %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x16x!tt.ptr<f16>>
// CHECK: tt.reshape %{{.*}} : tensor<1x16xf16> -> tensor<16xf16>
// CHECK: dense<0x7E00> : tensor<1x16xf16>
// CHECK: tt.atomic_rmw fadd, relaxed, gpu
tt.func public @descriptors(%d: !tt.tensordesc<tensor<1x16xf16>>, %m: i32, %n: i32, %s0: i64, %s1: i64, %i: i32) {
  %v = tt.descriptor_load %d[%i, %i] : !tt.tensordesc<tensor<1x16xf16>> -> tensor<16xf16>
  tt.descriptor_store %d[%i, %i], %v : !tt.tensordesc<tensor<1x16xf16>>, tensor<16xf16>
  %null = arith.constant 0 : i64
  %base = tt.int_to_ptr %null : i64 -> !tt.ptr<f16>
  %e = tt.make_tensor_descriptor %base, [%m, %n], [%s0, %s1] {padding = 2 : i32} : <f16>, <tensor<1x16xf16>>
  %w = tt.descriptor_load %e[%i, %i] : !tt.tensordesc<tensor<1x16xf16>> -> tensor<1x16xf16>
  tt.descriptor_reduce add, %e[%i, %i], %w : !tt.tensordesc<tensor<1x16xf16>>, tensor<1x16xf16>
  tt.return
}

// -----

// == a block pointer that is undefined on some path: its parts are undefined there
// CHECK-LABEL: @undefined(
// CHECK: scf.if %{{.*}} -> (!tt.ptr<f32>, i64, i64, i32)
// CHECK: } else {
// CHECK: %[[BASE:.*]] = ub.poison : !tt.ptr<f32>
// CHECK: scf.yield %[[BASE]],
tt.func public @undefined(%base: !tt.ptr<f32>, %n: i64, %c: i1) {
  %one = arith.constant 1 : i64
  %i = arith.constant 0 : i32
  %p = scf.if %c -> (!tt.ptr<tensor<16xf32>>) {
    %made = tt.make_tensor_ptr %base, [%n], [%one], [%i] {order = array<i32: 0>} : <tensor<16xf32>>
    scf.yield %made : !tt.ptr<tensor<16xf32>>
  } else {
    %none = ub.poison : !tt.ptr<tensor<16xf32>>
    scf.yield %none : !tt.ptr<tensor<16xf32>>
  }
  scf.if %c {
    %x = tt.load %p : !tt.ptr<tensor<16xf32>>
    tt.store %p, %x : !tt.ptr<tensor<16xf32>>
  }
  tt.return
}

// -----

// expected-error @+1 {{argument 0 is a descriptor, but the arguments after it are not its 1 sizes (i32) and 1 strides (i64)}}
tt.func public @alone(%d: !tt.tensordesc<tensor<16xf16>>, %i: i32) {
  tt.return
}

// -----

tt.func public @float_minimum(%base: !tt.ptr<f32>, %n: i32, %s: i64, %v: tensor<16xf32>) {
  %d = tt.make_tensor_descriptor %base, [%n], [%s] : <f32>, <tensor<16xf32>>
  // expected-error @+2 {{'min' does not support elements of f32 in a tensor descriptor}}
  // expected-error @+1 {{failed to legalize operation 'tt.descriptor_reduce'}}
  tt.descriptor_reduce min, %d[%n], %v : !tt.tensordesc<tensor<16xf32>>, tensor<16xf32>
  tt.return
}
