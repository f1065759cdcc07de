# RUN: tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
# RUN: tilewright run %s --kernel pruned --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s --check-prefix=PRUNE
import torch
import triton
import triton.language as tl


# CHECK: warning: only Python calls the pre_hook of a configuration of kernel 'k'; this tool ignores it
# CHECK: help: reset_to_zero and restore_value work in every front end
# CHECK: warning: only Python calls the hook of @triton.autotune of kernel 'k'; this tool ignores it
@triton.autotune(configs=[triton.Config({"B": 8}, pre_hook=lambda args: args["x_ptr"].zero_()), triton.Config({"B": 4})], key=[],
                 post_hook=lambda args, exception: None)
@triton.jit
def k(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)


# PRUNE: warning: only Python calls early_config_prune of kernel 'pruned'; this tool ignores it
@triton.autotune(configs=[triton.Config({"B": 8}), triton.Config({"B": 4})], key=[],
                 prune_configs_by={"early_config_prune": lambda configs, named_args, **kwargs: torch.first(configs).keep()})
@triton.jit
def pruned(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)
