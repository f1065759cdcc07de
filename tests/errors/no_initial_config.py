# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.autotune(configs="auto", key=[])
@triton.jit
# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: cannot choose an initial configuration (BLOCK) for kernel 'k': no combination works; the smallest sizes fail: {{.+}}
def k(x_ptr, BLOCK: tl.constexpr):
    # CHECK: help: pass the values, or list configurations instead of "auto"
    tl.store(x_ptr, tl.arrange(0, BLOCK))
