"""Products in fp8, int8 and tf32: both operands are contiguous along K, the second one as N x K, as tensor cores read them.

As many programs as there are multiprocessors load their tiles through tensor descriptors. With SUBTILE the result is stored in two halves.
"""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


def set_blocks(arguments):
    m, n, k = arguments["BLOCK_M"], arguments["BLOCK_N"], 128 // arguments["BYTES"]
    arguments["a_desc"].block_shape = [m, k]
    arguments["b_desc"].block_shape = [n, k]
    arguments["c_desc"].block_shape = [m, n // 2 if arguments["SUBTILE"] else n]


def get_autotune_configs():
    tiles = [(128, 256, 8, 3, False), (128, 256, 8, 3, True), (128, 256, 8, 4, True), (128, 128, 4, 4, True), (64, 128, 4, 4, False),
             (64, 128, 4, 8, False), (128, 128, 8, 4, False)]
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "SUBTILE": subtile}, num_warps=warps, num_stages=stages, pre_hook=set_blocks)
        for m, n, warps, stages, subtile in tiles
    ]


@triton.autotune(configs=get_autotune_configs(), key=["M", "N", "K", "BYTES", "ACC"])
@triton.jit
def typed_matmul_kernel(
    a_desc, b_desc, c_desc, M, N, K, PROGRAMS: tl.constexpr, BYTES: tl.constexpr, ACC: tl.constexpr, BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr, SUBTILE: tl.constexpr,
):
    BLOCK_K: tl.constexpr = 128 // BYTES  # a row of a slot in shared memory
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles_n = tl.cdiv(N, BLOCK_N)
    in_group = 8 * tiles_n
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        first_m = tile // in_group * 8
        group_m = min(tiles_m - first_m, 8)
        row = (first_m + (tile % in_group) % group_m) * BLOCK_M
        column = (tile % in_group) // group_m * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC)
        for step in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([row, step * BLOCK_K])
            b = b_desc.load([column, step * BLOCK_K])
            acc = tl.dot(a, b.T, acc, input_precision="tf32", out_dtype=ACC)
        if SUBTILE:
            left, right = acc.reshape(BLOCK_M, 2, BLOCK_N // 2).permute(0, 2, 1).split()
            c_desc.store([row, column], left.to(c_desc.dtype))
            c_desc.store([row, column + BLOCK_N // 2], right.to(c_desc.dtype))
        else:
            c_desc.store([row, column], acc.to(c_desc.dtype))


def matmul(a, b, out):
    """out = a @ b.T"""
    (M, K), N = a.shape, len(b)
    programs = torch.cuda.get_device_properties(a.device).multi_processor_count
    describe = lambda tensor: TensorDescriptor(tensor, list(tensor.shape), list(tensor.stride()), [1, 1])
    grid = lambda meta: (min(programs, triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"])),)
    accumulator = tl.int32 if a.dtype == torch.int8 else tl.float32
    typed_matmul_kernel[grid](describe(a), describe(b), describe(out), M, N, K, PROGRAMS=programs, BYTES=a.element_size(), ACC=accumulator)
    return out
