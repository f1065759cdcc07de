"""A dequantize partition computes an operand only if the loop does not use the copied tile otherwise, and if all copies can run ahead. A
reduction of scales that starts again with each tile stays with the consumers. `explain` says why there is no partition."""
# RUN: tilewright compile %s --kernel sums --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,out=*fp32:16,rows=*fp32:16,K=i32:16,LEFT=True' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=NONE
# RUN: tilewright compile %s --kernel sums --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,out=*fp32:16,rows=*fp32:16,K=i32:16,LEFT=False' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=NONE
# RUN: tilewright run %s --interpret --kernel sums --grid 1 --arg a='randint(-8,8):i8[256x192]' --arg b='randint(-8,8):i8[128x192]' --arg out=zeros:f32[256x128] --arg rows=zeros:f32[256x64] --arg K=192 --arg LEFT=True --out out=%t.npy --out rows=%t.rows.npy
# RUN: tilewright run %s --simulate --kernel sums --grid 1 --num-warps 8 --num-stages 4 --arg a='randint(-8,8):i8[256x192]' --arg b='randint(-8,8):i8[128x192]' --arg out=zeros:f32[256x128] --arg rows=zeros:f32[256x64] --arg K=192 --arg LEFT=True --check out=%t.npy --check rows=%t.rows.npy

# RUN: tilewright compile %s --kernel pages --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,table=*i32:16,out=*fp32:16,K=i32:16' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=NONE
# RUN: tilewright run %s --interpret --kernel pages --grid 1 --arg a='randint(-8,8):i8[256x192]' --arg b='randint(-8,8):i8[128x192]' --arg table=arange:i32[3] --arg out=zeros:f32[256x128] --arg K=192 --out out=%t.npy
# RUN: tilewright run %s --simulate --kernel pages --grid 1 --num-warps 8 --num-stages 4 --arg a='randint(-8,8):i8[256x192]' --arg b='randint(-8,8):i8[128x192]' --arg table=arange:i32[3] --arg out=zeros:f32[256x128] --arg K=192 --check out=%t.npy

# RUN: tilewright compile %s --kernel each_tile --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,s=*fp16:16,out=*fp32:16,maxima=*fp16:16,M=i32:16,N=i32:16,K=i32:16' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=TILES
# RUN: tilewright run %s --interpret --kernel each_tile --grid 1 --arg a='randint(-8,8):i8[512x192]' --arg b='randint(-8,8):i8[256x192]' --arg s='randn:f16[256x3]' --arg out=zeros:f32[512x256] --arg maxima=zeros:f16[4x128] --arg M=512 --arg N=256 --arg K=192 --out out=%t.npy --out maxima=%t.maxima.npy
# RUN: tilewright run %s --simulate --kernel each_tile --grid 1 --num-warps 8 --num-stages 4 --arg a='randint(-8,8):i8[512x192]' --arg b='randint(-8,8):i8[256x192]' --arg s='randn:f16[256x3]' --arg out=zeros:f32[512x256] --arg maxima=zeros:f16[4x128] --arg M=512 --arg N=256 --arg K=192 --check out=%t.npy --check maxima=%t.maxima.npy --rtol 1e-3 --atol 1e-2

# RUN: tilewright compile %s --kernel chain --target cuda:sm_90a --emit ttg --signature 'a=*i8:16,b=*i8:16,s=*fp16:16,out=*fp32:16,maxima=*fp16:16,K=i32:16' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=CHAIN
# RUN: tilewright run %s --interpret --kernel chain --grid 1 --arg a='randint(-8,8):i8[256x192]' --arg b='randint(-8,8):i8[128x192]' --arg s='randn:f16[128x3]' --arg out=zeros:f32[256x128] --arg maxima=zeros:f16[128] --arg K=192 --out out=%t.npy --out maxima=%t.maxima.npy
# RUN: tilewright run %s --simulate --kernel chain --grid 1 --num-warps 8 --num-stages 4 --arg a='randint(-8,8):i8[256x192]' --arg b='randint(-8,8):i8[128x192]' --arg s='randn:f16[128x3]' --arg out=zeros:f32[256x128] --arg maxima=zeros:f16[128] --arg K=192 --check out=%t.npy --check maxima=%t.maxima.npy --rtol 1e-3 --atol 1e-2

# RUN: tilewright explain %s --kernel sums --target cuda:sm_90a --signature 'a=*i8:16,b=*i8:16,out=*fp32:16,rows=*fp32:16,K=i32:16,LEFT=True' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=FIRST
# RUN: tilewright explain %s --kernel sums --target cuda:sm_90a --signature 'a=*i8:16,b=*i8:16,out=*fp32:16,rows=*fp32:16,K=i32:16,LEFT=False' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=SECOND
# RUN: tilewright explain %s --kernel pages --target cuda:sm_90a --signature 'a=*i8:16,b=*i8:16,table=*i32:16,out=*fp32:16,K=i32:16' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=PAGES

# RUN: tilewright explain %s --kernel masked --target cuda:sm_90a --signature 'a=*fp16:16,b=*fp16:16,kept=*i8:16,out=*fp32:16,K=i32:16' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=MASKED

# A mask of bytes makes no number wider.
# MASKED-NOT: dequantize partition
# MASKED: wgmma
# MASKED-NOT: dequantize partition
# NONE-NOT: partition1
# FIRST: no dequantize partition: its first operand is
# SECOND: no dequantize partition: its second operand is
# PAGES: no dequantize partition: the address of a copy

# The partition computes what the loop reduces, however often each value is used.
# CHAIN: partition1() num_warps(4) {
# CHAIN: arith.maxnumf

# TILES: default {
# TILES: arith.maxnumf
# TILES: partition1() num_warps(4) {
# TILES-NOT: arith.maxnumf
import triton
import triton.language as tl


@triton.jit
def sums(a, b, out, rows, K, LEFT: tl.constexpr):
    i, j, k = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    more = tl.zeros((256, 64), tl.float32) if LEFT else tl.zeros((64, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + j[None, :] * K + (start + k)[:, None])
        total = tl.dot(x.to(tl.float16), y.to(tl.float16), total)
        more += (x if LEFT else y).to(tl.float32)
    tl.store(out + i[:, None] * 128 + j[None, :], total)
    tl.store(rows + (i[:, None] * 64 + k[None, :] if LEFT else k[:, None] * 128 + j[None, :]), more)


@triton.jit
def pages(a, b, table, out, K):
    i, j = tl.arange(0, 256), tl.arange(0, 128)
    x, y = tl.make_tensor_descriptor(a, [256, K], [K, 1], [256, 64]), tl.make_tensor_descriptor(b, [128, K], [K, 1], [128, 64])
    total = tl.zeros((256, 128), tl.float32)
    for start in range(0, K, 64):
        page = tl.load(table + start // 64)
        total = tl.dot(x.load([0, page * 64]).to(tl.float16), y.load([0, page * 64]).to(tl.float16).T, total)
    tl.store(out + i[:, None] * 128 + j[None, :], total)


@triton.jit
def masked(a, b, kept, out, K):
    i, j, k = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :])
        y = tl.load(b + j[None, :] * K + (start + k)[:, None])
        z = tl.load(kept + j[None, :] * K + (start + k)[:, None])
        total = tl.dot(x, tl.where(z != 0, y, 0.0), total)
    tl.store(out + i[:, None] * 128 + j[None, :], total)


@triton.jit
def each_tile(a, b, s, out, maxima, M, N, K):
    i, j, k = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    for tile in range(tl.program_id(0), tl.cdiv(M, 256) * tl.cdiv(N, 128), tl.num_programs(0)):
        rows, columns = tile // tl.cdiv(N, 128) * 256 + i, tile % tl.cdiv(N, 128) * 128 + j
        total = tl.zeros((256, 128), tl.float32)
        largest = tl.zeros((128,), tl.float16)
        for start in range(0, K, 64):
            x = tl.load(a + rows[:, None] * K + (start + k)[None, :]).to(tl.float16)
            y = tl.load(b + columns[None, :] * K + (start + k)[:, None]).to(tl.float16)
            scale = tl.load(s + columns * (K // 64) + start // 64)
            largest = tl.maximum(largest, scale)
            total = tl.dot(x, y * scale[None, :], total)
        tl.store(out + rows[:, None] * N + columns[None, :], total)
        tl.store(maxima + tile * 128 + j, largest)


@triton.jit
def chain(a, b, s, out, maxima, K):
    i, j, k = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 64)
    total = tl.zeros((256, 128), tl.float32)
    largest = tl.zeros((128,), tl.float16)
    for start in range(0, K, 64):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :]).to(tl.float16)
        y = tl.load(b + j[None, :] * K + (start + k)[:, None]).to(tl.float16)
        scale = tl.load(s + j * (K // 64) + start // 64)
        used_twice = scale
        for _ in tl.static_range(40):
            used_twice = tl.maximum(used_twice, used_twice * 0.5)
        largest = tl.maximum(largest, used_twice)
        total = tl.dot(x, y * scale[None, :], total)
    tl.store(out + i[:, None] * 128 + j[None, :], total)
    tl.store(maxima + j, largest)
