// Each rule for an operation on tiles, buffers and barriers, with a program that breaks it.
// RUN: tilewright opt %s --insert-barriers -split-input-file -verify-diagnostics

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#half = #ttg.layout<64, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [0]]>
tt.func public @converted(%x: tensor<128xf32, #tile>) {
  // expected-error @below {{failed to verify that all of {src, result} have same shape}}
  %y = ttg.convert_layout %x : tensor<128xf32, #tile> -> tensor<64xf32, #half>
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
tt.func public @numbers_of_bytes(%x: tensor<128xi8, #tile>) {
  // expected-error @below {{makes two numbers of f16 or bf16 from each byte along a dimension}}
  %y = ttg.unpack_e2m1 %x {dim = 0 : i32} : tensor<128xi8, #tile> -> tensor<128xf16, #tile>
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#row = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @stored(%x: tensor<128xi32, #tile>, %a: !ttg.buffer<1 x f32, #row>) {
  // expected-error @below {{moves a tile between types that differ in shape or element type}}
  ttg.store_shared %x, %a : tensor<128xi32, #tile>, !ttg.buffer<1 x f32, #row>
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#row = #ttg.shared<64, offset [[1], [2], [4], [8], [16], [32]], 32>
tt.func public @loaded(%a: !ttg.buffer<1 x f32, #row>) {
  // expected-error @below {{moves a tile between types that differ in shape or element type}}
  %x = ttg.load_shared %a : !ttg.buffer<1 x f32, #row> -> tensor<128xf32, #tile>
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#row = #ttg.shared<64, offset [[1], [2], [4], [8], [16], [32]], 32>
tt.func public @copied(%p: tensor<128x!tt.ptr<f32>, #tile>, %a: !ttg.buffer<1 x f32, #row>) {
  // expected-error @below {{pointers, mask and buffer differ in shape}}
  ttg.copy_async %p, %a : tensor<128x!tt.ptr<f32>, #tile> -> !ttg.buffer<1 x f32, #row>
  tt.return
}

// -----

#row = #ttg.shared<64, offset [[1], [2], [4], [8], [16], [32]], 32>
#other = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @stage(%a: !ttg.buffer<2 x f32, #row>, %i: i32) {
  // expected-error @below {{a stage has the element type and the layout of its buffer}}
  %s = ttg.stage %a[%i] : !ttg.buffer<2 x f32, #row> -> <1 x f32, #other>
  tt.return
}

// -----

#row = #ttg.shared<8x8, offset [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], 32>
tt.func public @order_of_view(%a: !ttg.buffer<1 x f32, #row>) {
  // expected-error @below {{its order is not a permutation of its dimensions}}
  %v = ttg.view %a {order = array<i32: 1, 1>} : <1 x f32, #row> -> <1 x f32, #row>
  tt.return
}

// -----

#row = #ttg.shared<64, offset [[1], [2], [4], [8], [16], [32]], 32>
#part = #ttg.shared<32, offset [[1], [2], [4], [8], [16]], 32>
tt.func public @end_of_view(%a: !ttg.buffer<1 x f32, #row>) {
  // expected-error @below {{its elements are not those of its buffer}}
  %v = ttg.view %a {order = array<i32>, first = 48 : i32} : <1 x f32, #row> -> <1 x f32, #part>
  tt.return
}

// -----

tt.func public @barrier() {
  // expected-error @below {{is one of all partitions, or one of all CTAs}}
  ttg.cta_barrier {allWarps, allCtas}
  tt.return
}

// -----

tt.func public @arrivals(%w: !ttg.barriers<1>) {
  // expected-error @below {{has a positive number of arrivals for each allocation}}
  ttg.init_barriers %w arrivals [1, 2] : !ttg.barriers<1>
  tt.return
}

// -----

tt.func public @no_arrivals() {
  // expected-error @below {{attribute 'arrivals' failed to satisfy constraint}}
  %w = ttg.alloc_barriers {arrivals = 0 : i32} : !ttg.barriers<1>
  tt.return
}

// -----

tt.func public @arrives(%w: !ttg.barriers<1>, %i: i32) {
  // expected-error @below {{arrives in all CTAs or in the first one}}
  ttg.barrier_arrive %w[%i] {inAllCtas, toFirstCta} : !ttg.barriers<1>
  tt.return
}

// -----

#row = #ttg.shared<64, offset [[1], [2], [4], [8], [16], [32]], 32>
tt.func public @no_coordinates(%m: !ptx.tensor_map, %a: !ttg.buffer<1 x f32, #row>) {
  // expected-error @below {{a tensor map has 1 to 5 dimensions}}
  ttg.tma_store %a to %m[] : !ttg.buffer<1 x f32, #row>
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
tt.func public @order_of_load(%m: !ptx.tensor_map, %i: i32) {
  // expected-error @below {{its order does not give each dimension of the tile one of the map}}
  %x = ttg.descriptor_load %m[%i] {order = array<i32: 1>} : tensor<128xf32, #tile>
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
tt.func public @order_of_store(%m: !ptx.tensor_map, %i: i32, %x: tensor<128xf32, #tile>) {
  // expected-error @below {{its order does not give each dimension of the tile one of the map}}
  ttg.descriptor_store %x to %m[%i] {order = array<i32: 0, 1>} : tensor<128xf32, #tile>
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
tt.func public @computed(%x: tensor<128xf32, #tile>) {
  // expected-error @below {{has 1 tiles, not 2}}
  %y = ttg.mma_async_wait 0, %x : tensor<128xf32, #tile> {computed = 2 : i32} -> tensor<128xf32, #tile>
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
tt.func public @extents(%x: tensor<128xf32, #tile>) {
  // expected-error @below {{has an extent for each tile}}
  %y = ttg.mma_async_wait 0, %x : tensor<128xf32, #tile> {extents = []} -> tensor<128xf32, #tile>
  tt.return
}

// -----

#tile = #ttg.layout<8x8, reg [[0, 1]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[0, 0], [0, 0]]>
#a = #ttg.shared<8x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0]], 32>
#b = #ttg.shared<16x4, offset [[0, 1], [0, 2], [1, 0], [2, 0], [4, 0], [8, 0]], 32>
tt.func public @dot(%a: !ttg.buffer<1 x f32, #a>, %b: !ttg.buffer<1 x f32, #b>, %c: tensor<8x8xf32, #tile>) {
  // expected-error @below {{the result does not have the rows of a and the columns of b}}
  %d = ttg.fma_dot %a, %b, %c : !ttg.buffer<1 x f32, #a>, !ttg.buffer<1 x f32, #b> -> tensor<8x8xf32, #tile>
  tt.return
}

// -----

tt.func public @freed() {
  %t = ttg.tensor_alloc 64
  // expected-error @below {{frees what a tensor_alloc has allocated}}
  ttg.tensor_free %t, 128
  tt.return
}

// -----

tt.func public @columns(%t: i32) {
  // expected-error @below {{tensor memory has 512 columns}}
  %d = ttg.tensor_tile %t, 256 {depth = 2 : i32} : !ttg.tensor_memory<128x256xf32>
  tt.return
}

// -----

#rows = #ttg.layout<64, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [0]]>
tt.func public @factors(%f: tensor<64xf32, #rows>, %d: !ttg.tensor_memory<128x256xf32>) {
  // expected-error @below {{has a factor for each row}}
  ttg.tensor_scale %f, %d : tensor<64xf32, #rows>, !ttg.tensor_memory<128x256xf32>
  tt.return
}

// -----

tt.func public @circle(%w: !ttg.barriers<3>, %n: i32) {
  // expected-error @below {{MMAs use a power of two of barriers}}
  ttg.tcgen05_wait 0 of %w at %n : !ttg.barriers<3>
  tt.return
}

// -----

#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<32x8, offset [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], 16>
tt.func public @depth(%a: !ttg.buffer<1 x f16, #a>, %b: !ttg.buffer<1 x f16, #b>, %d: !ttg.tensor_memory<128x8xf32>, %t: i1) {
  // expected-error @below {{a has 16 columns, but b has 32 rows}}
  ttg.tcgen05_mma %a, %b, %d if %t : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b>, !ttg.tensor_memory<128x8xf32>
  tt.return
}

// -----

#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<16x8, offset [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], 16>
tt.func public @columns(%a: !ttg.buffer<1 x f16, #a>, %b: !ttg.buffer<1 x f16, #b>, %d: !ttg.tensor_memory<128x16xf32>, %t: i1) {
  // expected-error @below {{d must be 128x8}}
  ttg.tcgen05_mma %a, %b, %d if %t : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b>, !ttg.tensor_memory<128x16xf32>
  tt.return
}

// -----

#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<16x8, offset [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], 16>
tt.func public @scales(%a: !ttg.buffer<1 x f16, #a>, %b: !ttg.buffer<1 x f16, #b>, %d: !ttg.tensor_memory<128x8xf32>, %t: i1, %at: i32) {
  // expected-error @below {{scaled operands have scales, and columns for these}}
  "ttg.tcgen05_mma"(%a, %b, %d, %t, %at) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0, 1>}> : (!ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b>, !ttg.tensor_memory<128x8xf32>, i1, i32) -> ()
  tt.return
}

// -----

#a = #ttg.shared<128x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], 16>
#b = #ttg.shared<16x8, offset [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], 16>
tt.func public @number(%a: !ttg.buffer<1 x f16, #a>, %b: !ttg.buffer<1 x f16, #b>, %d: !ttg.tensor_memory<128x8xf32>, %t: i1, %at: i32) {
  // expected-error @below {{an MMA has barriers and a number, or neither}}
  "ttg.tcgen05_mma"(%a, %b, %d, %t, %at) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 0, 0>}> : (!ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b>, !ttg.tensor_memory<128x8xf32>, i1, i32) -> ()
  tt.return
}

// -----

tt.func public @too_few(%w: !ttg.barriers<2>, %n: i32) {
  // expected-error @below {{of 2 barriers, a later MMA uses that of the one that it waits for}}
  ttg.tcgen05_wait 2 of %w at %n : !ttg.barriers<2>
  tt.return
}

// -----

tt.func public @beyond_the_allocation() {
  %t = ttg.tensor_alloc 32
  // expected-error @below {{its allocation has 32 columns}}
  %d = ttg.tensor_tile %t, 256 : !ttg.tensor_memory<128x32xf32>
  tt.return
}

// -----

// expected-error @below {{failed to parse TTG_Buffer parameter 'layout'}}
// expected-error @below {{elements in shared memory have 8, 16, 32 or 64 bits}}
tt.func public @elements_without_bits(%b: !ttg.buffer<1 x f32, #ttg.shared<4, offset [[1], [2]], 0>>) {
  tt.return
}
