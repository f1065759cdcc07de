# RUN: not tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
# RUN: not tilewright run %s --kernel m --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s --check-prefix=TOP
import triton
import triton.language as tl


# CHECK: error: early_config_prune of kernel 'k' must return a list of configurations, not an int
@triton.autotune(configs=[triton.Config({"B": 8}), triton.Config({"B": 4})], key=[],
                 prune_configs_by={"early_config_prune": lambda configs, named_args, **kwargs: 1})
@triton.jit
def k(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)


# TOP: error: top_k of kernel 'm' must return a float from 0.0 to 1.0 or an int, not a str
@triton.autotune(configs=[triton.Config({"B": 8}), triton.Config({"B": 4})], key=[],
                 prune_configs_by={"perf_model": lambda **args: args["B"], "top_k": "one"})
@triton.jit
def m(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)
