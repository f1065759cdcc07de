"""A persistent loop around a dot with a dequantize partition: that partition and the producer continue with the next tile while this one is stored,
with the same stages. So they do if the epilogue reduces a tile. They do not if a tile's stores may overlap the next one's loads."""
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*u8:16,b=*u8:16,sa=*fp8e4nv:16,sb=*fp8e4nv:16,out=*fp16:16,amax=*fp32:16,M=i32:16,N=i32:16,width=i32:16,stride=i32:16,BACK=False' --num-warps 8 --num-stages 4 | FileCheck %s
# RUN: tilewright compile %s --kernel scaled --target cuda:sm_90a --emit ttg --signature 'a=*u8:16,b=*u8:16,sa=*fp8e4nv:16,sb=*fp8e4nv:16,out=*fp16:16,amax=*fp32:16,M=i32:16,N=i32:16,width=i32:16,stride=i32:16,BACK=True' --num-warps 8 --num-stages 4 | FileCheck %s --check-prefix=NONE
# RUN: tilewright run %s --interpret --kernel scaled --grid 2 --num-warps 8 --num-stages 4 --arg a='randint(0,255):u8[768x160]' --arg b='randint(0,255):u8[256x160]' --arg sa='randint(1,126):fp8e4nv[768x32]' --arg sb='randint(1,126):fp8e4nv[256x32]' --arg out=zeros:f32[768x256] --arg amax=zeros:f32[6] --arg M=768 --arg N=256 --arg width=160 --arg stride=32 --arg BACK=False --out out=%t.npy --out amax=%t.amax.npy
# RUN: tilewright run %s --simulate --kernel scaled --grid 2 --num-warps 8 --num-stages 4 --arg a='randint(0,255):u8[768x160]' --arg b='randint(0,255):u8[256x160]' --arg sa='randint(1,126):fp8e4nv[768x32]' --arg sb='randint(1,126):fp8e4nv[256x32]' --arg out=zeros:f32[768x256] --arg amax=zeros:f32[6] --arg M=768 --arg N=256 --arg width=160 --arg stride=32 --arg BACK=False --check out=%t.npy --check amax=%t.amax.npy --rtol 1e-3 --atol 20000

# The circular buffers are before the persistent loop, in each partition.
# CHECK: ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24, 56>}
# CHECK-NEXT: default {
# CHECK: scf.for
# CHECK: scf.for
# CHECK: ttg.mma_async
# CHECK: ttg.tma_store
# CHECK: partition0() num_warps(1) {
# CHECK: scf.for
# CHECK: scf.for
# CHECK: ttg.tma_load
# CHECK: partition1() num_warps(4) {
# CHECK: ttg.alloc {{.*}} : <4 x f16
# CHECK: scf.for
# CHECK: scf.for
# CHECK: ttg.barrier_wait
# CHECK: ttg.store_shared
# CHECK: ttg.barrier_arrive

# NONE-NOT: partition1
import triton
import triton.language as tl


@triton.jit
def scaled(a, b, sa, sb, out, amax, M, N, width, stride, BACK: tl.constexpr):
    i, j, k, groups = tl.arange(0, 256), tl.arange(0, 128), tl.arange(0, 32), tl.arange(0, 4)
    for tile in range(tl.program_id(0), tl.cdiv(M, 256) * tl.cdiv(N, 128), tl.num_programs(0)):
        rows, columns = tile // tl.cdiv(N, 128) * 256 + i, tile % tl.cdiv(N, 128) * 128 + j
        tl.store(amax + tile, 1.0)  # before the partition's loads, to other memory
        total = tl.zeros((256, 128), tl.float32)
        for start in range(0, width * 2, 64):
            x = tl.load(a + rows[:, None] * width + (start // 2 + k)[None, :])
            y = tl.load(b + columns[None, :] * width + (start // 2 + k)[:, None])
            x_scale = tl.load(sa + rows[:, None] * stride + (start // 16 + groups)[None, :])
            y_scale = tl.load(sb + columns[:, None] * stride + (start // 16 + groups)[None, :])
            total = tl.dot_scaled(x, x_scale, "e2m1", y, y_scale, "e2m1", total)
        tl.store(out + rows[:, None] * N + columns[None, :], total.to(out.dtype.element_ty))
        tl.store(amax + tile, tl.max(total.reshape(32768), 0))
        if BACK:
            tl.store(sb + columns * stride, tl.full((128,), 1, tl.float32).to(tl.float8e4nv))
