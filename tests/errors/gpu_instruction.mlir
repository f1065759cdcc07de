// The dump of a kernel for one GPU is compiled further for an older one.
// RUN: not tilewright compile %s --target cuda:sm_80 --from collect-launch-guards --emit ptx 2>&1 | FileCheck %s
module {
  tt.func @kernel(%x: i64) attributes {ptx.kernel = #ptx.kernel<threads = 128, sharedBytes = 0>} {
    // CHECK: gpu_instruction.mlir:[[#@LINE+2]]:5: error: sm_80 has no instruction for ptx.cluster_wait in this form
    // CHECK: help: compile for a GPU that has it, or use elements of another type
    ptx.cluster_wait
    tt.return
  }
}
