# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


# CHECK: error: no configuration of kernel 'k' is left after pruning
# CHECK: help: early_config_prune must keep at least one
@triton.autotune(configs=[triton.Config({"B": 8}), triton.Config({"B": 4})], key=[],
                 prune_configs_by={"early_config_prune": lambda configs, named_args, **kwargs: []})
@triton.jit
def k(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)
