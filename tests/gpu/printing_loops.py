"""A print or an assertion in a loop writes no tensor, so the loop's loads are still pipelined."""
# RUN: tilewright explain %s --kernel product --target cuda:sm_80 --num-stages 3 --signature '*fp16:16,*fp16:16,*fp32:16,i32,WHAT="print"' | FileCheck %s
# RUN: tilewright explain %s --kernel product --target cuda:sm_80 --num-stages 3 --signature '*fp16:16,*fp16:16,*fp32:16,i32,WHAT="assert"' --debug | FileCheck %s
# RUN: tilewright explain %s --kernel product --target cuda:sm_80 --num-stages 3 --signature '*fp16:16,*fp16:16,*fp32:16,i32,WHAT=""' --debug | FileCheck %s
import triton
import triton.language as tl


# CHECK: 3 stages of 16384 bytes: 64x64 f16 by cp.async, 64x64 f16 by cp.async
@triton.jit
def product(a_ptr, b_ptr, out_ptr, count, WHAT: tl.constexpr):
    offs = tl.arange(0, 64)
    inside = offs[:, None] * 64 + offs[None, :]
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(count):
        acc = tl.dot(tl.load(a_ptr + i * 4096 + inside), tl.load(b_ptr + i * 4096 + inside), acc)
        if WHAT == "print":
            tl.device_print("iteration", i)
        if WHAT == "assert":
            tl.device_assert(i < 100, "too many")
    tl.store(out_ptr + inside, acc)
