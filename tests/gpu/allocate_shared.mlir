// RUN: tilewright opt %s --allocate-shared -split-input-file -verify-diagnostics | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// Three buffers with disjoint live ranges share bytes.
// CHECK-LABEL: tt.func @share
// CHECK-SAME: ttg.shared_bytes = 8192
tt.func @share(%t: tensor<64x64xf16, #tile>) attributes {ttg.config = #config} {
  // CHECK: ttg.alloc {ttg.offset = 0 : i64}
  %a = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  // CHECK-NEXT: ttg.alloc {ttg.offset = 0 : i64}
  // CHECK: ttg.convert_layout {{.*}} {ttg.offset = 0 : i64}
  %b = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  ttg.store_shared %t, %a : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
  %x = ttg.load_shared %a : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
  ttg.store_shared %x, %b : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
  %y = ttg.load_shared %b : !ttg.buffer<1 x f16, #shared> -> tensor<64x64xf16, #tile>
  %z = ttg.convert_layout %y : tensor<64x64xf16, #tile> -> tensor<64x64xf16, #turned>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// A buffer that is live throughout a loop keeps its bytes: the conversion's scratch comes after it. Barriers come after everything.
// CHECK-LABEL: tt.func @loop
// CHECK-SAME: ttg.shared_bytes = 32784
tt.func @loop(%t: tensor<64x64xf16, #tile>, %n: i32) attributes {ttg.config = #config} {
  // CHECK: ttg.alloc_barriers {ttg.offset = 32768 : i64}
  %w = ttg.alloc_barriers : !ttg.barriers<2>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // CHECK: ttg.alloc {ttg.offset = 0 : i64}
  %a = ttg.alloc : !ttg.buffer<3 x f16, #shared>
  scf.for %i = %c0 to %n step %c1 : i32 {
    %s = ttg.stage %a[%c1] : !ttg.buffer<3 x f16, #shared> -> !ttg.buffer<1 x f16, #shared>
    ttg.store_shared %t, %s : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
    // CHECK: ttg.convert_layout {{.*}} {ttg.offset = 24576 : i64}
    %z = ttg.convert_layout %t : tensor<64x64xf16, #tile> -> tensor<64x64xf16, #turned>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// A TMA store that is waited for after the loop reads its buffer while the next iteration begins: nothing else has these bytes there.
// CHECK-LABEL: tt.func @next_iteration
tt.func @next_iteration(%t: tensor<64x64xf16, #tile>, %n: i32, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    // CHECK: ttg.convert_layout {{.*}} {ttg.offset = 0 : i64}
    %z = ttg.convert_layout %t : tensor<64x64xf16, #tile> -> tensor<64x64xf16, #turned>
    // CHECK: ttg.alloc {ttg.offset = 8192 : i64}
    %a = ttg.alloc : !ttg.buffer<1 x f16, #shared>
    ttg.store_shared %t, %a : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
    ttg.tma_store %a to %m[%c0, %c0] : !ttg.buffer<1 x f16, #shared>
  }
  ttg.tma_store_wait 0
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#turned = #ttg.layout<64x64, reg [[0, 32], [0, 16], [0, 8], [1, 0], [2, 0]], lane [[4, 0], [8, 0], [16, 0], [32, 0], [0, 1]], warp [[0, 2], [0, 4]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// A wait in a branch, which may not be taken, ends nothing after it. The wait after the branch does.
// CHECK-LABEL: tt.func @wait_in_branch
tt.func @wait_in_branch(%t: tensor<64x64xf16, #tile>, %if: i1, %m: !ptx.tensor_map) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  // CHECK: ttg.alloc {ttg.offset = 0 : i64}
  %a = ttg.alloc : !ttg.buffer<1 x f16, #shared>
  ttg.store_shared %t, %a : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
  ttg.tma_store %a to %m[%c0, %c0] : !ttg.buffer<1 x f16, #shared>
  scf.if %if {
    ttg.tma_store_wait 0
  }
  // CHECK: ttg.convert_layout {{.*}} {ttg.offset = 8192 : i64}
  %z = ttg.convert_layout %t : tensor<64x64xf16, #tile> -> tensor<64x64xf16, #turned>
  ttg.tma_store_wait 0
  // CHECK: ttg.convert_layout {{.*}} {ttg.offset = 0 : i64}
  %y = ttg.convert_layout %t : tensor<64x64xf16, #tile> -> tensor<64x64xf16, #turned>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_86">
#tile = #ttg.layout<64x64, reg [[32, 0], [16, 0], [8, 0], [0, 1], [0, 2]], lane [[0, 4], [0, 8], [0, 16], [0, 32], [1, 0]], warp [[2, 0], [4, 0]]>
#shared = #ttg.shared<64x64, offset [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0]], 16>

// expected-error @+1 {{out of resource: shared memory, Required: 131072, Hardware limit: 101376}}
tt.func @large(%t: tensor<64x64xf16, #tile>) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  // expected-note @+1 {{131072 bytes: 16 x tile of 64x64 'f16'}}
  %a = ttg.alloc : !ttg.buffer<16 x f16, #shared>
  %s = ttg.stage %a[%c0] : !ttg.buffer<16 x f16, #shared> -> !ttg.buffer<1 x f16, #shared>
  ttg.store_shared %t, %s : tensor<64x64xf16, #tile>, !ttg.buffer<1 x f16, #shared>
  tt.return
}
