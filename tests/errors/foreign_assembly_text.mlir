// RUN: not tilewright compile %s --emit obj --target cpu -o %t.o 2>&1 | FileCheck %s
// RUN: tilewright compile %s --emit ptx --target cuda:sm_90a -o %t.ptx
// CHECK: foreign_assembly_text.mlir:[[#@LINE+3]]:10: error: this is PTX, the assembly of NVIDIA GPUs, but the kernel is compiled for a CPU
module {
  tt.func public @k(%o: !tt.ptr<f32>, %v: f32) {
    %y = tt.elementwise_inline_asm "ex2.approx.f32 $0, $1;" {constraints = "=f,f", packed_element = 1 : i32, pure = true} %v : f32 -> f32
    tt.store %o, %y : !tt.ptr<f32>
    tt.return
  }
}
