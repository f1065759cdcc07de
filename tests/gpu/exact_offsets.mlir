// RUN: tilewright opt %s -split-input-file --assume-no-wrap | FileCheck %s

#config = #ttg.config<warps = 1, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_80">

// A condition that depends on the launch becomes a launch guard; a proven one needs no guard.
// CHECK-LABEL: tt.func public @rows
// CHECK-SAME: ttg.launch_guards = [#ttg.launch_guard<name = "128*program_id(0) + i0 fits in 32 bits"
// CHECK: tt.addptr {{.*}} {ttg.no_wrap}
// CHECK: tt.addptr {{.*}} {ttg.no_wrap}
tt.func public @rows(%x: !tt.ptr<f32>) attributes {ttg.config = #config} {
  %c128 = arith.constant 128 : i32
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %c128 : i32
  %range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32>
  %starts = tt.splat %start : i32 -> tensor<128xi32>
  %offsets = arith.addi %starts, %range : tensor<128xi32>
  %base = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %p = tt.addptr %base, %offsets : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %q = tt.addptr %base, %range : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %v = tt.load %q : tensor<128x!tt.ptr<f32>>
  tt.store %p, %v : tensor<128x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 1, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_80">

// The guard has failed for a launch, so the code does not rely on it. Loaded values may be anything.
// CHECK-LABEL: tt.func public @failed_guard
// CHECK-NOT: ttg.launch_guards
// CHECK-NOT: ttg.no_wrap
tt.func public @failed_guard(%x: !tt.ptr<f32>, %n: !tt.ptr<i32>) attributes {ttg.config = #config, ttg.failed_guards = ["128*program_id(0) + i0 fits in 32 bits"]} {
  %c128 = arith.constant 128 : i32
  %pid = tt.get_program_id x : i32
  %start = arith.muli %pid, %c128 : i32
  %range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32>
  %starts = tt.splat %start : i32 -> tensor<128xi32>
  %offsets = arith.addi %starts, %range : tensor<128xi32>
  %base = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %p = tt.addptr %base, %offsets : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %loaded = tt.load %n : !tt.ptr<i32>
  %from = tt.splat %loaded : i32 -> tensor<128xi32>
  %others = arith.addi %from, %range : tensor<128xi32>
  %q = tt.addptr %base, %others : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %v = tt.load %q : tensor<128x!tt.ptr<f32>>
  tt.store %p, %v : tensor<128x!tt.ptr<f32>>
  tt.return
}

// -----

#config = #ttg.config<warps = 1, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_80">

// A remainder is less than its divisor for any dividend.
// CHECK-LABEL: tt.func public @remainder
// CHECK-NOT: ttg.launch_guards
// CHECK: tt.addptr {{.*}} {ttg.no_wrap}
tt.func public @remainder(%x: !tt.ptr<f32>, %n: !tt.ptr<i32>) attributes {ttg.config = #config} {
  %c7 = arith.constant dense<7000> : tensor<128xi32>
  %range = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32>
  %loaded = tt.load %n : !tt.ptr<i32>
  %from = tt.splat %loaded : i32 -> tensor<128xi32>
  %sum = arith.addi %from, %range : tensor<128xi32>
  %rest = arith.remsi %sum, %c7 : tensor<128xi32>
  %far = arith.muli %rest, %c7 : tensor<128xi32>
  %base = tt.splat %x : !tt.ptr<f32> -> tensor<128x!tt.ptr<f32>>
  %p = tt.addptr %base, %far : tensor<128x!tt.ptr<f32>>, tensor<128xi32>
  %v = tt.load %p : tensor<128x!tt.ptr<f32>>
  tt.store %p, %v : tensor<128x!tt.ptr<f32>>
  tt.return
}
