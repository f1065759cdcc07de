// Passes store their decisions and reasons on operations, and explain prints them. Here the rows of one operand are aligned, those of the other are
// not.
// RUN: tilewright opt %s --assign-layouts | FileCheck %s --check-prefix=LAYOUTS
// RUN: tilewright opt %s --assign-layouts --select-tensor-cores --stage-tma-transfers --schedule-loops --pipeline-loops --copy-unpipelined | FileCheck %s --check-prefix=LOOP

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// LOOP: #schedule = #ttg.loop_schedule<policy "copy-async" requested 3
// LAYOUTS: ttg.remarks = [#ttg.remark<pass = "assign-layouts", about = #layout{{[0-9]*}}, text = "{{.*}}, at a cost of {{[0-9]+}}
tt.func public @k(%p: !tt.ptr<f16> {tt.divisibility = 16 : i32}, %q: !tt.ptr<f16>, %o: !tt.ptr<f32>, %n: i32) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<64x64xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %i = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %columns = tt.expand_dims %i {axis = 0 : i32} : tensor<64xi32> -> tensor<1x64xi32>
  %rows = tt.expand_dims %i {axis = 1 : i32} : tensor<64xi32> -> tensor<64x1xi32>
  %width = arith.constant dense<64> : tensor<64x1xi32>
  %starts = arith.muli %rows, %width : tensor<64x1xi32>
  %s = tt.broadcast %starts : tensor<64x1xi32> -> tensor<64x64xi32>
  %c = tt.broadcast %columns : tensor<1x64xi32> -> tensor<64x64xi32>
  %at = arith.addi %s, %c : tensor<64x64xi32>
  %ps = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %qs = tt.splat %q : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%acc = %zero) -> (tensor<64x64xf32>) : i32 {
    %pa = tt.addptr %ps, %at : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    // LAYOUTS: tt.load {{.*}}ttg.vector = 8 : i32
    %a = tt.load %pa : tensor<64x64x!tt.ptr<f16>>
    %pb = tt.addptr %qs, %at : tensor<64x64x!tt.ptr<f16>>, tensor<64x64xi32>
    // LAYOUTS: tt.load {{.*}}ttg.unaligned, ttg.vector = 8 : i32}
    // LOOP: tt.load {{.*}}ttg.not_pipelined = "cp.async copies at least 4 bytes"
    %b = tt.load %pb : tensor<64x64x!tt.ptr<f16>>
    // LAYOUTS: tt.dot {{.*}}ttg.dot_choice = #ttg.dot_choice<kind = wgmma, columns = 64, aInRegisters = false, reason = "">
    %d = tt.dot %a, %b, %acc : tensor<64x64xf16> * tensor<64x64xf16> -> tensor<64x64xf32>
    scf.yield %d : tensor<64x64xf32>
  }
  // LOOP: ttg.loop_schedule = #schedule
  %os = tt.splat %o : !tt.ptr<f32> -> tensor<64x64x!tt.ptr<f32>>
  %po = tt.addptr %os, %at : tensor<64x64x!tt.ptr<f32>>, tensor<64x64xi32>
  tt.store %po, %r : tensor<64x64x!tt.ptr<f32>>
  tt.return
}
