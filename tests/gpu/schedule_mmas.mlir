// The order of MMAs is an attribute of the loop, which is read back from its text. overlap-mmas moves operations by it.
// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops --pipeline-loops --copy-unpipelined --schedule-mmas -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: tilewright opt %t.mlir --overlap-mmas -o %t.again.mlir
// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops --pipeline-loops --copy-unpipelined --schedule-mmas --overlap-mmas -o %t.at_once.mlir
// RUN: diff %t.again.mlir %t.at_once.mlir
// RUN: FileCheck %s --input-file %t.again.mlir --check-prefix=MOVED

// The row's load moves first. The second scores follow the first ones. One wait ends the two accumulating MMAs.
// CHECK: #[[schedule:.*]] = #ttg.mma_schedule<ops [<0>
// CHECK-SAME: edges [
// CHECK: scf.for
// CHECK: ttg.mma_async {{.*}}ttg.id
// CHECK-NEXT: ttg.mma_async_wait 0
// CHECK: ttg.mma_schedule = #[[schedule]]
// MOVED: scf.for
// MOVED: ttg.mma_async
// MOVED-NOT: ttg.mma_async_wait
// MOVED: ttg.mma_async
// MOVED-NOT: ttg.mma_schedule
// MOVED-NOT: ttg.id

// What it says is checked, whoever wrote it.
// RUN: sed 's/mma_schedule<ops \[<0>/mma_schedule<ops [<99>/' %t.mlir > %t.id.mlir
// RUN: not tilewright opt %t.id.mlir --overlap-mmas 2>&1 | FileCheck %s --check-prefix=ID
// RUN: sed '/ttg.mma_schedule<ops/s/-> [0-9]* distance/-> 0 distance/' %t.mlir > %t.until.mlir
// RUN: not tilewright opt %t.until.mlir --overlap-mmas 2>&1 | FileCheck %s --check-prefix=UNTIL
// RUN: sed '/ttg.mma_schedule<ops/s/distance 0/distance 2/' %t.mlir > %t.distance.mlir
// RUN: not tilewright opt %t.distance.mlir --overlap-mmas 2>&1 | FileCheck %s --check-prefix=UNTIL
// RUN: sed '/ttg.mma_schedule<ops/s/distance 0/distance 1/' %t.mlir > %t.previous.mlir
// RUN: not tilewright opt %t.previous.mlir --overlap-mmas 2>&1 | FileCheck %s --check-prefix=PREVIOUS
// RUN: sed '/ttg.mma_schedule<ops/s/<7 moves true>, <8 moves true>/<8 moves true>, <7 moves true>/' %t.mlir > %t.use.mlir
// RUN: not tilewright opt %t.use.mlir --overlap-mmas 2>&1 | FileCheck %s --check-prefix=USE
// RUN: sed '/ttg.mma_schedule<ops/s/<6 moves true>, <7 moves true>, <8 moves true>/<7 moves true>, <8 moves true>, <6 moves true>/' %t.mlir > %t.arrival.mlir
// RUN: not tilewright opt %t.arrival.mlir --overlap-mmas 2>&1 | FileCheck %s --check-prefix=ARRIVAL
// RUN: sed -e '/ttg.mma_schedule<ops/s/, <15 moves true>/, <99>, <15 moves true>/' -e '0,/{ttg.iteration_offset/s/{ttg.iteration_offset/{ttg.id = 99 : i64, ttg.iteration_offset/' %t.mlir > %t.refill.mlir
// RUN: not tilewright opt %t.refill.mlir --overlap-mmas 2>&1 | FileCheck %s --check-prefix=REFILL
// USE: ttg.mma_schedule: an operation uses a result that is not yet there
// ARRIVAL: ttg.mma_schedule: a copy is read before the wait for it
// REFILL: ttg.mma_schedule: an operand is written while an MMA reads it
// PREVIOUS: ttg.mma_schedule: no wait passes the result of an edge's MMA through
// ID: ttg.mma_schedule: the loop has no operation, or several, with the number 99
// UNTIL: ttg.mma_schedule: an edge does not lead from an MMA or arithmetic to a wait

#config = #ttg.config<warps = 4, ctas = 1, stages = 2, maxRegisters = 0, target = "sm_90a">
#map = #ttg.tensor_map<base = 0, offset = [], dims = [[], []], strides = [[[64]]], box = [], element = f16, swizzle = 0>

tt.func public @backward(%p: !tt.ptr<f16>, %n: i32, %o: !tt.ptr<f32>, %rows: !tt.ptr<f32>, %x: !ptx.tensor_map {ttg.tensor_map = #map},
    %y: !ptx.tensor_map {ttg.tensor_map = #map}) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c64 = arith.constant 64 : i32
  %k = ttg.descriptor_load %x[%c0, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %v = ttg.descriptor_load %x[%c64, %c0] {order = array<i32: 1, 0>} : tensor<64x64xf16>
  %r:2 = scf.for %i = %c0 to %n step %c64 iter_args(%dv = %zero, %dk = %zero) -> (tensor<64x64xf32>, tensor<64x64xf32>) : i32 {
    %q = ttg.descriptor_load %y[%c0, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %qt = tt.trans %q {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %s = tt.dot %k, %qt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %e = math.exp2 %s : tensor<64x64xf32>
    %w = arith.truncf %e : tensor<64x64xf32> to tensor<64x64xf16>
    %g = ttg.descriptor_load %y[%c64, %i] {order = array<i32: 1, 0>} : tensor<64x64xf16>
    %dv1 = tt.dot %w, %g, %dv : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %gt = tt.trans %g {order = array<i32: 1, 0>} : tensor<64x64xf16> -> tensor<64x64xf16>
    %dp = tt.dot %v, %gt, %zero : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %range = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
    %starts = tt.splat %rows : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
    %places = tt.addptr %starts, %range : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %row = tt.load %places : tensor<64x!tt.ptr<f32>>
    %wide = tt.expand_dims %row {axis = 0 : i32} : tensor<64xf32> -> tensor<1x64xf32>
    %all = tt.broadcast %wide : tensor<1x64xf32> -> tensor<64x64xf32>
    %ds = arith.mulf %e, %dp : tensor<64x64xf32>
    %dd = arith.mulf %ds, %all : tensor<64x64xf32>
    %h = arith.truncf %dd : tensor<64x64xf32> to tensor<64x64xf16>
    %dk1 = tt.dot %h, %q, %dk : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    %twice = arith.addf %dk1, %dk1 : tensor<64x64xf32>
    scf.yield %dv1, %twice : tensor<64x64xf32>, tensor<64x64xf32>
  }
  %out = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %both = arith.addf %r#0, %r#1 : tensor<64x64xf32>
  tt.store %out, %both : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
