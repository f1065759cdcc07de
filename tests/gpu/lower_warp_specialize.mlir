// RUN: tilewright opt %s --prepare-lowering --order-accesses --lower-to-threads -split-input-file -verify-diagnostics | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [64, 64], element = f16, swizzle = 128>
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]], 16>

// One warp copies a tile, the kernel's four warps read it. The producer's warp group keeps 24 registers, and its other three warps end at once. The
// consumers get their registers before they wait for the tile.
// CHECK-LABEL: tt.func @exchange
// CHECK-SAME: threads = 256
// CHECK: %[[lane:.*]] = ptx.lane_id
// CHECK: %[[warp:.*]] = ptx.warp_id
// CHECK: %[[helps:.*]] = arith.cmpi uge, %[[warp]]
// CHECK: scf.if %[[helps]] {
// CHECK: ptx.max_registers false 24
// CHECK: %[[runs:.*]] = arith.cmpi eq, %[[warp]]
// CHECK: scf.if %[[runs]] {
// CHECK: %[[first:.*]] = arith.cmpi eq, %[[lane]]
// CHECK: ptx.mbarrier_expect {{.*}}8192{{.*}}%[[first]]
// CHECK: ptx.tma_load %arg2
// CHECK: } else {
// CHECK: ptx.max_registers true 232
// CHECK: ptx.mbarrier_wait
// CHECK: ptx.load_shared
// CHECK-NOT: ptx.tma_load
tt.func public @exchange(%p: !tt.ptr<f16>, %y: i32, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config, ttg.shared_bytes = 8200 : i64} {
  %c0 = arith.constant 0 : i32
  %tile = ttg.alloc {ttg.offset = 0 : i64} : !ttg.buffer<1 x f16, #shared>
  %full = ttg.alloc_barriers {ttg.offset = 8192 : i64} : !ttg.barriers<1>
  ttg.warp_specialize(%tile, %full, %c0, %x) attributes {requestedRegisters = array<i32: 24>}
  default {
    ttg.barrier_wait %full[%c0], %c0 : !ttg.barriers<1>
    %v = ttg.load_shared %tile : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
    %out = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>, #tile>
    tt.store %out, %v : tensor<64x64x!tt.ptr<f16>, #tile>
    ttg.warp_yield
  }
  partition0(%buffer: !ttg.buffer<1 x f16, #shared>, %barriers: !ttg.barriers<1>, %zero: i32, %map: !ptx.tensor_map) num_warps(1) {
    ttg.barrier_expect %barriers[%zero], 8192 : !ttg.barriers<1>
    ttg.tma_load %map[%zero, %zero] to %buffer, %barriers[%zero] : !ttg.buffer<1 x f16, #shared>, !ttg.barriers<1>
    ttg.warp_return
  } : (!ttg.buffer<1 x f16, #shared>, !ttg.barriers<1>, i32, !ptx.tensor_map) -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// A partition has threads from number 0 on, and a barrier of its own. Without a request it keeps its registers.
// CHECK-LABEL: tt.func @numbers
// CHECK-NOT: ptx.max_registers
// CHECK: ptx.barrier {id = 7 : i32, threads = 64 : i32}
// CHECK: ptx.barrier {id = 6 : i32, threads = 128 : i32}
// CHECK: ptx.barrier {id = 1 : i32, threads = 128 : i32}
// CHECK: ptx.barrier {threads = 320 : i32}
tt.func public @numbers() attributes {ttg.config = #config} {
  ttg.warp_specialize()
  default {
    ttg.cta_barrier
    ttg.cta_barrier {allWarps}
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.cta_barrier
    ttg.cta_barrier {allWarps}
    ttg.warp_return
  }
  partition1() num_warps(2) {
    ttg.cta_barrier
    ttg.cta_barrier {allWarps}
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#four = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

// The warps of a partition hold all elements of its tiles.
tt.func public @layout_of_partition() attributes {ttg.config = #config} {
  ttg.warp_specialize()
  default {
    %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #four>
    ttg.warp_yield
  }
  partition0() num_warps(2) {
    // expected-error @+1 {{the layout does not cover all elements of its tile with the 2 warps that run this operation}}
    %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #four>
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#four = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#two = #ttg.layout<128, reg [[64]], lane [[1], [2], [4], [8], [16]], warp [[32]]>

// So it cannot use a tile of the kernel's warps.
tt.func public @tile_from_outside() attributes {ttg.config = #config} {
  %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #four>
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(2) {
    // expected-error @+1 {{the layout does not cover all elements of its tile with the 2 warps that run this operation}}
    %j = ttg.convert_layout %i : tensor<128xi32, #four> -> tensor<128xi32, #two>
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// Afterwards each warp would go on with another program.
tt.func public @not_last(%p: !tt.ptr<i32>, %n: i32) attributes {ttg.config = #config} {
  // expected-error @+1 {{an operation after the partitions of a kernel is not supported on GPUs}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(2) {
    ttg.warp_return
  } : () -> ()
  tt.store %p, %n : !tt.ptr<i32>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// Each partition needs a named barrier.
tt.func public @eleven_partitions() attributes {ttg.config = #config} {
  // expected-error @+1 {{a kernel with 11 partitions is not supported on GPUs}}
  ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24>}
  default {
    ttg.warp_yield
  }
  partition0() num_warps(1) {
    ttg.warp_return
  }
  partition1() num_warps(1) {
    ttg.warp_return
  }
  partition2() num_warps(1) {
    ttg.warp_return
  }
  partition3() num_warps(1) {
    ttg.warp_return
  }
  partition4() num_warps(1) {
    ttg.warp_return
  }
  partition5() num_warps(1) {
    ttg.warp_return
  }
  partition6() num_warps(1) {
    ttg.warp_return
  }
  partition7() num_warps(1) {
    ttg.warp_return
  }
  partition8() num_warps(1) {
    ttg.warp_return
  }
  partition9() num_warps(1) {
    ttg.warp_return
  }
  partition10() num_warps(1) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#four = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

// All warps run the operations before the partitions, so those of the partitions would add again.
tt.func public @adds_before(%p: !tt.ptr<i32>) attributes {ttg.config = #config} {
  %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #four>
  %yes = arith.constant dense<true> : tensor<128xi1, #four>
  %s = tt.splat %p : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #four>
  %a = tt.addptr %s, %i : tensor<128x!tt.ptr<i32>, #four>, tensor<128xi32, #four>
  // expected-error @+1 {{this operation before the partitions of a kernel is not supported on GPUs}}
  %old = tt.atomic_rmw add, relaxed, gpu, %a, %i, %yes : (tensor<128x!tt.ptr<i32>, #four>, tensor<128xi32, #four>, tensor<128xi1, #four>) -> tensor<128xi32, #four>
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#four = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

// Its scratch memory has room for the warps of the default region.
tt.func public @counts_before(%p: !tt.ptr<i32>) attributes {ttg.config = #config, ttg.shared_bytes = 4096 : i64} {
  %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #four>
  // expected-error @+1 {{this operation before the partitions of a kernel is not supported on GPUs}}
  %h = tt.histogram %i {ttg.offset = 0 : i64} : tensor<128xi32, #four> -> tensor<128xi32, #four>
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}
