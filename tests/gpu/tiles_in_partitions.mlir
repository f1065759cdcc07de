// RUN: not tilewright compile %s --kernel two --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not tilewright compile %s --kernel two --target cuda:sm_90a --num-warps 8 --emit ptx 2>&1 | FileCheck %s --check-prefix=EIGHT
// RUN: not tilewright compile %s --kernel two --target cuda:sm_90a --num-warps 2 --emit ptx 2>&1 | FileCheck %s --check-prefix=GROUPS
// RUN: not tilewright compile %s --kernel reduced --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=REDUCED
// RUN: not tilewright compile %s --kernel stored --target cuda:sm_90a --emit ptx 2>&1 | FileCheck %s --check-prefix=STORED
// RUN: tilewright compile %s --kernel summed --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=SUMMED
// RUN: tilewright compile %s --kernel four --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=PTX
// Layouts are for the warps of the kernel: a partition of another number has no tiles, but may have scalars. The kernel itself has whole
// warp groups.

// TWO: tiles_in_partitions.mlir:[[#@LINE+12]]:{{.*}}a tile in a partition of 2 warps, of a kernel of 4 warps
// TWO: help: give the partition num_warps(4)
// TWO-NOT: bug of Tilewright
// EIGHT: a tile in a partition of 2 warps, of a kernel of 8 warps
// GROUPS: error: {{.*}}needs whole warp groups: num_warps must be a multiple of 4
// GROUPS-NOT: bug of Tilewright
tt.func public @two(%n: i32, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(2) {
    %range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
    %rows = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %pointers = tt.addptr %rows, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %tile = tt.load %pointers : tensor<1024x!tt.ptr<f32>>
    %double = arith.addf %tile, %tile : tensor<1024xf32>
    tt.store %pointers, %double : tensor<1024x!tt.ptr<f32>>
    ttg.warp_return
  } : () -> ()
  tt.return
}

// A tile from outside, whose result is a scalar.
// REDUCED: tiles_in_partitions.mlir:[[#@LINE+9]]:{{.*}}a tile in a partition of 2 warps, of a kernel of 4 warps
// REDUCED-NOT: bug of Tilewright
tt.func public @reduced(%p: !tt.ptr<i32>) {
  %range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
  ttg.warp_specialize(%range, %p)
  default {
    ttg.warp_yield
  }
  partition0(%tile: tensor<1024xi32>, %out: !tt.ptr<i32>) num_warps(2) {
    %sum = "tt.reduce"(%tile) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %b: i32):
      %s = arith.addi %a, %b : i32
      tt.reduce.return %s : i32
    }) : (tensor<1024xi32>) -> i32
    tt.store %out, %sum : !tt.ptr<i32>
    ttg.warp_return
  } : (tensor<1024xi32>, !tt.ptr<i32>) -> ()
  tt.return
}

// STORED: tiles_in_partitions.mlir:[[#@LINE+10]]:{{.*}}a tile in a partition of 2 warps, of a kernel of 4 warps
// STORED-NOT: bug of Tilewright
tt.func public @stored(%p: !tt.ptr<i32>) {
  %range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
  %rows = tt.splat %p : !tt.ptr<i32> -> tensor<1024x!tt.ptr<i32>>
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(2) {
    tt.store %rows, %range : tensor<1024x!tt.ptr<i32>>
    ttg.warp_return
  } : () -> ()
  tt.return
}

// PTX: .reqntid 384
// PTX-DAG: st.global.v4.b32
// PTX-DAG: st.global.b32
tt.func public @four(%n: i32, %p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %q: !tt.ptr<i32>) {
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    %range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
    %rows = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %pointers = tt.addptr %rows, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %tile = tt.load %pointers : tensor<1024x!tt.ptr<f32>>
    %double = arith.addf %tile, %tile : tensor<1024xf32>
    tt.store %pointers, %double : tensor<1024x!tt.ptr<f32>>
    ttg.warp_return
  }
  partition1() num_warps(1) {
    tt.store %q, %n : !tt.ptr<i32>
    ttg.warp_return
  } : () -> ()
  tt.return
}

// Warps of a partition exchange partial values between barriers of their own.
// SUMMED: .reqntid 256
// SUMMED: bar.sync [[BARRIER:[0-9]+]], 128
// SUMMED: st.shared
// SUMMED: bar.sync [[BARRIER]], 128
// SUMMED: ld.shared
tt.func public @summed(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %q: !tt.ptr<f32>) {
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    %range = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32>
    %rows = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %pointers = tt.addptr %rows, %range : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %tile = tt.load %pointers : tensor<1024x!tt.ptr<f32>>
    %sum = "tt.reduce"(%tile) <{axis = 0 : i32}> ({
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      tt.reduce.return %s : f32
    }) : (tensor<1024xf32>) -> f32
    tt.store %q, %sum : !tt.ptr<f32>
    ttg.warp_return
  } : () -> ()
  tt.return
}
