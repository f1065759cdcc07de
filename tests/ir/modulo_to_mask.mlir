// RUN: tilewright-opt %s --modulo-to-mask --simplify -split-input-file | FileCheck %s

// == the rows of a dot's operand are those of the stored tile, and the store masks rows from %m on
// CHECK-LABEL: tt.func public @rows
// CHECK: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<32x16xf16>
// CHECK-NOT: arith.remsi
// CHECK: %[[MASK:.*]] = arith.cmpi slt, %[[ROWS:.*]], %{{.*}} : tensor<32xi32>
// CHECK: %[[COLUMN:.*]] = tt.expand_dims %[[MASK]] {axis = 1 : i32} : tensor<32xi1> -> tensor<32x1xi1>
// CHECK: %[[TILE:.*]] = tt.broadcast %[[COLUMN]] : tensor<32x1xi1> -> tensor<32x16xi1>
// CHECK: tt.expand_dims %[[ROWS]] {axis = 1 : i32} : tensor<32xi32>
// CHECK: %[[A:.*]] = tt.load %{{.*}}, %[[TILE]], %[[ZERO]]
// CHECK: tt.dot %[[A]]
tt.func public @rows(%a: !tt.ptr<f16>, %b: tensor<16x16xf16>, %c: tensor<32x16x!tt.ptr<f32>>, %m: i32) {
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %k = arith.constant dense<16> : tensor<32x1xi32>
  %index = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %divisor = tt.splat %m : i32 -> tensor<32xi32>
  %row = arith.remsi %index, %divisor : tensor<32xi32>
  %row2 = tt.expand_dims %row {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %offset = arith.muli %row2, %k : tensor<32x1xi32>
  %base = tt.splat %a : !tt.ptr<f16> -> tensor<32x1x!tt.ptr<f16>>
  %starts = tt.addptr %base, %offset : tensor<32x1x!tt.ptr<f16>>, tensor<32x1xi32>
  %p = tt.broadcast %starts : tensor<32x1x!tt.ptr<f16>> -> tensor<32x16x!tt.ptr<f16>>
  %x = tt.load %p : tensor<32x16x!tt.ptr<f16>>
  %d = tt.dot %x, %b, %zero : tensor<32x16xf16> * tensor<16x16xf16> -> tensor<32x16xf32>
  %inside = arith.cmpi slt, %index, %divisor : tensor<32xi32>
  %inside2 = tt.expand_dims %inside {axis = 1 : i32} : tensor<32xi1> -> tensor<32x1xi1>
  %mask = tt.broadcast %inside2 : tensor<32x1xi1> -> tensor<32x16xi1>
  tt.store %c, %d, %mask : tensor<32x16x!tt.ptr<f32>>
  tt.return
}

// -----

// == a load's own mask stays, and so does its value for other elements; an unsigned modulo needs a divisor that is not negative
// CHECK-LABEL: tt.func public @masked
// CHECK-SAME: launch_guards
// CHECK-SAME: m >= 0
// CHECK-NOT: arith.remui
// CHECK: %[[BOTH:.*]] = arith.andi %{{.*}}, %{{.*}} : tensor<32x16xi1>
// CHECK: tt.load %{{.*}}, %[[BOTH]], %{{.*}} : tensor<32x16x!tt.ptr<f16>>
tt.func public @masked(%a: !tt.ptr<f16>, %b: tensor<16x16xf16>, %c: tensor<32x16x!tt.ptr<f32>>, %m: i32 loc("m"),
                           %own: tensor<32x16xi1>) {
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %one = arith.constant dense<1.0> : tensor<32x16xf16>
  %index = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %divisor = tt.splat %m : i32 -> tensor<32xi32>
  %row = arith.remui %index, %divisor : tensor<32xi32>
  %row2 = tt.expand_dims %row {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %base = tt.splat %a : !tt.ptr<f16> -> tensor<32x1x!tt.ptr<f16>>
  %starts = tt.addptr %base, %row2 : tensor<32x1x!tt.ptr<f16>>, tensor<32x1xi32>
  %p = tt.broadcast %starts : tensor<32x1x!tt.ptr<f16>> -> tensor<32x16x!tt.ptr<f16>>
  %x = tt.load %p, %own, %one : tensor<32x16x!tt.ptr<f16>>
  %d = tt.dot %x, %b, %zero : tensor<32x16xf16> * tensor<16x16xf16> -> tensor<32x16xf32>
  %inside = arith.cmpi slt, %index, %divisor : tensor<32xi32>
  %inside2 = tt.expand_dims %inside {axis = 1 : i32} : tensor<32xi1> -> tensor<32x1xi1>
  %mask = tt.broadcast %inside2 : tensor<32x1xi1> -> tensor<32x16xi1>
  tt.store %c, %d, %mask : tensor<32x16x!tt.ptr<f32>>
  tt.return
}

// -----

// == unchanged: the store masks other rows
// CHECK-LABEL: tt.func public @other_mask
// CHECK: arith.remsi
// CHECK: tt.load %{{[0-9]+}} : tensor<32x16x!tt.ptr<f16>>
tt.func public @other_mask(%a: !tt.ptr<f16>, %b: tensor<16x16xf16>, %c: tensor<32x16x!tt.ptr<f32>>, %m: i32, %n: i32) {
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %index = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %divisor = tt.splat %m : i32 -> tensor<32xi32>
  %rows = tt.splat %n : i32 -> tensor<32xi32>
  %row = arith.remsi %index, %divisor : tensor<32xi32>
  %row2 = tt.expand_dims %row {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %base = tt.splat %a : !tt.ptr<f16> -> tensor<32x1x!tt.ptr<f16>>
  %starts = tt.addptr %base, %row2 : tensor<32x1x!tt.ptr<f16>>, tensor<32x1xi32>
  %p = tt.broadcast %starts : tensor<32x1x!tt.ptr<f16>> -> tensor<32x16x!tt.ptr<f16>>
  %x = tt.load %p : tensor<32x16x!tt.ptr<f16>>
  %d = tt.dot %x, %b, %zero : tensor<32x16xf16> * tensor<16x16xf16> -> tensor<32x16xf32>
  %inside = arith.cmpi slt, %index, %rows : tensor<32xi32>
  %inside2 = tt.expand_dims %inside {axis = 1 : i32} : tensor<32xi1> -> tensor<32x1xi1>
  %mask = tt.broadcast %inside2 : tensor<32x1xi1> -> tensor<32x16xi1>
  tt.store %c, %d, %mask : tensor<32x16x!tt.ptr<f32>>
  tt.return
}

// -----

// == unchanged: a sum along the rows reaches the store
// CHECK-LABEL: tt.func public @summed
// CHECK: arith.remsi
// CHECK: tt.load %{{[0-9]+}} : tensor<32x16x!tt.ptr<f16>>
tt.func public @summed(%a: !tt.ptr<f16>, %b: tensor<16x16xf16>, %c: tensor<16x!tt.ptr<f32>>, %m: i32) {
  %zero = arith.constant dense<0.0> : tensor<32x16xf32>
  %index = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %divisor = tt.splat %m : i32 -> tensor<32xi32>
  %row = arith.remsi %index, %divisor : tensor<32xi32>
  %row2 = tt.expand_dims %row {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %base = tt.splat %a : !tt.ptr<f16> -> tensor<32x1x!tt.ptr<f16>>
  %starts = tt.addptr %base, %row2 : tensor<32x1x!tt.ptr<f16>>, tensor<32x1xi32>
  %p = tt.broadcast %starts : tensor<32x1x!tt.ptr<f16>> -> tensor<32x16x!tt.ptr<f16>>
  %x = tt.load %p : tensor<32x16x!tt.ptr<f16>>
  %d = tt.dot %x, %b, %zero : tensor<32x16xf16> * tensor<16x16xf16> -> tensor<32x16xf32>
  %s = "tt.reduce"(%d) <{axis = 0 : i32}> ({
  ^bb0(%left: f32, %right: f32):
    %sum = arith.addf %left, %right : f32
    tt.reduce.return %sum : f32
  }) : (tensor<32x16xf32>) -> tensor<16xf32>
  tt.store %c, %s : tensor<16x!tt.ptr<f32>>
  tt.return
}

// -----

// == an integer must not be divided by the zeros of masked rows
// CHECK-LABEL: tt.func public @divisor
// CHECK: arith.remsi
tt.func public @divisor(%a: !tt.ptr<i8>, %b: tensor<16x16xi8>, %c: tensor<32x16x!tt.ptr<i32>>, %m: i32) {
  %zero = arith.constant dense<0> : tensor<32x16xi32>
  %hundred = arith.constant dense<100> : tensor<32x16xi8>
  %k = arith.constant dense<16> : tensor<32x1xi32>
  %index = tt.make_range {end = 32 : i32, start = 0 : i32} : tensor<32xi32>
  %divisor = tt.splat %m : i32 -> tensor<32xi32>
  %row = arith.remsi %index, %divisor : tensor<32xi32>
  %row2 = tt.expand_dims %row {axis = 1 : i32} : tensor<32xi32> -> tensor<32x1xi32>
  %offset = arith.muli %row2, %k : tensor<32x1xi32>
  %base = tt.splat %a : !tt.ptr<i8> -> tensor<32x1x!tt.ptr<i8>>
  %starts = tt.addptr %base, %offset : tensor<32x1x!tt.ptr<i8>>, tensor<32x1xi32>
  %p = tt.broadcast %starts : tensor<32x1x!tt.ptr<i8>> -> tensor<32x16x!tt.ptr<i8>>
  %x = tt.load %p : tensor<32x16x!tt.ptr<i8>>
  %y = arith.divsi %hundred, %x : tensor<32x16xi8>
  %d = tt.dot %y, %b, %zero : tensor<32x16xi8> * tensor<16x16xi8> -> tensor<32x16xi32>
  %inside = arith.cmpi slt, %index, %divisor : tensor<32xi32>
  %inside2 = tt.expand_dims %inside {axis = 1 : i32} : tensor<32xi1> -> tensor<32x1xi1>
  %mask = tt.broadcast %inside2 : tensor<32x1xi1> -> tensor<32x16xi1>
  tt.store %c, %d, %mask : tensor<32x16x!tt.ptr<i32>>
  tt.return
}
