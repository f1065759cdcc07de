// RUN: tilewright opt %s --assign-layouts --allocate-shared --prepare-lowering --order-accesses --lower-to-threads -split-input-file | FileCheck %s

// 256 elements on 128 threads: two scalars each; addresses are integers
// CHECK-LABEL: tt.func @scale(%arg0: i64, %arg1: f32)
// CHECK-SAME: ptx.kernel = #ptx.kernel<threads = 128, sharedBytes = 0>
tt.func public @scale(%x: !tt.ptr<f32>, %by: f32) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
  // CHECK-COUNT-2: ptx.load_global
  %v = tt.load %q : tensor<256x!tt.ptr<f32>>
  %b = tt.splat %by : f32 -> tensor<256xf32>
  // CHECK-COUNT-2: arith.mulf {{.*}} : f32
  %r = arith.mulf %v, %b : tensor<256xf32>
  // CHECK-COUNT-2: ptx.store_global
  tt.store %q, %r : tensor<256x!tt.ptr<f32>>
  tt.return
}

// -----

// a sum over 32 warps: each lane reads the part of one warp, and five more butterfly shuffles combine the parts
// CHECK-LABEL: tt.func @manyWarps
tt.func public @manyWarps(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) attributes {"ttg.config" = #ttg.config<warps = 32, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
  %v = tt.load %q : tensor<1024x!tt.ptr<f32>>
  // CHECK-COUNT-5: ptx.shuffle bfly
  // CHECK: ptx.store_shared
  // CHECK: ptx.load_shared
  // CHECK-NOT: ptx.load_shared
  // CHECK-COUNT-5: ptx.shuffle bfly
  // CHECK-NOT: ptx.shuffle
  %r = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tt.reduce.return %s : f32
  }) : (tensor<1024xf32>) -> f32
  // CHECK: ptx.store_global
  tt.store %y, %r : !tt.ptr<f32>
  tt.return
}

// -----

// a sum over one warp combines registers, then lanes by five butterfly shuffles, without shared memory
// CHECK-LABEL: tt.func @sum
tt.func public @sum(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>) attributes {"ttg.config" = #ttg.config<warps = 1, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %v = tt.load %q : tensor<64x!tt.ptr<f32>>
  // CHECK-COUNT-5: ptx.shuffle bfly
  // CHECK-NOT: ptx.barrier
  %r = "tt.reduce"(%v) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    tt.reduce.return %s : f32
  }) : (tensor<64xf32>) -> f32
  // CHECK: ptx.store_global {{.*}} if
  tt.store %y, %r : !tt.ptr<f32>
  tt.return
}

// -----

// four registers that are adjacent in memory become one access with one predicate
// CHECK-LABEL: tt.func @wide
tt.func public @wide(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32 {tt.divisibility = 16 : i32}) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 512 : i32} : tensor<512xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<512x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<512x!tt.ptr<f32>>, tensor<512xi32>
  %bound = tt.splat %n : i32 -> tensor<512xi32>
  %m = arith.cmpi slt, %i, %bound : tensor<512xi32>
  %zero = arith.constant dense<0.0> : tensor<512xf32>
  // CHECK: ptx.load_global %{{.*}} if %{{.*}} else {{.*}} : f32, f32, f32, f32 -> f32, f32, f32, f32
  // CHECK-NOT: ptx.load_global
  %v = tt.load %q, %m, %zero : tensor<512x!tt.ptr<f32>>
  // CHECK: ptx.store_global {{.*}} : f32, f32, f32, f32
  // CHECK-NOT: ptx.store_global
  tt.store %q, %v, %m : tensor<512x!tt.ptr<f32>>
  // CHECK: tt.return
  tt.return
}

// -----

// elements that other threads read are overwritten only after all reads; a thread's own elements need no barrier
// CHECK-LABEL: tt.func @reverse
tt.func public @reverse(%x: !tt.ptr<f32>) attributes {"ttg.config" = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32>
  %last = arith.constant dense<127> : tensor<128xi32>
  %back = arith.subi %last, %i : tensor<128xi32>
  %p = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %q = tt.addptr %p, %i : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %r = tt.addptr %p, %back : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  // CHECK: ptx.load_global
  // CHECK-NOT: ptx.barrier
  // CHECK: ptx.store_global {{.*}} {tile = 0 : i32}
  // CHECK-NEXT: ptx.barrier
  // CHECK: ptx.store_global {{.*}} {tile = 1 : i32}
  %v = tt.load %q : tensor<128x!tt.ptr<f32>>
  tt.store %q, %v : tensor<128x!tt.ptr<f32>>
  tt.store %r, %v : tensor<128x!tt.ptr<f32>>
  tt.return
}
