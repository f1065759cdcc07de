"""Products of microscaling formats: C = (A times its scales) (B times its scales)', from plain pointers; A may have no scales."""

import triton
import triton.language as tl


def get_autotune_configs():
    tiles = [(128, 256, 64, 8, 3), (256, 128, 64, 8, 3), (256, 128, 64, 8, 4), (128, 256, 64, 16, 3), (128, 128, 64, 8, 3), (128, 128, 64, 4, 3),
             (128, 256, 128, 8, 3)]
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_warps=warps, num_stages=stages)
        for m, n, k, warps, stages in tiles
    ]


@triton.autotune(configs=get_autotune_configs(), key=["M", "N", "K", "A_FORMAT", "B_FORMAT", "GROUP"])
@triton.jit
def scaled_matmul_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, c_ptr, M, N, K, stride_am, stride_bn, stride_as, stride_bs, stride_cm,
    A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, SCALE_A: tl.constexpr, GROUP: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
):
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BLOCK_M)
    in_group = GROUP_M * tl.cdiv(N, BLOCK_N)
    first = pid // in_group * GROUP_M
    size = min(tiles_m - first, GROUP_M)
    A_PACK: tl.constexpr = 2 if A_FORMAT == "e2m1" else 1
    B_PACK: tl.constexpr = 2 if B_FORMAT == "e2m1" else 1
    rows = (first + (pid % in_group) % size) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = (pid % in_group) // size * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_m, offs_n, groups = rows % M, columns % N, tl.arange(0, BLOCK_K // GROUP)
    a_ptrs = a_ptr + offs_m[:, None] * stride_am + tl.arange(0, BLOCK_K // A_PACK)[None, :]
    b_ptrs = b_ptr + offs_n[None, :] * stride_bn + tl.arange(0, BLOCK_K // B_PACK)[:, None]
    a_scales = a_scale_ptr + offs_m[:, None] * stride_as + groups[None, :]
    b_scales = b_scale_ptr + offs_n[:, None] * stride_bs + groups[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        a, b, b_scale = tl.load(a_ptrs), tl.load(b_ptrs), tl.load(b_scales)
        if SCALE_A:
            acc = tl.dot_scaled(a, tl.load(a_scales), A_FORMAT, b, b_scale, B_FORMAT, acc)
        else:
            acc = tl.dot_scaled(a, None, A_FORMAT, b, b_scale, B_FORMAT, acc)
        a_ptrs += BLOCK_K // A_PACK
        b_ptrs += BLOCK_K // B_PACK
        a_scales += BLOCK_K // GROUP
        b_scales += BLOCK_K // GROUP
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], acc.to(c_ptr.dtype.element_ty),
             mask=(rows < M)[:, None] & (columns < N)[None, :])


def product(a, a_scale, a_format, b, b_scale, b_format, group, out):
    """Launches the product. K is a multiple of the largest BLOCK_K. `a_scale` may be None."""
    (M, N), K = out.shape, b_scale.shape[1] * group
    grid = lambda meta: (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)
    scale = b_scale if a_scale is None else a_scale
    scaled_matmul_kernel[grid](
        a, scale, b, b_scale, out, M, N, K, a.stride(0), b.stride(0), scale.stride(0), b_scale.stride(0), out.stride(0),
        A_FORMAT=a_format, B_FORMAT=b_format, SCALE_A=a_scale is not None, GROUP=group)
    return out
