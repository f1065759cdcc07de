// RUN: tilewright opt %s --specialize-warps -split-input-file | FileCheck %s

// Which kernels the verifier of mbarriers (verify_barriers.cpp) decides, and for which it reports that it does not.

// Which stage is read depends on data.
// CHECK-LABEL: @unknown_stage
// CHECK-SAME: ttg.remarks = [#ttg.remark<pass = "specialize-warps", {{.*}}the mbarriers of the partitions are not verified
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @unknown_stage(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map, %x: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !ttg.buffer<2 x f32, #shared>
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %other = ttg.stage %a[%x] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    %v = ttg.load_shared %other : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %v : tensor<128x!tt.ptr<f32>, #row>
    ttg.barrier_arrive %empty[%tile] : <2>
  }
  tt.return
}

// -----

// Of the many iterations of a loop those are listed that do not repeat others.
// CHECK-LABEL: @many_iterations
// CHECK-NOT: ttg.remark
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @many_iterations(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map, %x: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !ttg.buffer<2 x f32, #shared>
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4097 = arith.constant 4097 : i32
  scf.for %i = %c0 to %c4097 step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    %v = ttg.load_shared %stage : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %v : tensor<128x!tt.ptr<f32>, #row>
    ttg.barrier_arrive %empty[%tile] : <2>
  }
  tt.return
}

// -----

// A condition is assumed where it is computed, so its negation is known.
// CHECK-LABEL: @negated
// CHECK-NOT: ttg.remark
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @negated(%n: i32, %m: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  %yes = arith.constant true
  %c = arith.cmpi slt, %n, %m : i32
  %other = arith.xori %c, %yes : i1
  scf.if %c {
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  }
  scf.if %other {
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  }
  ttg.barrier_wait %full[%c0], %c0 : <1>
  tt.return
}

// -----

// An argument is assumed before the kernel.
// CHECK-LABEL: @negated_argument
// CHECK-NOT: ttg.remark
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @negated_argument(%c: i1) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  %yes = arith.constant true
  %other = arith.xori %c, %yes : i1
  scf.if %c {
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  }
  scf.if %other {
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  }
  ttg.barrier_wait %full[%c0], %c0 : <1>
  tt.return
}

// -----

// Two conditions may exclude each other.
// CHECK-LABEL: @exclusive
// CHECK-SAME: ttg.remarks = [#ttg.remark<pass = "specialize-warps", {{.*}}the mbarriers of the partitions are not verified
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @exclusive(%n: i32, %m: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  %yes = arith.constant true
  %c = arith.cmpi slt, %n, %m : i32
  %other = arith.cmpi sge, %n, %m : i32
  scf.if %c {
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  }
  scf.if %other {
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  }
  ttg.barrier_wait %full[%c0], %c0 : <1>
  tt.return
}
