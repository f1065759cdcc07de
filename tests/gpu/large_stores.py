# The result of a dot is stored from the accumulator's layout if shared memory cannot hold it on the way to another layout: 128 KiB here.
# DEFINE: %{target} =
# DEFINE: %{compile} = tilewright compile %s --kernel matmul --signature '*fp16:16, *fp16:16, *fp32:16, 128, 256, 32' --target cuda:%{target} --num-warps 8 --emit ptx
# REDEFINE: %{target} = sm_80
# RUN: %{compile} | FileCheck %s --check-prefix=CONVERTED
# REDEFINE: %{target} = sm_89
# RUN: %{compile} | FileCheck %s
# REDEFINE: %{target} = sm_120a
# RUN: %{compile} | FileCheck %s
# RUN: tilewright explain %s --kernel loop --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, 128, 256, 32' --target cuda:sm_120a --num-warps 8 | FileCheck %s --check-prefix=LOOP
# REDEFINE: %{target} = sm_75
# RUN: %{compile} | FileCheck %s
import triton
import triton.language as tl


# CONVERTED: mma.sync
# CONVERTED: st.global.v4
# CHECK: mma.sync
# CHECK-NOT: st.shared
# CHECK-COUNT-64: st.global.v2
# CHECK-NOT: st.global
@triton.jit
def matmul(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(x, y))


# LOOP: 128x32 f16 from a by TMA
# LOOP: 128x256 f32 to c in L{{[0-9]+}}: 64 accesses of 8 bytes a thread
# LOOP-NEXT: no tensor map: shared memory is too small for its tile
@triton.jit
def loop(a, b, c, depth, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, depth, K):
        x = tl.load(a + m[:, None] * depth + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] * N + n[None, :])
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)
