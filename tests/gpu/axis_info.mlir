// The width of an access shows the axis info of its addresses and its mask.
// RUN: tilewright opt %s --assign-layouts -split-input-file | FileCheck %s

// program * 64 + range, and a mask whose bound is a multiple of 16: 8 elements of 16 bits
// CHECK-LABEL: tt.func public @masked
tt.func public @masked(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %c = arith.constant 1024 : i32
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %c : i32
  %i = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
  %s = tt.splat %start : i32 -> tensor<1024xi32>
  %o = arith.addi %s, %i : tensor<1024xi32>
  %bound = tt.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %o, %bound : tensor<1024xi32>
  %p = tt.splat %x : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>>
  %q = tt.addptr %p, %o : tensor<1024x!tt.ptr<f16>>, tensor<1024xi32>
  // CHECK: tt.load {{.*}}ttg.vector = 8 : i32}
  %v = tt.load %q, %m : tensor<1024x!tt.ptr<f16>>
  // CHECK: tt.store {{.*}}ttg.vector = 8 : i32}
  tt.store %q, %v, %m : tensor<1024x!tt.ptr<f16>>
  tt.return
}

// -----

// a pointer aligned to 8 bytes permits two elements; an unknown bound permits one
// CHECK-LABEL: tt.func public @unaligned
tt.func public @unaligned(%x: !tt.ptr<f32> {tt.divisibility = 8 : i32}, %n: i32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  // CHECK: tt.load {{.*}}ttg.vector = 2 : i32}
  %v = tt.load %q : tensor<1024x!tt.ptr<f32>>
  // CHECK: tt.store {{.*}}ttg.vector = 2 : i32}
  tt.store %q, %v : tensor<1024x!tt.ptr<f32>>
  %bound = tt.splat %n : i32 -> tensor<1024xi32>
  %m = arith.cmpi slt, %i, %bound : tensor<1024xi32>
  // CHECK: tt.load
  // CHECK-NOT: ttg.vector
  // CHECK: tt.return
  %w = tt.load %q, %m : tensor<1024x!tt.ptr<f32>>
  tt.store %q, %w, %m : tensor<1024x!tt.ptr<f32>>
  tt.return
}

// -----

// rows wrap around at a multiple of 16, columns are contiguous; the row stride and the loop's step are multiples of 16
// CHECK-LABEL: tt.func public @walk
tt.func public @walk(%x: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %m: i32 {tt.divisibility = 16 : i32},
                     %stride: i32 {tt.divisibility = 16 : i32}, %iterations: i32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %zero = arith.constant 0 : i64
  %step = arith.constant 64 : i64
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %bound = tt.splat %m : i32 -> tensor<64xi32>
  %wrapped = arith.remsi %i, %bound : tensor<64xi32>
  %row = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %strides = tt.splat %stride : i32 -> tensor<64x1xi32>
  %down = arith.muli %row, %strides : tensor<64x1xi32>
  %column = tt.expand_dims %wrapped {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %downs = tt.broadcast %down : tensor<64x1xi32> -> tensor<64x64xi32>
  %columns = tt.broadcast %column : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %downs, %columns : tensor<64x64xi32>
  %to = tt.splat %y : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %out = tt.addptr %to, %o : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  %end = scf.for %k = %c0 to %iterations step %c1 iter_args(%d = %zero) -> i64 : i32 {
    %base = tt.addptr %x, %d : !tt.ptr<f16>, i64
    %p = tt.splat %base : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %q = tt.addptr %p, %o : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    // CHECK: tt.load {{.*}}ttg.vector = 8 : i32}
    %v = tt.load %q : tensor<64x64x!tt.ptr<f16>>
    // CHECK: tt.store {{.*}}ttg.vector = 8 : i32}
    tt.store %out, %v : tensor<64x64x!tt.ptr<f16>>
    %next = arith.addi %d, %step : i64
    scf.yield %next : i64
  }
  tt.return
}

// -----

// a range that starts below zero wraps around differently, and a column-major tile is accessed along its columns
// CHECK: [[$COLUMNS:#.*]] = #ttg.layout<64x64, reg {{\[\[}}1, 0], [2, 0]
// CHECK-LABEL: tt.func public @turned
tt.func public @turned(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %m: i32 {tt.divisibility = 16 : i32}, %stride: i32 {tt.divisibility = 16 : i32}) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %back = arith.constant dense<-16> : tensor<64xi32>
  %before = arith.addi %i, %back : tensor<64xi32>
  %bound = tt.splat %m : i32 -> tensor<64xi32>
  %wrapped = arith.remsi %before, %bound : tensor<64xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %q = tt.addptr %p, %wrapped : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  // CHECK: tt.load
  // CHECK-NOT: ttg.vector
  // CHECK: tt.store
  %v = tt.load %q : tensor<64x!tt.ptr<f32>>
  tt.store %q, %v : tensor<64x!tt.ptr<f32>>
  %row = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %column = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %strides = tt.splat %stride : i32 -> tensor<1x64xi32>
  %right = arith.muli %column, %strides : tensor<1x64xi32>
  %rows = tt.broadcast %row : tensor<64x1xi32> -> tensor<64x64xi32>
  %rights = tt.broadcast %right : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %rows, %rights : tensor<64x64xi32>
  %start = tt.splat %x : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %at = tt.addptr %start, %o : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  // CHECK: tt.load {{.*}}ttg.vector = 4 : i32} : tensor<64x64x!tt.ptr<f32>, [[$COLUMNS]]>
  %w = tt.load %at : tensor<64x64x!tt.ptr<f32>>
  tt.store %at, %w : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
