"""The last vector of a tile of nine elements has one element, which is stored alone. LLVM's own code for such a masked store of truncated
numbers writes more than the element."""
# RUN: tilewright compile %s --kernel narrow --target cpu:avx512 --signature 'a=*i32:16,x=*i64:16,wide=*i64:16,out=*u8:16' --emit llvm | FileCheck %s
import triton
import triton.language as tl

# CHECK: store <8 x i8>
# CHECK: store i8 {{.*}}, align 1
# CHECK-NOT: call void @llvm.masked.store.v8i8


@triton.jit(any_size=True)
def narrow(a, x, wide, out):
    at = tl.program_id(0) * 9 + tl.arange(0, 9)
    number = (tl.load(a + at) & 7).to(tl.float16)
    value = tl.load(x + at)
    tl.store(wide + at, value, mask=value != 25)
    tl.store(out + at, value.to(tl.uint8), mask=number != 0.5)
