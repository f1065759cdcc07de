// RUN: tilewright compile %s --kernel bf16 --emit asm --target cpu:avx512-dot | FileCheck %s --check-prefix=BF16
// RUN: tilewright compile %s --kernel bytes --emit asm --target cpu:avx512-dot | FileCheck %s --check-prefix=BYTES
// RUN: tilewright compile %s --kernel bf16 --emit asm --target cpu:avx512 | FileCheck %s --check-prefix=FP32
// RUN: tilewright compile %s --kernel bytes --emit asm --target cpu:avx512 | FileCheck %s --check-prefix=WORDS
// RUN: tilewright compile %s --kernel bytes --emit loops --target cpu:avx512-dot | FileCheck %s --check-prefix=SUMS
// Dots of narrow types use their own instructions if the CPU has them; otherwise the operands are upcast while they are packed.

// BF16-NOT: vfmadd
// BF16: vdpbf16ps
// BF16-NOT: vfmadd
// FP32-NOT: vdpbf16ps
// FP32: vfmadd
// FP32-NOT: vdpbf16ps
tt.func public @bf16(%a: !tt.ptr<bf16>, %b: !tt.ptr<bf16>, %c: !tt.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %rows = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %length = arith.constant dense<64> : tensor<64x1xi32>
  %starts = arith.muli %rows, %length : tensor<64x1xi32>
  %down = tt.broadcast %starts : tensor<64x1xi32> -> tensor<64x64xi32>
  %along = tt.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %at = arith.addi %down, %along : tensor<64x64xi32>
  %as = tt.splat %a : !tt.ptr<bf16> -> tensor<64x64x!tt.ptr<bf16>>
  %ap = tt.addptr %as, %at : tensor<64x64x!tt.ptr<bf16>>, tensor<64x64xi32>
  %x = tt.load %ap : tensor<64x64x!tt.ptr<bf16>>
  %bs = tt.splat %b : !tt.ptr<bf16> -> tensor<64x64x!tt.ptr<bf16>>
  %bp = tt.addptr %bs, %at : tensor<64x64x!tt.ptr<bf16>>, tensor<64x64xi32>
  %y = tt.load %bp : tensor<64x64x!tt.ptr<bf16>>
  %d = tt.dot %x, %y, %zero : tensor<64x64xbf16> * tensor<64x64xbf16> -> tensor<64x64xf32>
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %at : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %cp, %d : tensor<64x64x!tt.ptr<f32>>
  tt.return
}

// One operand of the instruction has unsigned bytes: packing adds 128 to B's bytes. Sums start from -128 times the sums of A's rows, which
// are read in place, at least sixteen elements at once.
// SUMS-LABEL: @bytes.program
// SUMS: arith.xori {{.*}} : vector<64xi8>
// SUMS: scf.for {{.*}} iter_args({{.*}}) -> (vector<16xi32>)
// SUMS: llvm.load {{.*}} -> vector<64xi8>
// SUMS: vpdpbusd
// SUMS: scf.yield
// SUMS: arith.subi {{.*}} : i32
// SUMS-NOT: llvm.store {{.*}} : vector<64xi8>
// SUMS: vpdpbusd
// BYTES-NOT: vpmaddwd
// BYTES: vpdpbusd
// BYTES-NOT: vpmaddwd
// WORDS-NOT: vpdpbusd
// WORDS: vpmaddwd
// WORDS-NOT: vpdpbusd
tt.func public @bytes(%a: !tt.ptr<i8>, %b: !tt.ptr<i8>, %c: !tt.ptr<i32>) {
  %zero = arith.constant dense<0> : tensor<64x64xi32>
  %i = tt.make_range {end = 64 : i32, start = 0 : i32} : tensor<64xi32>
  %rows = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %columns = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %length = arith.constant dense<64> : tensor<64x1xi32>
  %starts = arith.muli %rows, %length : tensor<64x1xi32>
  %down = tt.broadcast %starts : tensor<64x1xi32> -> tensor<64x64xi32>
  %along = tt.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %at = arith.addi %down, %along : tensor<64x64xi32>
  %as = tt.splat %a : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>>
  %ap = tt.addptr %as, %at : tensor<64x64x!tt.ptr<i8>>, tensor<64x64xi32>
  %x = tt.load %ap : tensor<64x64x!tt.ptr<i8>>
  %bs = tt.splat %b : !tt.ptr<i8> -> tensor<64x64x!tt.ptr<i8>>
  %bp = tt.addptr %bs, %at : tensor<64x64x!tt.ptr<i8>>, tensor<64x64xi32>
  %y = tt.load %bp : tensor<64x64x!tt.ptr<i8>>
  %d = tt.dot %x, %y, %zero : tensor<64x64xi8> * tensor<64x64xi8> -> tensor<64x64xi32>
  %cs = tt.splat %c : !tt.ptr<i32> -> tensor<64x64x!tt.ptr<i32>>
  %cp = tt.addptr %cs, %at : tensor<64x64x!tt.ptr<i32>>, tensor<64x64xi32>
  tt.store %cp, %d : tensor<64x64x!tt.ptr<i32>>
  tt.return
}
