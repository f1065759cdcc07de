"""An accumulator that needs more warps does not take the instruction from a scaled dot: 16 columns suffice for 4 warps, but not for 8."""
# RUN: tilewright compile %s --target cuda:sm_100a --num-warps 4 --emit ttg --signature 'a_ptr=*fp16:16,b_ptr=*fp16:16,c_ptr=*fp32:16,x_ptr=*fp8e4nv:16,y_ptr=*fp8e4nv:16,xs_ptr=*u8:16,ys_ptr=*u8:16,z_ptr=*fp32:16,k=i32:16,C=16' | FileCheck %s --check-prefix=FOUR
# RUN: tilewright compile %s --target cuda:sm_100a --num-warps 4 --emit ttg --signature 'a_ptr=*fp16:16,b_ptr=*fp16:16,c_ptr=*fp32:16,x_ptr=*fp8e4nv:16,y_ptr=*fp8e4nv:16,xs_ptr=*u8:16,ys_ptr=*u8:16,z_ptr=*fp32:16,k=i32:16,C=32' | FileCheck %s --check-prefix=EIGHT
# FOUR: #ttg.config<warps = 4
# EIGHT: #ttg.config<warps = 8

import triton
import triton.language as tl


@triton.jit
def both(a_ptr, b_ptr, c_ptr, x_ptr, y_ptr, xs_ptr, ys_ptr, z_ptr, k, C: tl.constexpr):
    rows, columns, steps = tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, 64)
    total = tl.zeros((128, 256), dtype=tl.float32)
    for start in range(0, k, 64):
        a = tl.load(a_ptr + rows[:, None] * k + (start + steps)[None, :])
        b = tl.load(b_ptr + (start + steps)[:, None] * 256 + columns[None, :])
        part = tl.dot(a, b)
        total += part * part
    tl.store(c_ptr + rows[:, None] * 256 + columns[None, :], total)
    i, j, l, g = tl.arange(0, 128), tl.arange(0, C), tl.arange(0, 128), tl.arange(0, 4)
    x = tl.load(x_ptr + i[:, None] * 128 + l[None, :])
    y = tl.load(y_ptr + j[None, :] * 128 + l[:, None])
    xs = tl.load(xs_ptr + i[:, None] * 4 + g[None, :])
    ys = tl.load(ys_ptr + j[:, None] * 4 + g[None, :])
    z = tl.dot_scaled(x, xs, "e4m3", y, ys, "e4m3")
    tl.store(z_ptr + i[:, None] * C + j[None, :], z)
