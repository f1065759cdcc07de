"""When rows are stored at indices from memory, the indices are converted to the store's layout, not the tile of pointers made of them."""
# RUN: tilewright compile %s --kernel scattered --target cuda:sm_90a --emit ttg --signature 'a=*fp8e5:16,b=*fp8e5:16,out=*fp8e5:16,rows=*i32:16,k=i32:16' | FileCheck %s

import triton
import triton.language as tl


# CHECK-NOT: convert_layout {{.*}} : tensor<128x256x!tt.ptr
# CHECK: convert_layout {{.*}} : tensor<128x1x!tt.ptr
# CHECK-NOT: convert_layout {{.*}} : tensor<128x256xi
# CHECK: tt.store
@triton.jit
def scattered(a, b, out, rows, k):
    m, n = tl.arange(0, 128), tl.arange(0, 256)
    total = tl.zeros((128, 256), tl.float32)
    for i in range(0, k, 128):
        total = tl.dot(tl.load(a + m[:, None] * k + (i + m)[None, :]), tl.load(b + n[None, :] * k + (i + m)[:, None]), total)
    row = tl.load(rows + m)
    tl.store(out + row[:, None] * 256 + n[None, :], total.to(tl.float8e5), mask=(row >= 0)[:, None])


# The same holds in a persistent loop, with a tile of equal pointers that is computed before the loop.
# RUN: tilewright compile %s --kernel at_one_place --target cuda:sm_90a --emit ttg --signature 'a=*fp16:16,b=*fp16:16,out=*fp16:16,rows=*i32:16,k=i32:16,stride=i32:16,tiles=i32' | FileCheck %s --check-prefix PLACE
# PLACE-NOT: convert_layout {{.*}} : tensor<128x256x!tt.ptr
# PLACE: tt.store
@triton.jit
def at_one_place(a, b, out, rows, k, stride, tiles):
    m, inner = tl.arange(0, 128), tl.arange(0, 64)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        n = tile * 256 + tl.arange(0, 256)
        total = tl.zeros((128, 256), tl.float32)
        for i in range(0, k, 64):
            total = tl.dot(tl.load(a + m[:, None] * k + (i + inner)[None, :]), tl.load(b + n[None, :] * k + (i + inner)[:, None]), total)
        row = tl.load(rows + m)
        places = row.to(tl.int64)[:, None] * stride + n.to(tl.int64)[None, :]
        tl.store(out + places, total.to(tl.float16), mask=(row >= 0)[:, None])
