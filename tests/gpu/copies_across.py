# A copy of two contiguous elements along a row would make them contiguous along K. If the buffer's rows run the other way, elements are copied one by
# one.
# RUN: tilewright compile %s --kernel product --target cuda:sm_80 --num-warps 1 --emit ptx \
# RUN:   --signature 'a=*fp32:16, b=*fp32:16, c=*fp32:16, rows=i32:2, iterations=i32' | FileCheck %s
# RUN: tilewright run %s --kernel product --arg a="randint(-3,4):f32[96,64]" --arg b="randint(-3,4):f32[96,64]" --arg c=zeros:f32[64,64] --arg rows=18 \
# RUN:   --arg iterations=3 --grid 1 --out c=%t.npy
# RUN: tilewright run %s --kernel product --arg a="randint(-3,4):f32[96,64]" --arg b="randint(-3,4):f32[96,64]" --arg c=zeros:f32[64,64] --arg rows=18 \
# RUN:   --arg iterations=3 --grid 1 --num-warps 1 --simulate=cuda:sm_80 --check c=%t.npy --rtol 0 --atol 0
# CHECK:      cp.async.ca.shared.global [{{.*}}], [{{.*}}], 4,
# CHECK-NOT:  cp.async.ca.shared.global [{{.*}}], [{{.*}}], 8,
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, rows, iterations):
    m, k = tl.arange(0, 64), tl.arange(0, 32)
    acc = tl.zeros((64, 64), tl.float32)
    for iteration in range(iterations):
        x = tl.load(a + m[:, None] + (iteration * 32 + k[None, :]) * 64, mask=(m[:, None] < rows) & (k[None, :] < iteration), other=0)
        y = tl.load(b + (iteration * 32 + k[:, None]) * 64 + m[None, :])
        acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + m[:, None] * 64 + m[None, :], acc)
