"""`asm["ttgir"]`: tiles with layouts as our passes leave them, with Triton's names for the same things.

    before: module {                                           %d = ttg.mma_async %a, %b, %c ...
    after:  module attributes {"ttg.num-warps" = 4 : i32, ...} {    %d = ttng.warp_group_dot %a, %b, %c ...

The names of operations and the module's attributes are Triton's where both mean the same; layouts and operands stay ours. Nothing reads this text.
"""

import re

# (our operation of the dialect `ttg`, Triton's name for the same operation)
_NAMES = {
    "alloc": "ttg.local_alloc",
    "stage": "ttg.memdesc_index",
    "load_shared": "ttg.local_load",
    "store_shared": "ttg.local_store",
    "copy_async": "ttg.async_copy_global_to_local",
    "copy_commit": "ttg.async_commit_group",
    "copy_wait": "ttg.async_wait",
    "cta_barrier": "ttg.barrier",
    "fence_async": "ttng.fence_async_shared",
    "barrier_expect": "ttng.barrier_expect",
    "barrier_wait": "ttng.wait_barrier",
    "barrier_arrive": "ttng.arrive_barrier",
    "tma_load": "ttng.async_tma_copy_global_to_local",
    "tma_store": "ttng.async_tma_copy_local_to_global",
    "tma_store_wait": "ttng.async_tma_store_wait",
    "mma_async": "ttng.warp_group_dot",
    "mma_async_wait": "ttng.warp_group_dot_wait",
    "tensor_alloc": "ttng.tmem_alloc",
    "tensor_load": "ttng.tmem_load",
    "tensor_store": "ttng.tmem_store",
    "tcgen05_mma": "ttng.tc_gen5_mma",
    "tcgen05_commit": "ttng.tc_gen5_commit",
}
_OPERATION = re.compile(r"^(\s*(?:%[^=]* = )?)ttg\.(\w+)", re.MULTILINE)


def as_ttgir(text, ctas, warps, capability):
    def renamed(found):
        return found[1] + _NAMES.get(found[2], f"ttg.{found[2]}")

    attributes = f'"ttg.num-ctas" = {ctas} : i32, "ttg.num-warps" = {warps} : i32, ttg.target = "cuda:{capability}", "ttg.threads-per-warp" = 32 : i32'
    return _OPERATION.sub(renamed, text).replace("module {", f"module attributes {{{attributes}}} {{", 1)
