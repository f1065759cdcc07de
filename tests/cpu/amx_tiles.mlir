// RUN: tilewright compile %S/narrow_dots.mlir --kernel bf16 --emit asm --target cpu:amx | FileCheck %s --check-prefix=BF16
// RUN: tilewright compile %S/narrow_dots.mlir --kernel bytes --emit asm --target cpu:amx | FileCheck %s --check-prefix=BYTES
// RUN: sed -e s/bf16/f16/g -e s/64/128/g %S/narrow_dots.mlir > %t.mlir
// RUN: tilewright compile %t.mlir --kernel f16 --emit asm --target cpu:amx | FileCheck %s --check-prefix=HALVES
// RUN: sed s/bf16/f16/g %S/narrow_dots.mlir > %t.few.mlir
// RUN: tilewright compile %t.few.mlir --kernel f16 --emit asm --target cpu:amx | FileCheck %s --check-prefix=FEW
// RUN: tilewright compile %s --emit asm --target cpu:amx | FileCheck %s --check-prefix=SMALL
// On a machine with matrix instructions, tiles are configured once for all programs that a call runs, and released afterwards.

// BF16-NOT: vdpbf16ps
// BF16: tilezero %tmm0
// BF16: tdpbf16ps %tmm6, %tmm4, %tmm0
// BF16: tdpbf16ps %tmm7, %tmm4, %tmm1
// BF16: tdpbf16ps %tmm6, %tmm5, %tmm2
// BF16: tdpbf16ps %tmm7, %tmm5, %tmm3
// BF16: bf16.entry:
// BF16: ldtilecfg
// BF16: tilerelease
// BF16-NOT: vdpbf16ps

// BYTES-NOT: vpdpbusd
// BYTES: tdpbssd %tmm7, %tmm5, %tmm3
// BYTES: bytes.entry:
// BYTES: ldtilecfg
// BYTES: tilerelease

// Without instructions for fp16, each number is two of bf16: two planes of each operand, four products of a tile in each.
// HALVES-NOT: vfmadd
// HALVES: tileloadd
// HALVES: tdpbf16ps %tmm6, %tmm4, %tmm0
// HALVES: tdpbf16ps %tmm7, %tmm5, %tmm3
// HALVES: tileloadd
// HALVES: tdpbf16ps %tmm6, %tmm4, %tmm0
// HALVES: tdpbf16ps %tmm7, %tmm5, %tmm3
// HALVES-NOT: vfmadd

// For fewer sums it would take longer to cut the numbers in two than is saved.
// FEW-NOT: tdpbf16ps
// FEW: vfmadd
// FEW-NOT: tdpbf16ps

// Products that do not fill a tile are left to vectors: 16 elements of k are half a tile.
// SMALL-NOT: tilecfg
// SMALL-NOT: vdpbf16ps
// SMALL: vfmadd
// SMALL-NOT: tilerelease
tt.func public @small(%a: !tt.ptr<bf16>, %c: !tt.ptr<f32>) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %i = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>
  %rows = tt.expand_dims %i {axis = 1 : i32} : tensor<16xi32> -> tensor<16x1xi32>
  %columns = tt.expand_dims %i {axis = 0 : i32} : tensor<16xi32> -> tensor<1x16xi32>
  %length = arith.constant dense<16> : tensor<16x1xi32>
  %starts = arith.muli %rows, %length : tensor<16x1xi32>
  %down = tt.broadcast %starts : tensor<16x1xi32> -> tensor<16x16xi32>
  %along = tt.broadcast %columns : tensor<1x16xi32> -> tensor<16x16xi32>
  %at = arith.addi %down, %along : tensor<16x16xi32>
  %as = tt.splat %a : !tt.ptr<bf16> -> tensor<16x16x!tt.ptr<bf16>>
  %ap = tt.addptr %as, %at : tensor<16x16x!tt.ptr<bf16>>, tensor<16x16xi32>
  %x = tt.load %ap : tensor<16x16x!tt.ptr<bf16>>
  %d = tt.dot %x, %x, %zero : tensor<16x16xbf16> * tensor<16x16xbf16> -> tensor<16x16xf32>
  %cs = tt.splat %c : !tt.ptr<f32> -> tensor<16x16x!tt.ptr<f32>>
  %cp = tt.addptr %cs, %at : tensor<16x16x!tt.ptr<f32>>, tensor<16x16xi32>
  tt.store %cp, %d : tensor<16x16x!tt.ptr<f32>>
  tt.return
}
