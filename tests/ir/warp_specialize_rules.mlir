// RUN: tilewright-opt %s -split-input-file -verify-diagnostics
// The rules of ttg.warp_specialize: its regions, their warps, and what setmaxnreg can do.

tt.func @default_terminator(%n: i32) {
  // expected-error @+1 {{must end its default region with a ttg.warp_yield}}
  ttg.warp_specialize()
  default {
    ttg.warp_return
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

tt.func @partition_terminator(%n: i32) {
  // expected-error @+1 {{must end partition 0 with a ttg.warp_return}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_yield
  } : () -> ()
  tt.return
}

// -----

tt.func @result_types(%n: i32) {
  // expected-error @+1 {{yields values of other types than its results have}}
  %r = ttg.warp_specialize()
  default {
    ttg.warp_yield %n : i32
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> i64
  tt.return
}

// -----

tt.func @no_partition(%n: i32) {
  // expected-error @+1 {{needs a partition}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  : () -> ()
  tt.return
}

// -----

tt.func @arguments(%n: i32) {
  // expected-error @+1 {{needs an argument of partition 1 for each capture, of its type}}
  ttg.warp_specialize(%n)
  default {
    ttg.warp_yield
  }
  partition0(%m: i32) num_warps(4) {
    ttg.warp_return
  }
  partition1(%m: i64) num_warps(4) {
    ttg.warp_return
  } : (i32) -> ()
  tt.return
}

// -----

tt.func @warps_of_partition(%n: i32) {
  // expected-error @+1 {{partition 0 has 3 warps; it must be a power of two}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(3) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

tt.func @registers_of_each(%n: i32) {
  // expected-error @+1 {{needs a number of registers for each partition}}
  ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 24>}
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

tt.func @registers_step(%n: i32) {
  // expected-error @+1 {{requests 28 registers; setmaxnreg takes multiples of 8 from 24 to 256}}
  ttg.warp_specialize() attributes {requestedRegisters = array<i32: 28>}
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

tt.func @registers_least(%n: i32) {
  // expected-error @+1 {{requests 16 registers; setmaxnreg takes multiples of 8 from 24 to 256}}
  ttg.warp_specialize() attributes {requestedRegisters = array<i32: 16>}
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 2, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

tt.func @warp_groups(%n: i32) attributes {ttg.config = #config} {
  // expected-error @+1 {{needs whole warp groups: num_warps must be a multiple of 4}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 16, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

tt.func @warps_of_cta(%n: i32) attributes {ttg.config = #config} {
  // expected-error @+1 {{needs 36 warps; a CTA has 32 at most}}
  ttg.warp_specialize()
  default {
    ttg.warp_yield
  }
  partition0() num_warps(16) {
    ttg.warp_return
  }
  partition1() num_warps(1) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_90a">

tt.func @registers_left(%n: i32) attributes {ttg.config = #config} {
  // expected-error @+1 {{leaves the default region less than 24 registers}}
  ttg.warp_specialize() attributes {requestedRegisters = array<i32: 240, 240>}
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  }
  partition1() num_warps(8) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

#config = #ttg.config<warps = 4, ctas = 1, stages = 3, maxRegisters = 0, target = "sm_80">

tt.func @older_gpu(%n: i32) attributes {ttg.config = #config} {
  // expected-error @+1 {{requests registers, but warps of sm_80 cannot exchange them}}
  ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24>}
  default {
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

tt.func @nested(%n: i32) {
  ttg.warp_specialize()
  default {
    // expected-error @+1 {{cannot be nested in another ttg.warp_specialize}}
    ttg.warp_specialize()
    default {
      ttg.warp_yield
    }
    partition0() num_warps(4) {
      ttg.warp_return
    } : () -> ()
    ttg.warp_yield
  }
  partition0() num_warps(4) {
    ttg.warp_return
  } : () -> ()
  tt.return
}

// -----

tt.func @number_of_warps(%n: i32) {
  // expected-error @+1 {{needs a number of warps for each partition}}
  "ttg.warp_specialize"() <{partitionNumWarps = array<i32: 4, 4>}> ({
    ttg.warp_yield
  }, {
    ttg.warp_return
  }) : () -> ()
  tt.return
}
