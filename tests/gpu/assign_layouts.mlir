// RUN: tilewright opt %s --assign-layouts -split-input-file | FileCheck %s

// lanes run along the elements; the address is computed in the layout of its use, and never converted
// CHECK: #layout = #ttg.layout<256, reg
// CHECK-LABEL: tt.func public @copy
tt.func public @copy(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  // CHECK: tt.load {{.*}} : tensor<256x!tt.ptr<f32>, #layout
  %v = tt.load %q : tensor<256x!tt.ptr<f32>>
  // CHECK-NOT: ttg.convert_layout
  tt.store %q, %v : tensor<256x!tt.ptr<f32>>
  tt.return
}

// -----

// the result of a reduction is stored in its own layout, which costs less than an exchange
// CHECK-LABEL: tt.func public @rows
tt.func public @rows(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %flat = tt.make_range {start = 0 : i32, end = 4096 : i32} : tensor<4096xi32>
  %o = tt.reshape %flat : tensor<4096xi32> -> tensor<64x64xi32>
  %xs = tt.splat %x : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %xo = tt.addptr %xs, %o : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  // CHECK: tt.load {{.*}}ttg.vector = 4 : i32}
  %t = tt.load %xo : tensor<64x64x!tt.ptr<f32>>
  %r = "tt.reduce"(%t) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tt.reduce.return %s : f32
  }) : (tensor<64x64xf32>) -> tensor<64xf32>
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %p = tt.splat %y : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  // CHECK-NOT: ttg.convert_layout
  // CHECK: tt.store
  tt.store %q, %r : tensor<64x!tt.ptr<f32>>
  tt.return
}

// -----

// Pairs are split and joined again: the joined tile has no preferred layout, and gets that of the store, which stays wide.
// CHECK-LABEL: tt.func public @pairs
// CHECK: tt.load {{.*}}ttg.vector = 4 : i32}
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.store {{.*}}ttg.vector = 4 : i32}
tt.func public @pairs(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32}) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 512 : i32} : tensor<512xi32>
  %px = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>>
  %ax = tt.addptr %px, %i : tensor<512x!tt.ptr<f32>>, tensor<512xi32>
  %t = tt.load %ax : tensor<512x!tt.ptr<f32>>
  %pairs = tt.reshape %t : tensor<512xf32> -> tensor<256x2xf32>
  %a, %b = tt.split %pairs : tensor<256x2xf32> -> tensor<256xf32>
  %sum = arith.addf %a, %b : tensor<256xf32>
  %difference = arith.subf %a, %b : tensor<256xf32>
  %joined = tt.join %sum, %difference : tensor<256xf32> -> tensor<256x2xf32>
  %row = tt.reshape %joined : tensor<256x2xf32> -> tensor<512xf32>
  %py = tt.splat %y : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>>
  %ay = tt.addptr %py, %i : tensor<512x!tt.ptr<f32>>, tensor<512xi32>
  tt.store %ay, %row : tensor<512x!tt.ptr<f32>>
  tt.return
}

// -----

// read along rows and written along columns: one conversion makes both accesses wide
// CHECK-LABEL: tt.func public @transpose
// CHECK: tt.load {{.*}}ttg.vector = 4 : i32}
// CHECK-COUNT-1: ttg.convert_layout
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.store {{.*}}ttg.vector = 4 : i32}
tt.func public @transpose(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %y: !tt.ptr<f32> {tt.divisibility = 16 : i32},
                          %stride: i32 {tt.divisibility = 16 : i32}) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %down = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %right = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %strides = tt.splat %stride : i32 -> tensor<64x1xi32>
  %rows = arith.muli %down, %strides : tensor<64x1xi32>
  %rowsAll = tt.broadcast %rows : tensor<64x1xi32> -> tensor<64x64xi32>
  %rightAll = tt.broadcast %right : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %rowsAll, %rightAll : tensor<64x64xi32>
  %turned = tt.trans %o {order = array<i32: 1, 0>} : tensor<64x64xi32> -> tensor<64x64xi32>
  %px = tt.splat %x : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %qx = tt.addptr %px, %o : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  %py = tt.splat %y : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %qy = tt.addptr %py, %turned : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  %v = tt.load %qx : tensor<64x64x!tt.ptr<f32>>
  tt.store %qy, %v : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// -----

// Attention: the row maxima have the scores' layout without columns, which matches the output's rows; the weights are operand A in their layout. No
// conversion is in the loop, and only the output is converted after it.
// CHECK-LABEL: tt.func public @attention
// CHECK: scf.for
// CHECK-NOT: ttg.convert_layout %{{.*}}f32
// CHECK: scf.yield
// CHECK-COUNT-1: ttg.convert_layout
// CHECK-NOT: ttg.convert_layout
// CHECK: tt.store {{.*}}ttg.vector = 8 : i32}
tt.func public @attention(%qp: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %kp: !tt.ptr<f16> {tt.divisibility = 16 : i32},
                          %vp: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %n: i32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %none = arith.constant dense<0xFF800000> : tensor<64xf32>
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %down = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %right = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %stride = arith.constant dense<64> : tensor<64x1xi32>
  %rows = arith.muli %down, %stride : tensor<64x1xi32>
  %rowsAll = tt.broadcast %rows : tensor<64x1xi32> -> tensor<64x64xi32>
  %rightAll = tt.broadcast %right : tensor<1x64xi32> -> tensor<64x64xi32>
  %o = arith.addi %rowsAll, %rightAll : tensor<64x64xi32>
  %qs = tt.splat %qp : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %qo = tt.addptr %qs, %o : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
  %q = tt.load %qo : tensor<64x64x!tt.ptr<f16>>
  %r:2 = scf.for %j = %c0 to %n step %c64 iter_args(%acc = %zero, %max = %none) -> (tensor<64x64xf32>, tensor<64xf32>) : i32 {
    %distance = arith.muli %j, %c64 : i32
    %kj = tt.addptr %kp, %distance : !tt.ptr<f16>, i32
    %ks = tt.splat %kj : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %ko = tt.addptr %ks, %o : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %k = tt.load %ko : tensor<64x64x!tt.ptr<f16>>
    %kt = tt.trans %k {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %q, %kt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %m = "tt.reduce"(%s) <{axis = 1 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %larger = arith.maxnumf %a, %b : f32
      tt.reduce.return %larger : f32
    }) : (tensor<64x64xf32>) -> tensor<64xf32>
    %newMax = arith.maxnumf %max, %m : tensor<64xf32>
    %change = arith.subf %max, %newMax : tensor<64xf32>
    %alpha = math.exp2 %change : tensor<64xf32>
    %m1 = tt.expand_dims %newMax {axis = 1 : i32} : tensor<64xf32> -> tensor<64x1xf32>
    %mAll = tt.broadcast %m1 : tensor<64x1xf32> -> tensor<64x64xf32>
    %d = arith.subf %s, %mAll : tensor<64x64xf32>
    %p = math.exp2 %d : tensor<64x64xf32>
    %p16 = arith.truncf %p : tensor<64x64xf32> to tensor<64x64xf16>
    %vj = tt.addptr %vp, %distance : !tt.ptr<f16>, i32
    %vs = tt.splat %vj : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
    %vo = tt.addptr %vs, %o : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    %v = tt.load %vo : tensor<64x64x!tt.ptr<f16>>
    %alpha1 = tt.expand_dims %alpha {axis = 1 : i32} : tensor<64xf32> -> tensor<64x1xf32>
    %alphaAll = tt.broadcast %alpha1 : tensor<64x1xf32> -> tensor<64x64xf32>
    %scaled = arith.mulf %acc, %alphaAll : tensor<64x64xf32>
    %next = tt.dot %p16, %v, %scaled : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %next, %newMax : tensor<64x64xf32>, tensor<64xf32>
  }
  %result = arith.truncf %r#0 : tensor<64x64xf32> to tensor<64x64xf16>
  tt.store %qo, %result : tensor<64x64x!tt.ptr<f16>>
  tt.return
}
