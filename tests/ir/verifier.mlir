// RUN: tilewright-opt %s -split-input-file -verify-diagnostics
// Each operation's own rules, and the messages for broken ones.

tt.func @range_type() {
  // expected-error @+1 {{has 64 elements, but its type is 'tensor<32xi32>'}}
  %r = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<32xi32>
  tt.return
}

// -----

tt.func @range_empty() {
  // expected-error @+1 {{must end (4) after its start (4)}}
  %r = tt.make_range {end = 4 : i32, start = 4 : i32} : tensor<4xi32>
  tt.return
}

// -----

tt.func @power_of_two() {
  // expected-error @+1 {{dimension of 48 elements, which is not a power of two}}
  %r = tt.make_range {end = 48 : i32, start = 0 : i32} : tensor<48xi32>
  tt.return
}

// -----

tt.func @too_large(%x: i32) {
  // expected-error @+1 {{more than 1048576 elements}}
  %t = tt.splat %x : i32 -> tensor<2048x1024xi32>
  tt.return
}

// -----

tt.func @broadcast_size(%x: tensor<4x1xi32>) {
  // expected-error @+1 {{cannot repeat dimension 0: 4 to 8}}
  %t = tt.broadcast %x : tensor<4x1xi32> -> tensor<8x8xi32>
  tt.return
}

// -----

tt.func @expand_axis(%x: tensor<4xi32>) {
  // expected-error @+1 {{at axis 0 cannot be 'tensor<4x1xi32>'}}
  %t = tt.expand_dims %x {axis = 0 : i32} : tensor<4xi32> -> tensor<4x1xi32>
  tt.return
}

// -----

tt.func @reshape_count(%x: tensor<4xi32>) {
  // expected-error @+1 {{cannot change the number of elements}}
  %t = tt.reshape %x : tensor<4xi32> -> tensor<8xi32>
  tt.return
}

// -----

tt.func @trans_order(%x: tensor<4x8xi32>) {
  // expected-error @+1 {{order is not a permutation of 0 to 1}}
  %t = tt.trans %x {order = array<i32: 1, 1>} : tensor<4x8xi32> -> tensor<8x8xi32>
  tt.return
}

// -----

tt.func @addptr_shape(%p: tensor<4x!tt.ptr<f32>>, %o: i32) {
  // expected-error @+1 {{pointers and offsets of different shapes}}
  %q = tt.addptr %p, %o : tensor<4x!tt.ptr<f32>>, i32
  tt.return
}

// -----

tt.func @load_check(%p: tensor<4x!tt.ptr<f32>>) {
  // expected-error @+1 {{has boundaryCheck, which only a block pointer has}}
  %v = tt.load %p {boundaryCheck = array<i32: 0>} : tensor<4x!tt.ptr<f32>>
  tt.return
}

// -----

tt.func @block_dimension(%p: !tt.ptr<tensor<4xf32>>) {
  // expected-error @+1 {{checks dimension 1 of a tile that has 1}}
  %v = tt.load %p {boundaryCheck = array<i32: 1>} : !tt.ptr<tensor<4xf32>>
  tt.return
}

// -----

tt.func @atomic_kind(%p: !tt.ptr<f32>, %v: f32) {
  // expected-error @+1 {{cannot do 'umax' on 'f32'}}
  %o = tt.atomic_rmw umax, acq_rel, gpu, %p, %v : (!tt.ptr<f32>, f32) -> f32
  tt.return
}

// -----

tt.func @dot_inner(%a: tensor<16x32xf32>, %b: tensor<16x16xf32>, %c: tensor<16x16xf32>) {
  // expected-error @+1 {{inner sizes differ}}
  %d = tt.dot %a, %b, %c : tensor<16x32xf32> * tensor<16x16xf32> -> tensor<16x16xf32>
  tt.return
}

// -----

tt.func @reduce_axis(%x: tensor<16xf32>) {
  // expected-error @+1 {{has axis 1 of 'tensor<16xf32>'}}
  %r = "tt.reduce"(%x) <{axis = 1 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    tt.reduce.return %a : f32
  }) : (tensor<16xf32>) -> f32
  tt.return
}

// -----

tt.func @reduce_region(%x: tensor<16xf32>) {
  // expected-error @+1 {{combines pairs of 1 values, but its region has 1 arguments}}
  %r = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32):
    tt.reduce.return %a : f32
  }) : (tensor<16xf32>) -> f32
  tt.return
}

// -----

tt.func @map_pack(%t: tensor<16xi32>, %x: f32) {
  // expected-error @+1 {{cannot take 3 elements at a time of a tile of 16}}
  %r = "tt.map_elementwise"(%t) <{pack = 3 : i32}> ({
  ^bb0(%a: i32, %b: i32, %c: i32):
    tt.map_elementwise.return %x, %x, %x : f32, f32, f32
  }) : (tensor<16xi32>) -> tensor<16xf32>
  tt.return
}

// -----

tt.func @map_no_pack(%t: tensor<16xi32>, %x: f32) {
  // expected-error @+1 {{cannot take 0 elements at a time of a tile of 16}}
  %r = "tt.map_elementwise"(%t) <{pack = 0 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    tt.map_elementwise.return %x, %x : f32, f32
  }) : (tensor<16xi32>) -> tensor<16xf32>
  tt.return
}

// -----

tt.func @map_arguments(%t: tensor<16xi32>, %x: f32) {
  // expected-error @+1 {{has 1 region arguments for 2 elements of each of 1 tiles}}
  %r = "tt.map_elementwise"(%t) <{pack = 2 : i32}> ({
  ^bb0(%a: i32):
    tt.map_elementwise.return %x, %x : f32, f32
  }) : (tensor<16xi32>) -> tensor<16xf32>
  tt.return
}

// -----

tt.func @map_argument_type(%t: tensor<16xi32>, %x: f32) {
  // expected-error @+1 {{has region arguments of type 'f32' for elements of 'tensor<16xi32>'}}
  %r = "tt.map_elementwise"(%t) <{pack = 2 : i32}> ({
  ^bb0(%a: i32, %b: f32):
    tt.map_elementwise.return %x, %x : f32, f32
  }) : (tensor<16xi32>) -> tensor<16xf32>
  tt.return
}

// -----

tt.func @map_results(%t: tensor<16xi32>, %x: f32) {
  // expected-error @+1 {{has 3 returned values for 2 elements of each of 1 tiles}}
  %r = "tt.map_elementwise"(%t) <{pack = 2 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    tt.map_elementwise.return %x, %x, %x : f32, f32, f32
  }) : (tensor<16xi32>) -> tensor<16xf32>
  tt.return
}

// -----

tt.func @map_result_type(%t: tensor<16xi32>, %x: f32) {
  // expected-error @+1 {{has returned values of type 'i32' for elements of 'tensor<16xf32>'}}
  %r = "tt.map_elementwise"(%t) <{pack = 2 : i32}> ({
  ^bb0(%a: i32, %b: i32):
    tt.map_elementwise.return %a, %b : i32, i32
  }) : (tensor<16xi32>) -> tensor<16xf32>
  tt.return
}

// -----

tt.func @gather_shape(%x: tensor<16x8xf32>, %i: tensor<16x4xi32>) {
  // expected-error @+1 {{dimension 1 is 4, but the source's is 8}}
  %g = tt.gather %x[%i] {axis = 0 : i32} : (tensor<16x8xf32>, tensor<16x4xi32>) -> tensor<16x4xf32>
  tt.return
}

// -----

tt.func @return_type(%x: i32) -> f32 {
  // expected-error @+1 {{returns 'i32' as result 0 of @return_type, which is 'f32'}}
  tt.return %x : i32
}

// -----

tt.func @unknown_callee() {
  // expected-error @+1 {{calls @nobody, but this module has no such function}}
  tt.call @nobody() : () -> ()
  tt.return
}

// -----

tt.func @block_rank(%p: !tt.ptr<f16>, %n: i64, %o: i32) {
  // expected-error @+1 {{needs shape, strides and offsets for each of the 2 dimensions}}
  %b = tt.make_tensor_ptr %p, [%n], [%n], [%o] {order = array<i32: 0>} : <tensor<4x4xf16>>
  tt.return
}

// -----

tt.func @descriptor_tile(%d: !tt.tensordesc<tensor<4x16xf16>>, %o: i32) {
  // expected-error @+1 {{for a descriptor of blocks of 'tensor<4x16xf16>'}}
  %v = tt.descriptor_load %d[%o, %o] : !tt.tensordesc<tensor<4x16xf16>> -> tensor<8x16xf16>
  tt.return
}

// -----

tt.func @packed(%x: tensor<16xi8>) {
  // expected-error @+1 {{takes a power of two of elements at once, at most 128, not 1000000}}
  %y = tt.elementwise_inline_asm "lop3 $0, $1" {constraints = "=r,r", packed_element = 1000000 : i32, pure = true} %x : tensor<16xi8> -> tensor<16xi8>
  tt.return
}

// -----

tt.func @packed_nothing(%x: tensor<16xi8>) {
  // expected-error @+1 {{takes a power of two of elements at once, at most 128, not 0}}
  %y = tt.elementwise_inline_asm "lop3 $0, $1" {constraints = "=r,r", packed_element = 0 : i32, pure = true} %x : tensor<16xi8> -> tensor<16xi8>
  tt.return
}

// -----

tt.func @sorted(%x: tensor<2x16xf32>) {
  // expected-error @+1 {{the length of a line must be a power of two and must not grow}}
  %y = tt.sort %x : tensor<2x16xf32> -> tensor<2x32xf32>
  tt.return
}
