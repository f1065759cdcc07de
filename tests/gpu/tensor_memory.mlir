// RUN: tilewright opt %s -split-input-file -verify-diagnostics | FileCheck %s
// RUN: tilewright opt %s -split-input-file -verify-diagnostics | tilewright opt - -split-input-file | FileCheck %s

#acc = #ttg.layout<128x64, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp [[32, 0], [64, 0]]>
#a = #ttg.shared<128x32, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [64, 0]], 8>
#s = #ttg.shared<128x4, offset [[0, 1], [0, 2], [32, 0], [64, 0], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], 8>

// CHECK-LABEL: tt.func @text
// CHECK: %[[m:.*]] = ttg.tensor_alloc 128
// CHECK: %[[t:.*]] = ttg.tensor_tile %[[m]], 64 : <128x64xf32>
// CHECK: ttg.tensor_store %{{.*}}, %[[t]] : tensor<128x64xf32, #{{.*}}>, <128x64xf32>
// CHECK: ttg.tcgen05_mma %{{.*}}, %{{.*}}, %[[t]] if %{{.*}} to %{{.*}} : !ttg.barriers<2> at %{{.*}} scales %{{.*}} : {{.*}} in %[[m]] <a = f4E2M1FN, b = f4E2M1FN, block = 32>
// CHECK: ttg.tcgen05_mma %{{.*}}, %{{.*}}, %[[t]] if %{{[a-z0-9]+}} : !ttg.buffer<1 x i8
// CHECK: ttg.tcgen05_commit %{{.*}}[%{{.*}}] : <2>
// CHECK: ttg.tensor_stage %[[t]][%{{.*}}] : <128x64xf32>
// CHECK: ttg.tcgen05_wait 1 of %{{.*}} at %{{.*}} : <2>
// CHECK: ttg.tensor_load %[[t]] : <128x64xf32> -> tensor<128x64xf32
// CHECK: ttg.tensor_free %[[m]]
#b = #ttg.shared<32x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], 8>
tt.func @text(%x: tensor<128x64xf32, #acc>, %n: i32, %yes: i1) {
  %m = ttg.tensor_alloc 128
  %t = ttg.tensor_tile %m, 64 : !ttg.tensor_memory<128x64xf32>
  %w = ttg.alloc_barriers : !ttg.barriers<2>
  %a = ttg.alloc : !ttg.buffer<1 x i8, #a>
  %b = ttg.alloc : !ttg.buffer<1 x i8, #b>
  %s = ttg.alloc : !ttg.buffer<1 x i8, #s>
  ttg.tensor_store %x, %t : tensor<128x64xf32, #acc>, !ttg.tensor_memory<128x64xf32>
  ttg.tcgen05_mma %a, %b, %t if %yes to %w : !ttg.barriers<2> at %n scales %s : !ttg.buffer<1 x i8, #s>, %s : !ttg.buffer<1 x i8, #s> in %m <a = f4E2M1FN, b = f4E2M1FN, block = 32>
    : !ttg.buffer<1 x i8, #a>, !ttg.buffer<1 x i8, #b>, !ttg.tensor_memory<128x64xf32>
  ttg.tcgen05_mma %a, %b, %t if %yes : !ttg.buffer<1 x i8, #a>, !ttg.buffer<1 x i8, #b>, !ttg.tensor_memory<128x64xf32>
  ttg.tcgen05_commit %w[%n] : !ttg.barriers<2>
  %u = ttg.tensor_stage %t[%n] : !ttg.tensor_memory<128x64xf32>
  ttg.tcgen05_wait 1 of %w at %n : !ttg.barriers<2>
  %y = ttg.tensor_load %t : !ttg.tensor_memory<128x64xf32> -> tensor<128x64xf32, #acc>
  ttg.tensor_free %m, 128
  tt.return
}

// -----

// expected-error @below {{a tile in tensor memory has 64 or a multiple of 128 rows, and elements of 8, 16 or 32 bits}}
tt.func private @rows(!ttg.tensor_memory<32x64xf32>)

// -----

// expected-error @below {{a tile in tensor memory has 64 or a multiple of 128 rows, and elements of 8, 16 or 32 bits}}
tt.func private @bits(!ttg.tensor_memory<128x64xf64>)

// -----

tt.func @columns() {
  // expected-error @below {{'ttg.tensor_alloc' op attribute 'columns' failed to satisfy constraint}}
  %m = ttg.tensor_alloc 96
  tt.return
}

// -----

#acc = #ttg.layout<128x32, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp [[32, 0], [64, 0]]>
tt.func @shapes(%m: !ttg.tensor_memory<128x64xf32>) {
  // expected-error @below {{moves a tile between types that differ in shape or element type}}
  %x = ttg.tensor_load %m : !ttg.tensor_memory<128x64xf32> -> tensor<128x32xf32, #acc>
  tt.return
}

// -----

#acc = #ttg.layout<128x64, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp [[32, 0], [64, 0]]>
tt.func @stored(%x: tensor<128x64xf16, #acc>, %m: !ttg.tensor_memory<128x64xf16>) {
  // CHECK-LABEL: @stored
  // CHECK: ttg.tensor_store {{.*}} {range = array<i32: 16, 64>}
  ttg.tensor_store %x, %m {range = array<i32: 16, 64>} : tensor<128x64xf16, #acc>, !ttg.tensor_memory<128x64xf16>
  tt.return
}

// -----

#acc = #ttg.layout<128x64, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [16, 0]], warp [[32, 0], [64, 0]]>
tt.func @beyond(%x: tensor<128x64xf16, #acc>, %m: !ttg.tensor_memory<128x64xf16>) {
  // expected-error @below {{a range of 64 elements starts and ends at multiples of 2}}
  ttg.tensor_store %x, %m {range = array<i32: 32, 96>} : tensor<128x64xf16, #acc>, !ttg.tensor_memory<128x64xf16>
  tt.return
}

// -----

#acc = #ttg.layout<64x64, reg [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], lane [[1, 0], [2, 0], [4, 0], [8, 0], [0, 32]], warp [[16, 0], [32, 0]]>
tt.func @halves(%x: tensor<64x64xf16, #acc>, %m: !ttg.tensor_memory<64x64xf16>) {
  // expected-error @below {{of 64 rows, two halves are stored at the same time}}
  ttg.tensor_store %x, %m {range = array<i32: 0, 32>} : tensor<64x64xf16, #acc>, !ttg.tensor_memory<64x64xf16>
  tt.return
}

// -----

#b = #ttg.shared<32x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0]], 16>
tt.func @depth(%a: !ttg.tensor_memory<128x32xf16>, %b: !ttg.buffer<1 x f16, #b>, %d: !ttg.tensor_memory<128x64xf32>, %yes: i1) {
  // CHECK-LABEL: @depth
  // CHECK: ttg.tcgen05_mma {{.*}} {kRange = array<i32: 16, 32>}
  ttg.tcgen05_mma %a, %b, %d if %yes {kRange = array<i32: 16, 32>} : !ttg.tensor_memory<128x32xf16>, !ttg.buffer<1 x f16, #b>, !ttg.tensor_memory<128x64xf32>
  tt.return
}

// -----

#b = #ttg.shared<32x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0], [16, 0]], 16>
tt.func @half_a_step(%a: !ttg.tensor_memory<128x32xf16>, %b: !ttg.buffer<1 x f16, #b>, %d: !ttg.tensor_memory<128x64xf32>, %yes: i1) {
  // expected-error @below {{a range of 32 elements starts and ends at multiples of 16}}
  ttg.tcgen05_mma %a, %b, %d if %yes {kRange = array<i32: 0, 8>} : !ttg.tensor_memory<128x32xf16>, !ttg.buffer<1 x f16, #b>, !ttg.tensor_memory<128x64xf32>
  tt.return
}
