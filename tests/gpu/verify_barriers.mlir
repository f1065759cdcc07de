// RUN: tilewright opt %s --specialize-warps -split-input-file -verify-diagnostics -o /dev/null

// The rules of mbarriers between partitions (verify_barriers.cpp), each of them broken.

// The MMA warp fills one of two tiles, and four warps read it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @valid(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<mmas>} : <2>
    ttg.tcgen05_commit %full[%tile] {ttg.partition = #ttg.partition<mmas>} : <2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    ttg.barrier_arrive %empty[%tile] : <2>
  }
  tt.return
}

// -----

// The warps of both CTAs tell each MMA warp that they have read.
#config = #ttg.config<warps = 4, ctas = 2, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @valid_cluster(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 8 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    ttg.barrier_wait %empty[%c0], %before {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.barrier_wait %full[%c0], %parity : <1>
    ttg.barrier_arrive %empty[%c0] {inAllCtas} : <1>
  }
  tt.return
}

// -----

// Which barrier it is depends on data: not verified.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @unknown_index(%n: i32, %x: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    ttg.barrier_wait %full[%x], %c0 : <2>
  }
  tt.return
}

// -----

// Rule 1: the consumers never release the tile.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @nothing_arrives(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    // expected-error @+1 {{no warp arrives at the barrier that it waits for}}
    ttg.barrier_wait %empty[%c0], %before {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.barrier_wait %full[%c0], %parity : <1>
  }
  tt.return
}

// -----

// Rule 1: the consumers read the tile without a wait.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @nothing_waits(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    // expected-error @+1 {{no warp waits at the barrier at which it arrives}}
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  }
  tt.return
}

// -----

// Rule 2: four warps arrive, and the barrier expects eight.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @too_many_expected(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 8 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    // expected-error @+1 {{it waits for a phase that has 4 of 8 arrivals, and all other warps wait, too}}
    ttg.barrier_wait %empty[%c0], %before {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.barrier_wait %full[%c0], %parity : <1>
    ttg.barrier_arrive %empty[%c0] : <1>
  }
  tt.return
}

// -----

// Rule 2: the MMA warp waits until the tile has been read, before it has filled it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @parity_of_full(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    ttg.barrier_wait %empty[%c0], %parity {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    // expected-error @+1 {{it waits for a phase that has 0 of 1 arrivals, and all other warps wait, too}}
    ttg.barrier_wait %full[%c0], %parity : <1>
    ttg.barrier_arrive %empty[%c0] : <1>
  }
  tt.return
}

// -----

// Rule 4: the consumers read the tile before it is full. The warps of a group do not wait for each other, so some release it twice.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @parity_of_empty(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    ttg.barrier_wait %empty[%c0], %before {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.barrier_wait %full[%c0], %before : <1>
    // expected-error @+1 {{a phase of its barrier has other arrivals than the phase before, or too many}}
    ttg.barrier_arrive %empty[%c0] : <1>
  }
  tt.return
}

// -----

// Rule 3: the MMA warp fills a tile again while it is read.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @no_wait(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    // expected-error @+1 {{the phase after the one that it waits for may already be complete}}
    ttg.barrier_wait %full[%c0], %parity : <1>
  }
  tt.return
}

// -----

// Rule 3: two tiles, but barriers of one.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @one_of_two(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    ttg.barrier_wait %empty[%c0], %before {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    // expected-error @+1 {{the phase after the one that it waits for may already be complete}}
    ttg.barrier_wait %full[%c0], %parity : <1>
    ttg.barrier_arrive %empty[%c0] : <1>
  }
  tt.return
}

// -----

// Rule 4: two arrivals of the consumers complete a phase that the correction partition should take part in.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @other_arrivals(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %ready = ttg.alloc_barriers {arrivals = 8 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    ttg.barrier_wait %ready[%c0], %parity {ttg.partition = #ttg.partition<mmas>} : <1>
    // expected-error @+1 {{a phase of its barrier has other arrivals than the phase before, or too many}}
    ttg.barrier_arrive %ready[%c0] : <1>
    ttg.barrier_arrive %ready[%c0] {ttg.partition = #ttg.partition<correction>} : <1>
  }
  tt.return
}

// -----

// Rule 4: four warps arrive, and the barrier expects two.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @too_many_arrivals(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 2 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    ttg.barrier_wait %empty[%c0], %before {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.barrier_wait %full[%c0], %parity : <1>
    // expected-error @+1 {{a phase of its barrier has other arrivals than the phase before, or too many}}
    ttg.barrier_arrive %empty[%c0] : <1>
  }
  tt.return
}

// -----

// Rule 5: the last arrivals are for nothing.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @incomplete(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    ttg.barrier_wait %empty[%c0], %before {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.barrier_wait %full[%c0], %parity : <1>
    ttg.barrier_arrive %empty[%c0] : <1>
  }
  // expected-error @+1 {{the last phase of its barrier stays incomplete}}
  ttg.barrier_arrive %empty[%c0] {firstWarp} : <1>
  tt.return
}

// -----

// Rule 5: two tiles, and one barrier.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @no_such_barrier(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    // expected-error @+1 {{it names a barrier that was not allocated}}
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%tile] {ttg.partition = #ttg.partition<mmas>} : <2>
    ttg.barrier_wait %full[%tile], %parity : <2>
  }
  tt.return
}

// -----

// Rule 2: an MMA warp waits for the warps of both CTAs, and each tells only its own.
#config = #ttg.config<warps = 4, ctas = 2, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @second_cta(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %empty = ttg.alloc_barriers {arrivals = 8 : i32} : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %parity = arith.andi %i, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    // expected-error @+1 {{it waits for a phase that has 4 of 8 arrivals, and all other warps wait, too}}
    ttg.barrier_wait %empty[%c0], %before {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    ttg.barrier_wait %full[%c0], %parity : <1>
    ttg.barrier_arrive %empty[%c0] : <1>
  }
  tt.return
}

// -----

// Rule 6: threads read a stage after they have released it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @late_read(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
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
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    ttg.barrier_arrive %empty[%tile] : <2>
    // expected-error @+1 {{it reads a stage that may already be filled again}}
    %x = ttg.load_shared %stage : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %x : tensor<128x!tt.ptr<f32>, #row>
  }
  tt.return
}

// -----

// Rule 6: threads read a stage before they wait for anything that follows its copy.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @early_read(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized, ttg.operand_registers = 56 : i32} {
  %a = ttg.alloc : !ttg.buffer<2 x f32, #shared>
  %full = ttg.alloc_barriers : <2>
  %made = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %empty = ttg.alloc_barriers {arrivals = 8 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    // expected-error @+1 {{it reads a stage that it does not know to be filled}}
    %r = ttg.load_shared %stage : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %r : tensor<128x!tt.ptr<f32>, #row>
    ttg.barrier_wait %full[%tile], %parity {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.barrier_arrive %empty[%tile] {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.barrier_arrive %made[%tile] {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.barrier_wait %made[%tile], %parity : <2>
    ttg.barrier_arrive %empty[%tile] : <2>
  }
  tt.return
}

// -----

// The partition has waited for the copy, and the consumers wait for the partition.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @valid_passed_on(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized, ttg.operand_registers = 56 : i32} {
  %a = ttg.alloc : !ttg.buffer<2 x f32, #shared>
  %full = ttg.alloc_barriers : <2>
  %made = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %empty = ttg.alloc_barriers {arrivals = 8 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.barrier_arrive %empty[%tile] {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.barrier_arrive %made[%tile] {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.barrier_wait %made[%tile], %parity : <2>
    %r = ttg.load_shared %stage : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %r : tensor<128x!tt.ptr<f32>, #row>
    ttg.barrier_arrive %empty[%tile] : <2>
  }
  tt.return
}

// -----

// Rule 6: the first warp alone waits for the copy, and all warps read it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @first_warp_waits(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !ttg.buffer<2 x f32, #shared>
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity {firstWarp} : <2>
    // expected-error @+1 {{it reads a stage that it does not know to be filled}}
    %x = ttg.load_shared %stage : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %x : tensor<128x!tt.ptr<f32>, #row>
    ttg.cta_barrier
    ttg.barrier_arrive %empty[%tile] {firstWarp} : <2>
  }
  tt.return
}

// -----

// Rule 6: the first warp releases a stage before the other warps have read it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @first_warp_releases(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !ttg.buffer<2 x f32, #shared>
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity {firstWarp} : <2>
    ttg.cta_barrier
    // expected-error @+1 {{it reads a stage that may already be filled again}}
    %x = ttg.load_shared %stage : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %x : tensor<128x!tt.ptr<f32>, #row>
    ttg.barrier_arrive %empty[%tile] {firstWarp} : <2>
  }
  tt.return
}

// -----

// The first warp waits and releases for all, with a barrier after the wait and one before the release.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @valid_first_warp(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !ttg.buffer<2 x f32, #shared>
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity {firstWarp} : <2>
    ttg.cta_barrier
    %x = ttg.load_shared %stage : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %x : tensor<128x!tt.ptr<f32>, #row>
    ttg.cta_barrier
    ttg.barrier_arrive %empty[%tile] {firstWarp} : <2>
  }
  tt.return
}

// -----

// An MMA has read its stage when the wait for it ends.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
!stages = !ttg.buffer<2 x f16, #shared>
tt.func public @valid_mma(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !stages
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !stages -> !buffer
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 8192 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0, %c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !buffer, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    %d = ttg.mma_async %stage, %stage, %sum : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile -> !tile
    ttg.barrier_arrive %empty[%tile] : <2>
    scf.yield %e : !tile
  }
  tt.return
}

// -----

// Rule 6: a stage is released while an MMA reads it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
!stages = !ttg.buffer<2 x f16, #shared>
tt.func public @release_before_wait(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !stages
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !stages -> !buffer
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 8192 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0, %c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !buffer, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    // expected-error @+1 {{it reads a stage that may already be filled again}}
    %d = ttg.mma_async %stage, %stage, %sum : !buffer, !buffer -> !tile
    ttg.barrier_arrive %empty[%tile] : <2>
    %e = ttg.mma_async_wait 0, %d : !tile -> !tile
    scf.yield %e : !tile
  }
  tt.return
}

// -----

// An MMA stays in flight over the back edge, and its stage is released an iteration later.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
!stages = !ttg.buffer<2 x f16, #shared>
tt.func public @valid_mma_in_flight(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !stages
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !stages -> !buffer
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 8192 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0, %c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !buffer, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    %d = ttg.mma_async %stage, %stage, %sum : !buffer, !buffer -> !tile
    ttg.mma_async_wait 1
    %other = arith.xori %tile, %c1 : i32
    %later = arith.cmpi ne, %i, %c0 : i32
    ttg.barrier_arrive %empty[%other] if %later : <2>
    scf.yield %d : !tile
  }
  %last = ttg.mma_async_wait 0, %r : !tile -> !tile
  %rest = arith.subi %n, %c1 : i32
  %tile = arith.andi %rest, %c1 : i32
  %any = arith.cmpi sgt, %n, %c0 : i32
  ttg.barrier_arrive %empty[%tile] if %any : <2>
  tt.return
}

// -----

// Rule 6: an MMA stays in flight over the back edge, and its stage is released in its own iteration.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
!stages = !ttg.buffer<2 x f16, #shared>
tt.func public @release_in_flight(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !stages
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !stages -> !buffer
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 8192 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0, %c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !buffer, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    // expected-error @+1 {{it reads a stage that may already be filled again}}
    %d = ttg.mma_async %stage, %stage, %sum : !buffer, !buffer -> !tile
    ttg.mma_async_wait 1
    ttg.barrier_arrive %empty[%tile] : <2>
    scf.yield %d : !tile
  }
  %last = ttg.mma_async_wait 0, %r : !tile -> !tile
  tt.return
}

// -----

// The MMA warp releases a stage by a commit: when the MMA has read it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
!buffer = !ttg.buffer<1 x f16, #shared>
!stages = !ttg.buffer<2 x f16, #shared>
tt.func public @valid_commit(%n: i32, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !stages
  %memory = ttg.tensor_alloc 64
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers : <2>
  %done = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %yes = arith.constant true
  %sum = ttg.tensor_tile %memory, 0 : <64x64xf32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !stages -> !buffer
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 8192 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0, %c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !buffer, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity {ttg.partition = #ttg.partition<mmas>} : <2>
    ttg.tcgen05_mma %stage, %stage, %sum if %yes {ttg.partition = #ttg.partition<mmas>} : !buffer, !buffer, !ttg.tensor_memory<64x64xf32>
    ttg.tcgen05_commit %empty[%tile] {ttg.partition = #ttg.partition<mmas>} : <2>
  }
  ttg.tcgen05_commit %done[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  ttg.barrier_wait %done[%c0], %c0 : <1>
  tt.return
}

// -----

// Rule 6: the MMA warp releases a stage itself, while the tensor core may still read it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
!buffer = !ttg.buffer<1 x f16, #shared>
!stages = !ttg.buffer<2 x f16, #shared>
tt.func public @release_without_commit(%n: i32, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !stages
  %memory = ttg.tensor_alloc 64
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers : <2>
  %done = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %yes = arith.constant true
  %sum = ttg.tensor_tile %memory, 0 : <64x64xf32>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !stages -> !buffer
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 8192 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0, %c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !buffer, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity {ttg.partition = #ttg.partition<mmas>} : <2>
    // expected-error @+1 {{it reads a stage that may already be filled again}}
    ttg.tcgen05_mma %stage, %stage, %sum if %yes {ttg.partition = #ttg.partition<mmas>} : !buffer, !buffer, !ttg.tensor_memory<64x64xf32>
    ttg.barrier_arrive %empty[%tile] {ttg.partition = #ttg.partition<mmas>} : <2>
  }
  ttg.tcgen05_commit %done[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  ttg.barrier_wait %done[%c0], %c0 : <1>
  tt.return
}

// -----

// A partition computes the operand of an MMA.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
!stages = !ttg.buffer<2 x f16, #shared>
tt.func public @valid_computed(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized, ttg.operand_registers = 56 : i32} {
  %b = ttg.alloc : !stages
  %made = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %one = arith.constant dense<1.0> : tensor<64x64xf16, #sums>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %b[%tile] : !stages -> !buffer
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.store_shared %one, %stage {ttg.partition = #ttg.partition<operands>} : tensor<64x64xf16, #sums>, !buffer
    ttg.barrier_arrive %made[%tile] {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.barrier_wait %made[%tile], %parity : <2>
    %d = ttg.mma_async %stage, %stage, %sum : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile -> !tile
    ttg.barrier_arrive %empty[%tile] : <2>
    scf.yield %e : !tile
  }
  tt.return
}

// -----

// Rule 6: an MMA reads an operand before the partition has stored it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
!stages = !ttg.buffer<2 x f16, #shared>
tt.func public @early_computed(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized, ttg.operand_registers = 56 : i32} {
  %b = ttg.alloc : !stages
  %made = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %one = arith.constant dense<1.0> : tensor<64x64xf16, #sums>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %b[%tile] : !stages -> !buffer
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.store_shared %one, %stage {ttg.partition = #ttg.partition<operands>} : tensor<64x64xf16, #sums>, !buffer
    ttg.barrier_arrive %made[%tile] {ttg.partition = #ttg.partition<operands>} : <2>
    // expected-error @+1 {{it reads a stage that it does not know to be filled}}
    %d = ttg.mma_async %stage, %stage, %sum : !buffer, !buffer -> !tile
    ttg.barrier_wait %made[%tile], %parity : <2>
    %e = ttg.mma_async_wait 0, %d : !tile -> !tile
    ttg.barrier_arrive %empty[%tile] : <2>
    scf.yield %e : !tile
  }
  tt.return
}

// -----

// Rule 6: the consumers release a computed operand while an MMA reads it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
!stages = !ttg.buffer<2 x f16, #shared>
tt.func public @release_computed(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized, ttg.operand_registers = 56 : i32} {
  %b = ttg.alloc : !stages
  %made = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %one = arith.constant dense<1.0> : tensor<64x64xf16, #sums>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %b[%tile] : !stages -> !buffer
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.store_shared %one, %stage {ttg.partition = #ttg.partition<operands>} : tensor<64x64xf16, #sums>, !buffer
    ttg.barrier_arrive %made[%tile] {ttg.partition = #ttg.partition<operands>} : <2>
    ttg.barrier_wait %made[%tile], %parity : <2>
    // expected-error @+1 {{it reads a stage that may already be filled again}}
    %d = ttg.mma_async %stage, %stage, %sum : !buffer, !buffer -> !tile
    ttg.barrier_arrive %empty[%tile] : <2>
    %e = ttg.mma_async_wait 0, %d : !tile -> !tile
    scf.yield %e : !tile
  }
  tt.return
}

// -----

// Rule 5: the consumers read a stage that the buffer does not have.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @no_such_stage(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map, %x: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !ttg.buffer<2 x f32, #shared>
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %beyond = arith.addi %tile, %c2 : i32
    %other = ttg.stage %a[%beyond] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    // expected-error @+1 {{it names a stage that was not allocated}}
    %v = ttg.load_shared %other : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %v : tensor<128x!tt.ptr<f32>, #row>
    ttg.barrier_arrive %empty[%tile] : <2>
  }
  tt.return
}

// -----

// A TMA store reads a stage until the wait for it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @valid_tma_store(%n: i32, %map: !ptx.tensor_map, %target: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
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
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    ttg.tma_store %stage to %target[%c0] : !ttg.buffer<1 x f32, #shared>
    ttg.tma_store_wait 0
    ttg.cta_barrier
    ttg.barrier_arrive %empty[%tile] : <2>
  }
  tt.return
}

// -----

// Rule 6: the consumers release a stage that a TMA store may still read.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @tma_store_in_flight(%n: i32, %map: !ptx.tensor_map, %target: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
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
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    // expected-error @+1 {{it reads a stage that may already be filled again}}
    ttg.tma_store %stage to %target[%c0] : !ttg.buffer<1 x f32, #shared>
    ttg.barrier_arrive %empty[%tile] : <2>
    ttg.tma_store_wait 0
  }
  tt.return
}

// -----

// Rule 6: with constant bounds of many iterations.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
#row = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#shared = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @constant_bounds(%n: i32, %out: !tt.ptr<f32>, %map: !ptx.tensor_map, %x: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %a = ttg.alloc : !ttg.buffer<2 x f32, #shared>
  %full = ttg.alloc_barriers : <2>
  %empty = ttg.alloc_barriers {arrivals = 4 : i32} : <2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4096 = arith.constant 4096 : i32
  scf.for %i = %c0 to %c4096 step %c1 : i32 {
    %tile = arith.andi %i, %c1 : i32
    %round = arith.shrui %i, %c1 : i32
    %parity = arith.andi %round, %c1 : i32
    %before = arith.xori %parity, %c1 : i32
    %stage = ttg.stage %a[%tile] : !ttg.buffer<2 x f32, #shared> -> !ttg.buffer<1 x f32, #shared>
    ttg.barrier_wait %empty[%tile], %before {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.barrier_expect %full[%tile], 512 {ttg.partition = #ttg.partition<producer>} : <2>
    ttg.tma_load %map[%c0] to %stage, %full[%tile] {ttg.partition = #ttg.partition<producer>} : !ttg.buffer<1 x f32, #shared>, !ttg.barriers<2>
    ttg.barrier_wait %full[%tile], %parity : <2>
    ttg.barrier_arrive %empty[%tile] : <2>
    // expected-error @+1 {{it reads a stage that may already be filled again}}
    %v = ttg.load_shared %stage : !ttg.buffer<1 x f32, #shared> -> tensor<128xf32, #row>
    %p = tt.splat %out : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>, #row>
    tt.store %p, %v : tensor<128x!tt.ptr<f32>, #row>
  }
  tt.return
}

// -----

// All warps would run what precedes the last barriers.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @before_barriers(%n: i32, %out: !tt.ptr<i32>) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{all warps would run it, because barriers are allocated after it}}
  ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  ttg.barrier_wait %full[%c0], %c0 : <1>
  %more = ttg.alloc_barriers {arrivals = 4 : i32} : <1>
  ttg.barrier_arrive %more[%c0] : <1>
  ttg.barrier_wait %more[%c0], %c0 : <1>
  tt.return
}

// -----

// All warps would store.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @store_before_barriers(%n: i32, %out: !tt.ptr<i32>) attributes {ttg.config = #config, ttg.warp_specialized} {
  // expected-error @+1 {{all warps would run it, because barriers are allocated after it}}
  tt.store %out, %n : !tt.ptr<i32>
  %full = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
  ttg.barrier_wait %full[%c0], %c0 : <1>
  tt.return
}

// -----

// expected-error @+2 {{a producer without barriers}}
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @no_barriers(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  tt.return
}

// -----

// Both the MMA warp and the consumers would allocate tensor memory.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @allocates_twice(%n: i32, %map: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  // expected-error @+1 {{a partition would allocate it a second time}}
  %memory = ttg.tensor_alloc 64
  ttg.tcgen05_commit %full[%memory] {ttg.partition = #ttg.partition<mmas>} : <1>
  ttg.barrier_wait %full[%memory], %c0 : <1>
  tt.return
}

// -----

// A partition has no while loops.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_100a">
tt.func public @in_while(%n: i32) attributes {ttg.config = #config, ttg.warp_specialized} {
  %full = ttg.alloc_barriers : <1>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-error @+1 {{a partition cannot compute its operands: scf.while: only loops and branches are computed again}}
  %end = scf.while (%t = %c0) : (i32) -> i32 {
    %more = arith.cmpi slt, %t, %n : i32
    scf.condition(%more) %t : i32
  } do {
  ^bb0(%t: i32):
    ttg.tcgen05_commit %full[%c0] {ttg.partition = #ttg.partition<mmas>} : <1>
    %next = arith.addi %t, %c1 : i32
    scf.yield %next : i32
  }
  ttg.barrier_wait %full[%c0], %c0 : <1>
  tt.return
}
