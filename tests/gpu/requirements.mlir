// A pass verifies its requirements, and reports the operation that violates them.
// RUN: tilewright opt %s --select-tensor-cores -split-input-file -verify-diagnostics
// RUN: tilewright opt %s --schedule-loops --pipeline-loops -split-input-file -verify-diagnostics
// RUN: tilewright opt %s --allocate-shared -split-input-file -verify-diagnostics
// RUN: tilewright opt %s --lower-to-threads -split-input-file -verify-diagnostics

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

tt.func public @no_layout() attributes {ttg.config = #config} {
  // expected-error @+1 {{this tile has no layout; assign-layouts must run first}}
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

tt.func public @no_layout_in_a_loop(%n: i32, %x: f32) attributes {ttg.config = #config} {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  // expected-error @+1 {{this tile has no layout}}
  %s = tt.splat %x : f32 -> tensor<256xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%v = %s) -> (tensor<256xf32>) : i32 {
    scf.yield %v : tensor<256xf32>
  }
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#half = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

tt.func public @another_shape() attributes {ttg.config = #config} {
  // expected-error @+1 {{the layout and its tile have different shapes}}
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #half>
  tt.return
}

// -----

#config = #ttg.config<warps = 8, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#four = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

tt.func public @another_number_of_warps() attributes {ttg.config = #config} {
  // expected-error @+1 {{the layout does not cover all elements of its tile with the 8 warps that run this operation}}
  %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #four>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#part = #ttg.layout<128, reg [], lane [[1], [2], [4], [8], [16]], warp [[32], [0]]>

tt.func public @not_all_elements() attributes {ttg.config = #config} {
  // expected-error @+1 {{the layout does not cover all elements of its tile}}
  %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #part>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#a = #ttg.layout<256, reg [[1]], lane [[2], [4], [8], [16], [32]], warp [[64], [128]]>
#b = #ttg.layout<256, reg [[128]], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

tt.func public @two_layouts(%p: tensor<256x!tt.ptr<f32>, #a>, %o: tensor<256xi32, #b>) attributes {ttg.config = #config} {
  // expected-error @+1 {{its tiles have different layouts}}
  %q = tt.addptr %p, %o : tensor<256x!tt.ptr<f32>, #a>, tensor<256xi32, #b>
  tt.return
}

// -----

// expected-error @+1 {{this kernel has no ttg.config}}
tt.func public @no_config() {
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#twice = #ttg.layout<128, reg [[0]], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

tt.func public @register_of_no_element() attributes {ttg.config = #config} {
  // expected-error @+1 {{registers of the layout hold the same elements}}
  %i = tt.make_range {start = 0 : i32, end = 128 : i32} : tensor<128xi32, #twice>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#twice = #ttg.layout<256, reg [[128], [128]], lane [[1], [2], [4], [8], [16]], warp [[32], [64]]>

tt.func public @repeated_register() attributes {ttg.config = #config} {
  // expected-error @+1 {{registers of the layout hold the same elements}}
  %i = tt.make_range {start = 0 : i32, end = 256 : i32} : tensor<256xi32, #twice>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#short = #ttg.shared<128, offset [[1], [2]], 32>

tt.func public @buffer_of_four_elements() attributes {ttg.config = #config} {
  // expected-error @+1 {{the buffer does not have an offset for each element}}
  %b = ttg.alloc : !ttg.buffer<1 x i32, #short>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#row = #ttg.shared<4, offset [[1], [2]], 32>

tt.func public @no_tiles() attributes {ttg.config = #config} {
  // expected-error @+1 {{the buffer does not have an offset for each element}}
  %b = ttg.alloc : !ttg.buffer<0 x i32, #row>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">
#half = #ttg.shared<4, offset [[1], [2]], 16>

tt.func public @elements_of_two_sizes() attributes {ttg.config = #config} {
  // expected-error @+1 {{the buffer and its layout have different elements}}
  %b = ttg.alloc : !ttg.buffer<1 x i32, #half>
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

tt.func public @no_barriers() attributes {ttg.config = #config} {
  // expected-error @+1 {{there are no barriers}}
  %b = ttg.alloc_barriers : !ttg.barriers<0>
  tt.return
}

// -----

#config = #ttg.config<warps = 3, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

// expected-error @+1 {{the number of its warps is not a power of two}}
tt.func public @three_warps() attributes {ttg.config = #config} {
  tt.return
}
