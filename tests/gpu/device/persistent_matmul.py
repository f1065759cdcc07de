"""A persistent matmul: one program per SM, which loads its tiles through tensor descriptors.

The loop over tiles is in the kernel, so that the loads of the next tile run while the last one is written. With SUBTILE the result
is stored in two halves, which needs half the shared memory and leaves more for stages.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def set_blocks(arguments):
    m, n, k = arguments["BLOCK_M"], arguments["BLOCK_N"], arguments["BLOCK_K"]
    arguments["a_desc"].block_shape = [m, k]
    arguments["b_desc"].block_shape = [k, n]
    arguments["c_desc"].block_shape = [m, n // 2 if arguments["SUBTILE"] else n]


def get_autotune_configs():
    tiles = [(128, 256, 64, 8, 3, False), (128, 256, 64, 8, 4, True), (128, 128, 64, 8, 4, False), (128, 128, 64, 4, 4, True),
             (256, 128, 64, 8, 3, False)]
    return [
        triton.Config(
            {"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "SUBTILE": subtile}, num_warps=warps, num_stages=stages, pre_hook=set_blocks)
        for m, n, k, warps, stages, subtile in tiles
    ]


@triton.autotune(configs=get_autotune_configs(), key=["M", "N", "K"])
@triton.jit
def persistent_matmul_kernel(
    a_desc, b_desc, c_desc, M, N, K, PROGRAMS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
    SUBTILE: tl.constexpr,
):
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = 8 * tiles_n
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        first_m = tile // in_group * 8
        group_m = min(tiles_m - first_m, 8)
        row = (first_m + (tile % in_group) % group_m) * BLOCK_M
        column = (tile % in_group) // group_m * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for step in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([row, step * BLOCK_K])
            b = b_desc.load([step * BLOCK_K, column])
            acc = tl.dot(a, b, acc)
        if SUBTILE:
            left, right = acc.reshape(BLOCK_M, 2, BLOCK_N // 2).permute(0, 2, 1).split()
            c_desc.store([row, column], left.to(c_desc.dtype))
            c_desc.store([row, column + BLOCK_N // 2], right.to(c_desc.dtype))
        else:
            c_desc.store([row, column], acc.to(c_desc.dtype))


def matmul(a, b, out):
    (M, K), N = a.shape, b.shape[1]
    programs = torch.cuda.get_device_properties(a.device).multi_processor_count
    describe = lambda tensor: TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), [1, 1])
    grid = lambda meta: (min(programs, triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"])),)
    persistent_matmul_kernel[grid](describe(a), describe(b), describe(out), M, N, K, PROGRAMS=programs)
    return out
