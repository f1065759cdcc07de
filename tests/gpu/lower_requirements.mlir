// What lower-to-threads requires of each operation, with a program that breaks it.
// RUN: tilewright opt %s --lower-to-threads -split-input-file -verify-diagnostics

#l = #ttg.layout<64, reg [[32]], lane [[1], [2], [4], [8], [16]], warp [[0],[0]]>
#j = #ttg.layout<64x2, reg [[32,0],[0,1]], lane [[1,0], [2,0], [4,0], [8,0], [16,0]], warp [[0,0],[0,0]]>
tt.func public @joined(%p: !tt.ptr<i32>, %q: !tt.ptr<i32>) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32, #l>
  %s = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #l>
  %a = tt.addptr %s, %r : tensor<64x!tt.ptr<i32>, #l>, tensor<64xi32, #l>
  %x = tt.load %a : tensor<64x!tt.ptr<i32>, #l>
  // expected-error @below {{its layout does not match those of its operands}}
  %j = tt.join %x, %r : tensor<64xi32, #l> -> tensor<64x2xi32, #j>
  %o = tt.splat %q : !tt.ptr<i32> -> tensor<64x2x!tt.ptr<i32>, #j>
  tt.store %o, %j : tensor<64x2x!tt.ptr<i32>, #j>
  tt.return
}

// -----

#f = #ttg.layout<128, reg [[1],[64],[2]], lane [[4], [8], [16], [32], [0]], warp [[0],[0]]>
#m = #ttg.layout<64, reg [[1],[32]], lane [[2], [4], [8], [16],[0]], warp [[0],[0]]>
#j = #ttg.layout<64x2, reg [[0,1],[32,0],[1,0]], lane [[2,0], [4,0], [8,0], [16,0], [0,0]], warp [[0,0],[0,0]]>
tt.func public @split(%p: !tt.ptr<i32>) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %r = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #f>
  %x = tt.reshape %r : tensor<128xi32, #f> -> tensor<64x2xi32, #j>
  // expected-error @below {{its layouts do not match that of its operand}}
  %a, %b = tt.split %x : tensor<64x2xi32, #j> -> tensor<64xi32, #m>
  %o = tt.splat %p : !tt.ptr<i32> -> tensor<64x!tt.ptr<i32>, #m>
  tt.store %o, %a : tensor<64x!tt.ptr<i32>, #m>
  tt.return
}

// -----

#a = #ttg.shared<8x16, offset [[1,0],[2,0],[4,0],[0, 1], [0, 2], [0, 4], [0, 8]], 32>
#b = #ttg.shared<16x8, offset [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], 32>
#tile = #ttg.layout<8x8, reg [[0, 1]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[0,0],[0,0]]>
tt.func public @fma(%p: !tt.ptr<f32>) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %a = ttg.alloc {ttg.offset = 0 : i64} : !ttg.buffer<1 x f32, #a>
  %b = ttg.alloc {ttg.offset = 1024 : i64} : !ttg.buffer<1 x f32, #b>
  %c = arith.constant dense<0.0> : tensor<8x8xf32, #tile>
  // expected-error @below {{its threads cannot read this buffer}}
  %d = ttg.fma_dot %a, %b, %c : !ttg.buffer<1 x f32, #a>, !ttg.buffer<1 x f32, #b> -> tensor<8x8xf32, #tile>
  %o = tt.splat %p : !tt.ptr<f32> -> tensor<8x8x!tt.ptr<f32>, #tile>
  tt.store %o, %d : tensor<8x8x!tt.ptr<f32>, #tile>
  tt.return
}

// -----

#l = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#m = #ttg.layout<128, reg [], lane [[64], [32], [4], [8], [16]], warp [[2], [1]]>
tt.func public @converted(%p: !tt.ptr<i32>) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %r = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #l>
  // expected-error @below {{allocate-shared has reserved no scratch memory for it}}
  %x = ttg.convert_layout %r : tensor<128xi32, #l> -> tensor<128xi32, #m>
  %o = tt.splat %p : !tt.ptr<i32> -> tensor<128x!tt.ptr<i32>, #m>
  tt.store %o, %x : tensor<128x!tt.ptr<i32>, #m>
  tt.return
}

// -----

#l = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
tt.func public @words(%p: !tt.ptr<i8>, %n: i32) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant dense<0> : tensor<128xi8, #l>
  // expected-error @below {{it does not carry a tile number 0 of whole 32-bit words}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z) -> (tensor<128xi8, #l>) : i32 {
    %y = arith.addi %x, %x : tensor<128xi8, #l>
    scf.yield %y : tensor<128xi8, #l>
  } {ttg.packed_words = array<i64: 0>}
  tt.return
}

// -----

#l = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
tt.func public @number_of_words(%p: !tt.ptr<i8>, %n: i32) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %z = arith.constant dense<0> : tensor<128xi8, #l>
  // expected-error @below {{it does not carry a tile number 7 of whole 32-bit words}}
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %z) -> (tensor<128xi8, #l>) : i32 {
    %y = arith.addi %x, %x : tensor<128xi8, #l>
    scf.yield %y : tensor<128xi8, #l>
  } {ttg.packed_words = array<i64: 7>}
  tt.return
}

// -----

#l = #ttg.layout<1024, reg [[1],[2],[4]], lane [[8], [16], [32], [64], [128]], warp [[256], [512]]>
tt.func public @vector(%x: !tt.ptr<f16>, %p: !tt.ptr<f16>, %n: i32) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %r = tt.make_range {start = 0 : i32, end = 1024 : i32} : tensor<1024xi32, #l>
  %ns = tt.splat %n : i32 -> tensor<1024xi32, #l>
  %m = arith.cmpi slt, %r, %ns : tensor<1024xi32, #l>
  %o = arith.constant dense<7.0> : tensor<1024xf16, #l>
  %s = tt.splat %x : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>, #l>
  %a = tt.addptr %s, %r : tensor<1024x!tt.ptr<f16>, #l>, tensor<1024xi32, #l>
  // expected-error @below {{the registers of a thread are not whole accesses}}
  %y = tt.load %a, %m, %o {ttg.vector = 16 : i32} : tensor<1024x!tt.ptr<f16>, #l>
  %q = tt.splat %p : !tt.ptr<f16> -> tensor<1024x!tt.ptr<f16>, #l>
  tt.store %q, %y : tensor<1024x!tt.ptr<f16>, #l>
  tt.return
}

// -----

#map = #ttg.tensor_map<base = 0, offset = [], dims = [[]], strides = [], box = [256], element = f16, swizzle = 0>
#shared = #ttg.shared<256, offset [[1],[2],[4],[8],[16],[32],[64],[128]], 16>
tt.func public @rows_of_groups(%p: !tt.ptr<f16>, %x: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %c0 = arith.constant 0 : i32
  %tile = ttg.alloc {ttg.offset = 0 : i64} : !ttg.buffer<1 x f16, #shared>
  // expected-error @below {{TMA cannot read this buffer}}
  ttg.tma_store %tile to %x[%c0] {perWarpGroup} : !ttg.buffer<1 x f16, #shared>
  tt.return
}

// -----

#l = #ttg.layout<128, reg [[1],[2]], lane [[4],[8],[16],[32],[64]], warp [[0],[0]]>
// expected-error @below {{one of its arguments is a tile}}
tt.func public @argument(%x: tensor<128xi32, #l>) attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  tt.return
}

// -----

#sa = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0], [32, 0]], 16>
#acc = #ttg.layout<64x64, reg [[0, 1], [8, 0], [0, 8], [0, 16], [0, 32]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
tt.func public @two_formats() attributes {ttg.config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">} {
  %a = ttg.alloc {ttg.offset = 0 : i64} : !ttg.buffer<1 x f16, #sa>
  %b = ttg.alloc {ttg.offset = 8192 : i64} : !ttg.buffer<1 x bf16, #sa>
  %c = arith.constant dense<0.0> : tensor<64x64xf32, #acc>
  // expected-error @below {{wgmma does not multiply these elements}}
  %d = ttg.mma_async %a, %b, %c : !ttg.buffer<1 x f16, #sa>, !ttg.buffer<1 x bf16, #sa> -> tensor<64x64xf32, #acc>
  %w = ttg.mma_async_wait 0, %d : tensor<64x64xf32, #acc> -> tensor<64x64xf32, #acc>
  tt.return
}
