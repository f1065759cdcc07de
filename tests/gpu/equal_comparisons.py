"""Adjacent elements of a row whose comparison with a multiple of 16 has one result are compared once a thread, also if the mask is used in a select.
An unknown length, and a hint that may be wrong, are compared element by element. So are all in CTAs of fewer than 16 warps."""
# RUN: tilewright compile %s --kernel centred --target cuda:sm_90a --num-warps 16 --until assign-layouts --signature 'x=*fp16:16,y=*fp16:16,n=i32:16,hint=i32' | FileCheck %s --check-prefix=NOTE
# RUN: tilewright compile %s --kernel centred --target cuda:sm_90a --num-warps 16 --emit ptx --signature 'x=*fp16:16,y=*fp16:16,n=i32:16,hint=i32' | FileCheck %s --check-prefix=ONCE
# RUN: tilewright compile %s --kernel centred --target cuda:sm_90a --num-warps 8 --emit ptx --signature 'x=*fp16:16,y=*fp16:16,n=i32:16,hint=i32' | FileCheck %s --check-prefix=EACH
# RUN: tilewright compile %s --kernel centred --target cuda:sm_90a --num-warps 16 --emit ptx --signature 'x=*fp16:16,y=*fp16:16,n=i32,hint=i32' | FileCheck %s --check-prefix=EACH
# RUN: tilewright compile %s --kernel hinted --target cuda:sm_90a --num-warps 16 --emit ptx --signature 'x=*fp16:16,y=*fp16:16,n=i32,hint=i32' | FileCheck %s --check-prefix=EACH
# RUN: tilewright run %s --kernel centred --arg 'x=randint(-8,8):f16[4080]' --arg 'y=zeros:f16[4096]' --arg n=4080 --arg hint=0 --grid 1 --num-warps 16 --simulate --out y=%t.npy
# RUN: tilewright run %s --kernel centred --arg 'x=randint(-8,8):f16[4080]' --arg 'y=zeros:f16[4096]' --arg n=4080 --arg hint=0 --grid 1 --check y=%t.npy
# RUN: tilewright run %s --kernel hinted --arg 'x=randint(-8,8):f16[4003]' --arg 'y=zeros:f16[4096]' --arg n=4003 --arg hint=4003 --grid 1 --num-warps 16 --simulate --out y=%t.npy
# RUN: tilewright run %s --kernel hinted --arg 'x=randint(-8,8):f16[4003]' --arg 'y=zeros:f16[4096]' --arg n=4003 --arg hint=4003 --grid 1 --check y=%t.npy
import triton
import triton.language as tl


# NOTE: arith.cmpi slt, {{.*}} {ttg.block_repeats = array<i64: 16>} : tensor<4096xi32
# ONCE-COUNT-1: setp.{{g|l}}
# ONCE-NOT: setp.{{g|l}}
# EACH-COUNT-8: setp.{{g|l}}
@triton.jit
def centred(x, y, n, hint):
    i = tl.arange(0, 4096)
    mask = i < n
    value = tl.load(x + i, mask=mask, other=0.0)
    tl.store(y + i, tl.where(mask, value - 3, 7.0))


@triton.jit
def hinted(x, y, n, hint):
    i = tl.arange(0, 4096)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(y + i, tl.where(i < tl.multiple_of(hint, 16), value - 3, 7.0))
