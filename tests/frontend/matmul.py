# RUN: tilewright compile %s --kernel matmul --signature '*fp16:16, *fp16:16, *fp16:16, i32, i32, i32, i32, 1, i32, 1, i32, 1, 128, 64, 32, 8' --emit tt | FileCheck %s
# A grouped matmul: library calls, pointer arithmetic, broadcasting, a loop that carries two tiles of pointers and the sum.
import triton
import triton.language as tl


# CHECK-LABEL: tt.func public @matmul(
# CHECK-SAME: !tt.ptr<f16> {tt.divisibility = 16 : i32}
@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, BM: tl.constexpr, BN: tl.constexpr,
           BK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(axis=0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    group = pid // (GROUP * tiles_n)
    first = group * GROUP
    # CHECK: arith.minsi
    rows = min(tiles_m - first, GROUP)
    pid_m = first + (pid % (GROUP * tiles_n)) % rows
    pid_n = (pid % (GROUP * tiles_n)) // rows
    offs_m = (pid_m * BM + tl.arange(0, BM)) % M
    offs_n = (pid_n * BN + tl.arange(0, BN)) % N
    offs_k = tl.arange(0, BK)
    # CHECK: tt.expand_dims
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak
    b_ptrs = b_ptr + offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    # CHECK: scf.for
    # CHECK-SAME: tensor<128x64xf32>
    for k in range(0, tl.cdiv(K, BK)):
        # CHECK: tt.load
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)
        # CHECK: tt.dot {{.*}} : tensor<128x32xf16> * tensor<32x64xf16> -> tensor<128x64xf32>
        acc = tl.dot(a, b, acc)
        # CHECK: tt.addptr
        a_ptrs += BK * stride_ak
        b_ptrs += BK * stride_bk
    # CHECK: arith.truncf
    c = acc.to(tl.float16)
    mask = (offs_m[:, None] < M) & (offs_n[None, :] < N)
    # CHECK: tt.store
    tl.store(c_ptr + offs_m[:, None] * stride_cm + offs_n[None, :] * stride_cn, c, mask=mask)
