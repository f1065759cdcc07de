# The kernel of recorded launches: a persistent matmul of block-scaled numbers. Its scales are in memory in the order of tensor memory,
# [rows / 128, groups / 4, 32, 4, 4], so TMA and tcgen05.cp bring them without a thread.
import triton
import triton.language as tl


@triton.jit
def block_scaled_matmul(
    a_desc, sa_desc, b_desc, sb_desc, c_desc, M, N, K, PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = 8 * tiles_n
    WORDS: tl.constexpr = BLOCK_K // GROUP // 4
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        first_m = tile // in_group * 8
        group_m = min(tiles_m - first_m, 8)
        m = first_m + (tile % in_group) % group_m
        n = (tile % in_group) // group_m
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([m * BLOCK_M, step * (BLOCK_K // 2)])
            b = b_desc.load([n * BLOCK_N, step * (BLOCK_K // 2)])
            sa = sa_desc.load([0, m * (BLOCK_M // 128), step * WORDS, 0, 0])
            sb = sb_desc.load([0, n * (BLOCK_N // 128), step * WORDS, 0, 0])
            sa = sa.reshape(BLOCK_M // 128, WORDS, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(BLOCK_M, BLOCK_K // GROUP)
            sb = sb.reshape(BLOCK_N // 128, WORDS, 32, 4, 4).trans(0, 3, 2, 1, 4).reshape(BLOCK_N, BLOCK_K // GROUP)
            acc = tl.dot_scaled(a, sa, "e2m1", b.T, sb, "e2m1", acc)
        c_desc.store([m * BLOCK_M, n * BLOCK_N], acc.to(c_desc.dtype))
