# RUN: not tilewright run %s --kernel tuned --grid 1 --simulate --arg x=ones:f32[64] --arg o=zeros:f32[64] 2>&1 | FileCheck %s
# RUN: not tilewright compile %s --kernel plain --signature '*fp32, *fp32' --emit obj --num-ctas -2 2>&1 | FileCheck %s --check-prefix=CTAS
# RUN: not tilewright compile %s --kernel plain --signature '*fp32, *fp32' --target cuda:sm_90a --emit ptx --num-stages -1 2>&1 | FileCheck %s --check-prefix=STAGES
# CHECK: error: num_warps must be a power of 2, not 3
# CHECK: help: 4 and 8 are usual
# CTAS: error: num_ctas must be a power of 2 from 1 to 16, not -2
# STAGES: error: num_stages must be from 0 to 65536, not -1
import triton
import triton.language as tl


@triton.jit
def plain(x, o):
    i = tl.arange(0, 64)
    tl.store(o + i, tl.load(x + i) * 2)


@triton.autotune(configs=[triton.Config({}, num_warps=3)], key=[])
@triton.jit
def tuned(x, o):
    i = tl.arange(0, 64)
    tl.store(o + i, tl.load(x + i) + tl.sum(tl.load(x + i)))
