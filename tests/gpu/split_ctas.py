"""The program of one CTA of several: tiles are slices, dots split their rows, and only combinations of slices need exchanges."""
# RUN: tilewright compile %s --kernel matmul --target cuda:sm_90a --num-ctas 2 --emit ttg --signature '*fp16:16,*fp16:16,*fp16:16,i32,i32:16' | FileCheck %s --check-prefix=MATMUL
# RUN: tilewright compile %s --kernel softmax --target cuda:sm_90a --num-ctas 4 --emit ttg --signature '*fp32:16,*fp32:16' | FileCheck %s --check-prefix=SOFTMAX
# RUN: tilewright compile %s --kernel softmax --target cuda:sm_90a --num-ctas 4 --emit ptx --signature '*fp32:16,*fp32:16' | FileCheck %s --check-prefix=PTX
# RUN: tilewright explain %s --kernel rows --target cuda:sm_90a --num-warps 4 --signature '*fp32:16,*fp32:16,32768' | FileCheck %s --check-prefix=TWO
# RUN: tilewright explain %s --kernel rows --target cuda:sm_90a --num-warps 32 --signature '*fp32:16,*fp32:16,524288' | FileCheck %s --check-prefix=EIGHT
# RUN: tilewright explain %s --kernel rows --target cuda:sm_90a --num-warps 4 --signature '*fp32:16,*fp32:16,16384' | FileCheck %s --check-prefix=ONE
# RUN: tilewright explain %s --kernel rows --target cuda:sm_80 --num-warps 4 --signature '*fp32:16,*fp32:16,32768' | FileCheck %s --check-prefix=ONE
# RUN: tilewright compile %s --kernel rows --target cuda:sm_90a --num-warps 4 --emit threads --signature '*fp32:16,*fp32:16,32768' | FileCheck %s --check-prefix=MEET
# RUN: not tilewright compile %s --kernel softmax --target cuda:sm_80 --num-ctas 4 --emit ptx --signature '*fp32:16,*fp32:16' 2>&1 | FileCheck %s --check-prefix=OLD
# RUN: tilewright compile %s --kernel swapped --target cuda:sm_90a --num-ctas 2 --num-warps 2 --emit ttg --signature '*i32:16,*i32:16,*i32:16' | FileCheck %s --check-prefix=SHORT

import triton
import triton.language as tl

# OLD: num_ctas is 4, but sm_80 has no clusters of CTAs


@triton.jit
def matmul(a, b, c, k, s):
    m, n, i = tl.arange(0, 128), tl.arange(0, 128), tl.arange(0, 64)
    acc = tl.zeros((128, 128), tl.float32)
    # MATMUL-NOT: read_cluster
    # MATMUL: ttg.mma_async {{.*}} -> tensor<64x128xf32
    # MATMUL-NOT: read_cluster
    for start in range(0, k, 64):
        x = tl.load(a + m[:, None] * s + start + i[None, :])
        y = tl.load(b + (start + i)[:, None] * s + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * s + n[None, :], acc.to(tl.float16))


@triton.jit
def softmax(x_ptr, out_ptr):
    i = tl.arange(0, 1024)
    # SOFTMAX: tt.load {{.*}} tensor<256x!tt.ptr<f32>
    # SOFTMAX: ttg.read_cluster
    # SOFTMAX: ttg.read_cluster
    # SOFTMAX-NOT: ttg.read_cluster
    # SOFTMAX: tt.store {{.*}} tensor<256x!tt.ptr<f32>
    # PTX: .reqnctapercluster 4
    # PTX: barrier.cluster.arrive.aligned
    # PTX: barrier.cluster.wait.aligned
    # PTX: mapa.shared::cluster.u32
    x = tl.load(x_ptr + i)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + i, e / tl.sum(e, 0))


# TWO: 4 warps, {{.*}}2 CTAs share a program, because the registers of one cannot hold its rows
# The rows fill the registers of eight CTAs, the maximum.
# EIGHT: 32 warps, {{.*}}8 CTAs share a program, because the registers of one cannot hold its rows
# ONE-NOT: CTAs share a program
# The CTAs synchronize once for each exchange: the wait for the first one's readers is before the second one.
# MEET: ptx.cluster_arrive
# MEET-NEXT: ptx.cluster_wait
# MEET: ptx.cluster_arrive
# MEET-NOT: ptx.cluster_arrive
# MEET: ptx.cluster_wait
# MEET: ptx.cluster_arrive
# MEET-NEXT: ptx.cluster_wait
# MEET: ptx.store_global
# MEET: ptx.cluster_wait
# MEET: tt.return
@triton.jit
def rows(x_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + tl.program_id(0) * N + i)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + tl.program_id(0) * N + i, e / tl.sum(e, 0))


# A dimension with fewer elements than there are CTAs is never split, also if nothing of its class has been split yet.
# SHORT-LABEL: @swapped
# SHORT-NOT: tensor<2x0x
# SHORT: tt.trans {{.*}} tensor<1x32x64xi32
@triton.jit
def swapped(x_ptr, y_ptr, out_ptr):
    i, j = tl.arange(0, 64), tl.arange(0, 64)
    at = tl.arange(0, 1)[:, None, None] * 4096 + i[None, :, None] * 64 + j[None, None, :]
    x = tl.load(x_ptr + at)
    best, where = tl.max(x, 2, return_indices=True)
    best, where = tl.broadcast_to(best[:, :, None], (1, 64, 64)), tl.broadcast_to(where[:, :, None], (1, 64, 64))
    columns = tl.permute(where, (1, 0, 2))
    columns = columns ^ tl.sum(columns, 0, keep_dims=True)
    tl.store(out_ptr + at, tl.load(y_ptr + at), mask=where == best)
    tl.store(out_ptr + at + 4096, x)
    tl.store(out_ptr + at + 8192, tl.permute(columns, (1, 0, 2)))
