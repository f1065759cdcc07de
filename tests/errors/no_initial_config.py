# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


@triton.autotune(configs="auto", key=[])
@triton.jit
# CHECK: :[[#@LINE+1]]:{{[0-9]+}}: error: there is no guess at BLOCK of kernel 'k': no combination works; of the smallest sizes: {{.+}}
def k(x_ptr, BLOCK: tl.constexpr):
    # CHECK: help: pass them, or list configurations in place of "auto"
    tl.store(x_ptr, tl.arrange(0, BLOCK))
