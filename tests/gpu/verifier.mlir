// Each rule for an operation or an attribute of the dialect, with a program that breaks it.
// RUN: tilewright opt %s --insert-barriers -split-input-file -verify-diagnostics

// expected-error @below {{ttg.config must be a #ttg.config}}
tt.func public @attribute_type() attributes {ttg.config = 4 : i32} {
  tt.return
}

// -----

// expected-error @below {{ttg.tensor_map must be a #ttg.tensor_map}}
tt.func public @type_of_map(%x: !ptx.tensor_map {ttg.tensor_map = 4 : i32}) {
  tt.return
}

// -----

// expected-error @below {{ttg.not_specialized must be a unit attribute}}
tt.func public @type_of_exclusion(%n: i32 {ttg.not_specialized = 4 : i32}) {
  tt.return
}

// -----

// expected-error @below {{ttg.max_value must be an integer}}
tt.func public @type_of_bound(%n: i32 {ttg.max_value}) {
  tt.return
}

// -----

tt.func public @attribute_place(%p: !tt.ptr<f32>) {
  // expected-error @below {{only scf.for has ttg.loop_schedule}}
  %x = tt.load %p {ttg.loop_schedule = #ttg.loop_schedule<requested 2 index_stage 0>} : !tt.ptr<f32>
  tt.return
}

// -----

tt.func public @partition(%p: !tt.ptr<f32>) {
  // expected-error @below {{ttg.partition must be a #ttg.partition}}
  %x = tt.load %p {ttg.partition} : !tt.ptr<f32>
  tt.return
}

// -----

#a = #ttg.shared<64x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#b = #ttg.shared<32x8, offset [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], 16>
#d = #ttg.layout<64x8, reg [[0, 1], [8, 0]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
tt.func public @depth(%a: !ttg.buffer<1 x f16, #a>, %b: !ttg.buffer<1 x f16, #b>, %c: tensor<64x8xf32, #d>) {
  // expected-error @below {{a has 16 columns, but b has 32 rows}}
  %d = ttg.mma_async %a, %b, %c : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> tensor<64x8xf32, #d>
  tt.return
}

// -----

#a = #ttg.shared<64x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
#b = #ttg.shared<16x8, offset [[0, 1], [0, 2], [0, 4], [1, 0], [2, 0], [4, 0], [8, 0]], 16>
#d = #ttg.layout<64x16, reg [[0, 1], [8, 0], [0, 8]], lane [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]], warp [[16, 0], [32, 0]]>
tt.func public @columns(%a: !ttg.buffer<1 x f16, #a>, %b: !ttg.buffer<1 x f16, #b>, %c: tensor<64x16xf32, #d>) {
  // expected-error @below {{the result does not have the rows of a and the columns of b}}
  %d = ttg.mma_async %a, %b, %c : !ttg.buffer<1 x f16, #a>, !ttg.buffer<1 x f16, #b> -> tensor<64x16xf32, #d>
  tt.return
}

// -----

#a = #ttg.shared<64x16, offset [[0, 1], [0, 2], [0, 4], [0, 8], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>
tt.func public @dimensions(%m: !ptx.tensor_map, %a: !ttg.buffer<1 x f16, #a>, %w: !ttg.barriers<1>, %c0: i32) {
  // expected-error @below {{a tensor map has 1 to 5 dimensions}}
  ttg.tma_load %m[%c0, %c0, %c0, %c0, %c0, %c0] to %a, %w[%c0] : !ttg.buffer<1 x f16, #a>, !ttg.barriers<1>
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#row = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @no_partition(%x: tensor<128xf32, #tile>, %a: !ttg.buffer<1 x f32, #row>) attributes {ttg.warp_specialized} {
  // expected-error @below {{has a mark of the partition 'operands', which its kernel does not have}}
  ttg.store_shared %x, %a {ttg.partition = #ttg.partition<operands>} : tensor<128xf32, #tile>, !ttg.buffer<1 x f32, #row>
  tt.return
}

// -----

// Consumers have no marks.
tt.func public @consumers() attributes {ttg.warp_specialized} {
  // expected-error @below {{has a mark of the partition 'consumers', which its kernel does not have}}
  ttg.fence_async {ttg.partition = #ttg.partition<consumers>}
  tt.return
}

// -----

#tile = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>
#row = #ttg.shared<128, offset [[1], [2], [4], [8], [16], [32], [64]], 32>
tt.func public @value_of_another_partition(%a: !ttg.buffer<1 x f32, #row>) attributes {ttg.warp_specialized} {
  // expected-error @below {{is run by the partition 'correction', but another one uses its result}}
  %x = ttg.load_shared %a {ttg.partition = #ttg.partition<correction>} : !ttg.buffer<1 x f32, #row> -> tensor<128xf32, #tile>
  ttg.store_shared %x, %a : tensor<128xf32, #tile>, !ttg.buffer<1 x f32, #row>
  tt.return
}

// -----

// expected-error @below {{an early MMA has no operand that threads store}}
tt.func public @plan() attributes {plan = #ttg.mma_plan<early result <0> operand <64> parts [16]>} {
  tt.return
}

// -----

// expected-error @below {{an operand that threads store needs ascending ends of its parts}}
tt.func public @plan() attributes {plan = #ttg.mma_plan<late result <0> operand <64>>} {
  tt.return
}

// -----

// expected-error @below {{an operand that threads store needs ascending ends of its parts}}
tt.func public @plan() attributes {plan = #ttg.mma_plan<late result <0> operand <64> parts [32, 16]>} {
  tt.return
}

// -----

// expected-error @below {{row groups take turns only to compute an operand that they store}}
tt.func public @plan() attributes {plan = #ttg.mma_plan<in_place result <0> ping_pong true>} {
  tt.return
}

// -----

// expected-error @below {{the correction partition changes the sums of rescaled MMAs only}}
tt.func public @plan() attributes {plan = #ttg.mma_plan<late result <0> correction 0>} {
  tt.return
}

// -----

// expected-error @below {{only an argument has ttg.max_value}}
tt.func public @bound_of_kernel() attributes {ttg.max_value = 3 : i32} {
  tt.return
}

// -----

// expected-error @below {{no argument has ttg.vector}}
tt.func public @vector_of_argument(%p: !tt.ptr<f16> {ttg.vector = 2 : i32}) {
  tt.return
}
