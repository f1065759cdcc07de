// RUN: tilewright compile %s --kernel bounded --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=BOUNDED --implicit-check-not=setp.num
// RUN: tilewright compile %s --kernel bounded --target cpu:avx2 --emit loops | FileCheck %s --check-prefix=LOOPS --implicit-check-not=arith.cmpf
// RUN: tilewright compile %s --kernel any --target cpu:avx2 --emit loops | FileCheck %s --check-prefix=SATURATED
// RUN: tilewright compile %s --kernel any --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=ANY

// Numbers that are known to lie between -3 and 3 are converted to integers without a check of the range or for NaN.
// BOUNDED-LABEL: .entry bounded
// BOUNDED-COUNT-5: cvt.rzi.s64.f64
// BOUNDED: ret
// LOOPS-LABEL: @bounded.program
// LOOPS-COUNT-5: arith.fptosi
// LOOPS: llvm.return
tt.func public @bounded(%x: !tt.ptr<f64>, %out: !tt.ptr<i64>) {
  %low = arith.constant dense<-3.0> : tensor<128xf64>
  %high = arith.constant dense<3.0> : tensor<128xf64>
  %i = tt.make_range {end = 128 : i32, start = 0 : i32} : tensor<128xi32>
  %xs = tt.splat %x : !tt.ptr<f64> -> tensor<128x!tt.ptr<f64>>
  %xp = tt.addptr %xs, %i : tensor<128x!tt.ptr<f64>>, tensor<128xi32>
  %v = tt.load %xp : tensor<128x!tt.ptr<f64>>
  %c = tt.clampf %v, %low, %high, propagateNan = none : tensor<128xf64>
  %n = arith.negf %c : tensor<128xf64>
  %ni = arith.fptosi %n : tensor<128xf64> to tensor<128xi64>
  %t = math.trunc %c : tensor<128xf64>
  %ti = arith.fptosi %t : tensor<128xf64> to tensor<128xi64>
  %r = math.floor %c : tensor<128xf64>
  %ri = arith.fptosi %r : tensor<128xf64> to tensor<128xi64>
  %e = math.roundeven %c : tensor<128xf64>
  %ei = arith.fptosi %e : tensor<128xf64> to tensor<128xi64>
  %a = math.absf %c : tensor<128xf64>
  %ai = arith.fptosi %a : tensor<128xf64> to tensor<128xi64>
  %s0 = arith.muli %ni, %ti : tensor<128xi64>
  %s1 = arith.muli %ri, %ei : tensor<128xi64>
  %s2 = arith.addi %s0, %s1 : tensor<128xi64>
  %s3 = arith.xori %s2, %ai : tensor<128xi64>
  %os = tt.splat %out : !tt.ptr<i64> -> tensor<128x!tt.ptr<i64>>
  %op = tt.addptr %os, %i : tensor<128x!tt.ptr<i64>>, tensor<128xi32>
  tt.store %op, %s3 : tensor<128x!tt.ptr<i64>>
  tt.return
}

// ANY-LABEL: .entry any
// ANY: cvt.rzi.s64.f64
// ANY: setp.num.f64
// SATURATED-LABEL: @any.program
// SATURATED: arith.fptosi
// SATURATED: arith.cmpf ord
tt.func public @any(%x: !tt.ptr<f64>, %out: !tt.ptr<i64>) {
  %v = tt.load %x : !tt.ptr<f64>
  %n = arith.negf %v : f64
  %ni = arith.fptosi %n : f64 to i64
  tt.store %out, %ni : !tt.ptr<i64>
  tt.return
}
