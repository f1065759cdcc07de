# Scales in memory in the order of tensor memory: their reshapes change the layout of a buffer, not the place of a scale. TMA fills the buffers.
# DEFINE: %{b} =
# DEFINE: %{stage} =
# DEFINE: %{words} =
# DEFINE: %{compile} = tilewright %{stage} %s --kernel loop --signature 'a=*u8:16, sa=*u8:16, b=*u8:16, sb=*u8:16, c=*fp32:16, k=i32:16, M=128, N=64, K=256, B="%{b}", WORDS=%{words}' --target cuda:sm_100a --num-warps 4 --num-stages 2
# REDEFINE: %{stage} = compile --until select-tensor-cores
# REDEFINE: %{b} = e4m3
# REDEFINE: %{words} = True
# RUN: %{compile} | FileCheck %s --check-prefix=ORDERED
# REDEFINE: %{b} = e2m1
# RUN: %{compile} | FileCheck %s --check-prefix=PADDED
# REDEFINE: %{words} = False
# RUN: %{compile} | FileCheck %s --check-prefix=ROWS
# REDEFINE: %{stage} = explain
# RUN: %{compile} | FileCheck %s --check-prefix=EXPLAIN
import triton
import triton.language as tl


# ORDERED: %[[TILE:.*]] = ttg.descriptor_load {{.*}} : tensor<1x2x2x256xi8
# ORDERED-NOT: tt.trans
# ORDERED: %[[BUFFER:.*]] = ttg.alloc : <1 x i8, #ttg.shared<1x2x2x256, offset {{\[\[}}0, 0, 0, 1], [0, 0, 0, 2], [0, 0, 0, 4], {{.*}}, [0, 0, 1, 0], [0, 1, 0, 0]], 8>>
# ORDERED: ttg.view %[[BUFFER]] {{.*}} -> <1 x i8, #ttg.shared<128x8, offset {{\[\[}}0, 1], [0, 2], [32, 0], [64, 0], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]], 8>>
# ORDERED: ttg.store_shared %[[TILE]], %[[BUFFER]]
# ORDERED: ttg.mma_async
#
# A number of b has a byte of its buffer, which an MMA sees as 256x64 bytes. B has 64 rows of scales: 64 rows of their buffer are padding.
# PADDED: ttg.view {{.*}}#ttg.shared<128x64, offset {{\[\[}}1, 0], [2, 0], [4, 0], [0, 0], [8, 0], [16, 0], [32, 0], [8, 1], [16, 2], [32, 4], {{.*}}, [64, 0]], 8>> -> <1 x i8, #ttg.shared<256x64,
# ROWS: ttg.view {{.*}}#ttg.shared<64x8, offset {{\[\[}}0, 1], [0, 2], [32, 0], [0, 0], [1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [0, 4]], 8>> -> <1 x i8, #ttg.shared<128x8,
# EXPLAIN: 128x256 e4m3 * 256x64 e2m1 -> 128x64 f32: tcgen05.mma m128n64k32 mxf8f6f4
@triton.jit
def loop(a, sa, b, sb, c, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, B: tl.constexpr, WORDS: tl.constexpr):
    PACK: tl.constexpr = 2 if B == "e2m1" else 1
    m, n, groups = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    ka, kb = tl.arange(0, K), tl.arange(0, K // PACK)
    word = tl.arange(0, K // 128)[None, :, None, None] * 512 + tl.arange(0, 2)[None, None, :, None] * 256 + tl.arange(0, 256)[None, None, None, :]
    acc = tl.zeros((M, N), tl.float32)
    for start in range(0, k, K):
        x = tl.load(a + m[:, None] * k + (start + ka)[None, :])
        y = tl.load(b + n[None, :] * k + (start // PACK + kb)[:, None])
        t = tl.load(sb + n[:, None] * k + (start // 32 + groups)[None, :])
        if WORDS:
            s = tl.load(sa + start // K * 1024 + word).reshape(1, K // 128, 32, 4, 4).permute(0, 3, 2, 1, 4).reshape(M, K // 32)
        else:
            s = tl.load(sa + m[:, None] * k + (start // 32 + groups)[None, :])
        acc = tl.dot_scaled(x, s, "e4m3", y, t, B, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc)
