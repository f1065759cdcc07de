// Each rule for a hand-written order of MMAs, with one that breaks it. Without the rule, overlap-mmas would accept it, or crash.
// RUN: tilewright opt %s --overlap-mmas -split-input-file -verify-diagnostics

// An edge to an operation that the loop does not have.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @unknown(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an edge does not lead from an MMA or arithmetic to a wait}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 99 distance 0>]>}
  tt.return
}

// -----
// A scalar does not pass through a wait.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @no_tile(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an edge does not lead from an MMA or arithmetic to a wait}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    %x = arith.addi %i, %c1 {ttg.id = 4 : i64} : i32
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<4 -> 3 distance 0>]>}
  tt.return
}

// -----
// One operation has one position.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @twice(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an operation is listed twice}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0>, <2 moves true>, <2 moves true>]>}
  tt.return
}

// -----
// The end of the body stays where it is.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @end(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: the end of the loop's body is listed}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield {ttg.id = 4 : i64} %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<3>, <4 moves true>]>}
  tt.return
}

// -----
// A store to shared memory does not move.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @effect(%n: i32, %h: tensor<64x64xf16, #sums>) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: only MMAs and waits of the consumers, loads and arithmetic may move}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    ttg.store_shared %h, %a {ttg.id = 4 : i64} : tensor<64x64xf16, #sums>, !buffer
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<3>, <4 moves true>]>}
  tt.return
}

// -----
// The producer waits where it stands.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @producer(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map) attributes {ttg.config = #config, ttg.warp_specialized} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: only MMAs and waits of the consumers, loads and arithmetic may move}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    ttg.barrier_wait %full[%c0], %c0 {ttg.id = 4 : i64, ttg.partition = #ttg.partition<producer>} : !ttg.barriers<1>
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0>, <4 moves true>]>}
  tt.return
}

// -----
// Operations that stay are listed in their order.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @unordered(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: operations that do not move are not listed in their order}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<2>, <0>]>}
  tt.return
}

// -----
// The first MMA's result passes through a wait of its own iteration, not of the next one.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @not_waited(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: no wait passes the result of an edge's MMA through}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 3 distance 1>]>}
  tt.return
}

// -----
// One wait has one end.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @two_ends(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: the MMAs of one wait end at different waits}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async %a, %b, %zero {ttg.id = 1 : i64} : !buffer, !buffer -> !tile
    %u:2 = ttg.mma_async_wait 0, %s, %t : !tile, !tile {ttg.id = 2 : i64} -> !tile, !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 3 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 4 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 2 distance 0>, <1 -> 4 distance 0>]>}
  tt.return
}

// -----
// The first MMA ends at the second wait, which becomes part of the third one.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @no_end(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an edge leads to a wait that becomes part of another one}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    %f = ttg.mma_async %a, %b, %zero {ttg.id = 4 : i64} : !buffer, !buffer -> !tile
    %g = ttg.mma_async_wait 0, %f : !tile {ttg.id = 5 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 3 distance 0>, <2 -> 5 distance 0>]>}
  tt.return
}

// -----
// The same, for arithmetic.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @computed_no_end(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an edge leads to a wait that becomes part of another one}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %p = arith.mulf %sum, %sum {ttg.id = 4 : i64} : !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %p {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 3 distance 0>, <2 -> 3 distance 0>, <4 -> 1 distance 0>]>}
  tt.return
}

// -----
// The second MMA's result is used before the wait that it shares with the third one.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @used(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an operation uses a result that is not yet there}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    %p = arith.mulf %e, %e : !tile
    %f = ttg.mma_async %a, %b, %zero {ttg.id = 4 : i64} : !buffer, !buffer -> !tile
    %g = ttg.mma_async_wait 0, %f : !tile {ttg.id = 5 : i64} -> !tile
    scf.yield %p : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<2 -> 5 distance 0>, <4 -> 5 distance 0>]>}
  tt.return
}

// -----
// An MMA ends at a wait before it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @not_issued(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an operation uses a result that is not yet there}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 1 distance 0>, <2 -> 1 distance 0>]>}
  tt.return
}

// -----
// A product passes through a wait before it.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @not_computed(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an operation uses a result that is not yet there}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    %p = arith.mulf %t, %t {ttg.id = 4 : i64} : !tile
    scf.yield %p : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<4 -> 3 distance 0>]>}
  tt.return
}

// -----
// An MMA moves before the wait for its copy.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @copied(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a copy is read before the wait for it}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    ttg.barrier_wait %full[%c0], %c0 {ttg.id = 4 : i64} : !ttg.barriers<1>
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0 moves true>]>}
  tt.return
}

// -----
// A wait moves before the start of the copy that it waits for: with one stage, it would see the phase before.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @own_copy(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a wait for a copy passes the start of the copy, or the release of its stage}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    ttg.barrier_expect %full[%c0], 8192 : !ttg.barriers<1>
    ttg.tma_load %m[%c0, %c0] to %b, %full[%c0] {ttg.id = 5 : i64} : !buffer, !ttg.barriers<1>
    ttg.barrier_wait %full[%c0], %c0 {ttg.id = 6 : i64} : !ttg.barriers<1>
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0>, <6 moves true>]>}
  tt.return
}

// -----
// A wait moves before the release without which its copy does not start.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @own_release(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a wait for a copy passes the start of the copy, or the release of its stage}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    ttg.barrier_arrive %empty[%c0] : !ttg.barriers<1>
    ttg.barrier_wait %full[%c0], %c0 {ttg.id = 6 : i64} : !ttg.barriers<1>
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0>, <6 moves true>]>}
  tt.return
}

// -----
// An MMA moves before the copy to its operand.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @early(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an MMA starts before its operand is written}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %a, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    ttg.tma_load %m[%c0, %c0] to %b, %full[%c0] {ttg.id = 5 : i64} : !buffer, !ttg.barriers<1>
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0>, <2 moves true>]>}
  tt.return
}

// -----
// An MMA moves before the fence that shows it what threads have stored.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @fenced(%n: i32, %h: tensor<64x64xf16, #sums>) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an MMA starts before its operand is written}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    ttg.store_shared %h, %a : tensor<64x64xf16, #sums>, !buffer
    %s = ttg.mma_async %b, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    ttg.fence_async
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0>, <2 moves true>]>}
  tt.return
}

// -----
// An MMA moves after the release of its stage.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @late(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an MMA starts after its stage is released}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    ttg.barrier_arrive %empty[%c0] {ttg.id = 4 : i64} : !ttg.barriers<1>
    scf.yield %sum : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<4>, <0 moves true>, <1 moves true>]>}
  tt.return
}

// -----
// A wait moves after the release of what its MMA reads.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @released_at_wait(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a stage is released while an MMA reads it}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    ttg.barrier_arrive %empty[%c0] {ttg.id = 4 : i64} : !ttg.barriers<1>
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<4>, <3 moves true>]>}
  tt.return
}

// -----
// Nothing moves, but the first MMA now ends after the release of its stage.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @released_at_edge(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a stage is released while an MMA reads it}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    ttg.barrier_arrive %empty[%c0] : !ttg.barriers<1>
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 3 distance 0>, <2 -> 3 distance 0>]>}
  tt.return
}

// -----
// The same, of a release in a branch.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @released_in_branch(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map, %x: i1) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a stage is released while an MMA reads it}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    scf.if %x {
    ttg.barrier_arrive %empty[%c0] : !ttg.barriers<1>
    }
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 3 distance 0>, <2 -> 3 distance 0>]>}
  tt.return
}

// -----
// Threads store to the operand of an MMA that now ends after the store.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @written_at_edge(%n: i32, %h: tensor<64x64xf16, #sums>) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an operand is written while an MMA reads it}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    ttg.store_shared %h, %a : tensor<64x64xf16, #sums>, !buffer
    %d = ttg.mma_async %b, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 3 distance 0>, <2 -> 3 distance 0>]>}
  tt.return
}

// -----
// The MMA of the previous iteration now ends after the release of its stage.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @released_in_next(%n: i32, %full: !ttg.barriers<1>, %empty: !ttg.barriers<1>, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a stage is released while an MMA reads it}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %t = ttg.mma_async_wait 0, %sum : !tile {ttg.id = 1 : i64} -> !tile
    ttg.barrier_arrive %empty[%c0] : !ttg.barriers<1>
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %u = ttg.mma_async_wait 0, %s : !tile {ttg.id = 3 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %t {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    scf.yield %d : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<edges [<0 -> 3 distance 0>, <2 -> 3 distance 1>]>}
  tt.return
}

// -----
// The second MMA moves after a wait that lets one MMA run: the first one may not have ended.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @not_ended(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: the accumulator of an MMA is read before the MMA has ended}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 1, %s : !tile {ttg.id = 1 : i64} -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<1>, <2 moves true>]>}
  tt.return
}

// -----
// The MMA of this iteration is not drained in it any more.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @in_flight(%n: i32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: an MMA is in flight in more iterations than before}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    ttg.mma_async_wait 1 {ttg.id = 1 : i64}
    %f = ttg.mma_async %a, %b, %zero {ttg.id = 4 : i64} : !buffer, !buffer -> !tile
    ttg.mma_async_wait 1 {ttg.id = 5 : i64}
    scf.yield %sum : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<5>, <4 moves true>]>}
  tt.return
}

// -----
// A volatile load stays where it is.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @volatile(%n: i32, %p: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a load cannot move: it is volatile}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    %y = tt.load %p {isVolatile = true, ttg.id = 4 : i64} : !tt.ptr<f32>
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0>, <4 moves true>]>}
  tt.return
}

// -----
// A load moves before a volatile one that may say that another program has written.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @flag(%n: i32, %p: !tt.ptr<f32>, %q: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a load moves before the program learns what another one has written}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    %f = tt.load %q {isVolatile = true} : !tt.ptr<f32>
    %y = tt.load %p {ttg.id = 4 : i64} : !tt.ptr<f32>
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0>, <4 moves true>]>}
  tt.return
}

// -----
// A load moves after a barrier of the program.
#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#sums = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
!tile = tensor<64x64xf32, #sums>
!buffer = !ttg.buffer<1 x f16, #shared>
tt.func public @signal(%n: i32, %p: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %zero = arith.constant dense<0.0> : !tile
  %a = ttg.alloc : !buffer
  %b = ttg.alloc : !buffer
  // expected-error @below {{ttg.mma_schedule: a load moves after the program may have told others that it has read}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (!tile) : i32 {
    %y = tt.load %p {ttg.id = 4 : i64} : !tt.ptr<f32>
    gpu.barrier
    %s = ttg.mma_async %a, %b, %zero {ttg.id = 0 : i64} : !buffer, !buffer -> !tile
    %t = ttg.mma_async_wait 0, %s : !tile {ttg.id = 1 : i64} -> !tile
    %d = ttg.mma_async %a, %b, %sum {ttg.id = 2 : i64} : !buffer, !buffer -> !tile
    %e = ttg.mma_async_wait 0, %d : !tile {ttg.id = 3 : i64} -> !tile
    scf.yield %e : !tile
  } {ttg.mma_schedule = #ttg.mma_schedule<ops [<0>, <4 moves true>]>}
  tt.return
}
