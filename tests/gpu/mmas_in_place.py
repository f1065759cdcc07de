"""Dots over one of their own operands: the CTAs of a program have read all of it before one of them stores."""
# RUN: tilewright run %s --kernel product --grid 1 --arg 'x=randint(-2,2):f16[64x64]' --arg 'w=randint(-2,2):f16[64x64]' --arg B=64 --arg OVER_X=True --out x=%t.npy
# RUN: tilewright run %s --simulate --kernel product --num-ctas 2 --num-stages 3 --grid 1 --arg 'x=randint(-2,2):f16[64x64]' --arg 'w=randint(-2,2):f16[64x64]' --arg B=64 --arg OVER_X=True --check x=%t.npy
# RUN: tilewright run %s --simulate --kernel product --num-ctas 4 --num-warps 8 --num-stages 2 --grid 1 --arg 'x=randint(-2,2):f16[64x64]' --arg 'w=randint(-2,2):f16[64x64]' --arg B=64 --arg OVER_X=True --check x=%t.npy
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit threads --num-ctas 2 --signature 'x=*fp16:16,w=*fp16:16,B=64,OVER_X=True' | FileCheck %s
# RUN: tilewright run %s --kernel product --grid 1 --arg 'x=randint(-1,1):f16[256x256]' --arg 'w=randint(-1,1):f16[256x256]' --arg B=256 --arg OVER_X=False --out w=%t.npy
# RUN: tilewright run %s --simulate --kernel product --num-warps 8 --grid 1 --arg 'x=randint(-1,1):f16[256x256]' --arg 'w=randint(-1,1):f16[256x256]' --arg B=256 --arg OVER_X=False --check w=%t.npy
# RUN: tilewright compile %s --kernel product --target cuda:sm_90a --emit threads --signature 'x=*fp16:16,w=*fp16:16,B=64,OVER_X=True' | FileCheck %s --check-prefix=ALONE

import triton
import triton.language as tl

# CHECK: ptx.copy_async
# CHECK: ptx.cluster_wait
# CHECK: ptx.store_global

# One CTA has synchronized since its copy.
# ALONE: ptx.copy_async
# ALONE-NOT: cluster


@triton.jit
def product(x, w, B: tl.constexpr, OVER_X: tl.constexpr):
    """x = x w, or w = x w. 256 x 256 sums have two blocks, whether they are asked for or not."""
    rows, columns, at = tl.arange(0, B), tl.arange(0, B), tl.arange(0, 32)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, B, 32):
        acc = tl.dot(tl.load(x + rows[:, None] * B + k + at[None, :]), tl.load(w + (k + at)[:, None] * B + columns[None, :]), acc)
    tl.store((x if OVER_X else w) + rows[:, None] * B + columns[None, :], acc.to(tl.float16))
