// RUN: tilewright opt %s --choose-warps-and-ctas -split-input-file | FileCheck %s

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// Two accumulators of 128 registers a thread are carried, and another dot's 32 are live at the same time: with 8 warps a thread holds half of that.
// CHECK-LABEL: tt.func public @two
// CHECK-SAME: warps = 8
// CHECK-SAME: ttg.remarks = [#ttg.remark<pass = "choose-warps-and-ctas", about = {{[^,]*}}, text = "raised from 4 warps, whose registers cannot hold the accumulators">]
tt.func public @two(%a: tensor<128x64xf16>, %b: tensor<64x128xf16>, %c: tensor<64x32xf16>, %e: tensor<32x128xf16>, %n: i32) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %nothing = arith.constant dense<0.0> : tensor<128x32xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero) -> (tensor<128x128xf32>, tensor<128x128xf32>) : i32 {
    %s = tt.dot %a, %c, %nothing : tensor<128x64xf16> * tensor<64x32xf16> -> tensor<128x32xf32>
    %w = arith.truncf %s : tensor<128x32xf32> to tensor<128x32xf16>
    %x1 = tt.dot %w, %e, %x : tensor<128x32xf16> * tensor<32x128xf16> -> tensor<128x128xf32>
    %y1 = tt.dot %a, %b, %y : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %x1, %y1 : tensor<128x128xf32>, tensor<128x128xf32>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// One accumulator of 128 registers fits, and so do consecutive dots: each is finished when the next begins.
// CHECK-LABEL: tt.func public @one
// CHECK-SAME: warps = 4
// CHECK-NOT: ttg.remark
tt.func public @one(%a: tensor<128x64xf16>, %b: tensor<64x128xf16>, %n: i32) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %nothing = arith.constant dense<0.0> : tensor<128x64xf32>
  %some = arith.constant dense<0.0> : tensor<64x64xf16>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> (tensor<128x128xf32>) : i32 {
    %s = tt.dot %a, %some, %nothing : tensor<128x64xf16> * tensor<64x64xf16> -> tensor<128x64xf32>
    %w = arith.truncf %s : tensor<128x64xf32> to tensor<128x64xf16>
    %t = tt.dot %w, %some, %nothing : tensor<128x64xf16> * tensor<64x64xf16> -> tensor<128x64xf32>
    %v = arith.truncf %t : tensor<128x64xf32> to tensor<128x64xf16>
    %x1 = tt.dot %v, %b, %x : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %x1 : tensor<128x128xf32>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 8, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// 16 warps have no more registers than 8: two CTAs share an accumulator that does not fit.
// CHECK-LABEL: tt.func public @shared
// CHECK-SAME: warps = 8, ctas = 2
// CHECK-SAME: text = "2 CTAs share a program, because the registers of one cannot hold its accumulators"
tt.func public @shared(%a: tensor<256x64xf16>, %b: tensor<64x256xf16>, %n: i32) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<256x256xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> (tensor<256x256xf32>) : i32 {
    %x1 = tt.dot %a, %b, %x : tensor<256x64xf16> * tensor<64x256xf16> -> tensor<256x256xf32>
    scf.yield %x1 : tensor<256x256xf32>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 8, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_80">

// GPUs without clusters have no further CTAs, and two CTAs cannot hold twice as much either.
// CHECK-LABEL: tt.func public @never
// CHECK-SAME: warps = 8, ctas = 1
// CHECK-NOT: ttg.remark
tt.func public @never(%a: tensor<256x64xf16>, %b: tensor<64x256xf16>, %n: i32) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<256x256xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero) -> (tensor<256x256xf32>) : i32 {
    %x1 = tt.dot %a, %b, %x : tensor<256x64xf16> * tensor<64x256xf16> -> tensor<256x256xf32>
    scf.yield %x1 : tensor<256x256xf32>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 2, stages = 3, maxRegisters = 0, target = "sm_90a">

// Each CTA will have half of the rows, so 4 warps hold both accumulators of 128x128.
// CHECK-LABEL: tt.func public @halves
// CHECK-SAME: warps = 4, ctas = 2
// CHECK-NOT: ttg.remark
tt.func public @halves(%a: tensor<128x64xf16>, %b: tensor<64x128xf16>, %c: tensor<64x128xf16>, %n: i32) attributes {ttg.config = #config} {
  %zero = arith.constant dense<0.0> : tensor<128x128xf32>
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%x = %zero, %y = %zero) -> (tensor<128x128xf32>, tensor<128x128xf32>) : i32 {
    %x1 = tt.dot %a, %b, %x : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
    %y1 = tt.dot %a, %c, %y : tensor<128x64xf16> * tensor<64x128xf16> -> tensor<128x128xf32>
    scf.yield %x1, %y1 : tensor<128x128xf32>, tensor<128x128xf32>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// A row of 32768 waits for its maximum in the registers of two CTAs. A print in the program changes nothing.
// CHECK-LABEL: tt.func public @row
// CHECK-SAME: warps = 4, ctas = 2
// CHECK-SAME: text = "2 CTAs share a program, because the registers of one cannot hold its rows"
tt.func public @row(%p: tensor<32768x!tt.ptr<f32>>) attributes {ttg.config = #config} {
  %x = tt.load %p : tensor<32768x!tt.ptr<f32>>
  %m = "tt.reduce"(%x) <{axis = 0 : i32}> ({
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    tt.reduce.return %c : f32
  }) : (tensor<32768xf32>) -> f32
  tt.print " max: " {hex = false, isSigned = array<i32: 0>} : %m : f32
  %s = tt.splat %m : f32 -> tensor<32768xf32>
  %y = arith.subf %x, %s : tensor<32768xf32>
  tt.store %p, %y : tensor<32768x!tt.ptr<f32>>
  tt.return
}
