# RUN: echo '{"tuned":' > %t.json
# RUN: env TILEWRIGHT_TUNED=%t.json TILEWRIGHT_CACHE_AUTOTUNING=0 tilewright run %s --kernel k --grid 1 --arg x_ptr=zeros:f32[8] 2>&1 | FileCheck %s
import triton
import triton.language as tl


# CHECK: choosing among 2 configurations
# CHECK: warning: cannot use the tuned configurations in '{{.*}}tuned_file.py.tmp.json': it is not JSON: {{.+}}
# CHECK: help: write such a file with 'tilewright tune --export FILE'
@triton.autotune(configs=[triton.Config({"B": 8}), triton.Config({"B": 4})], key=[])
@triton.jit
def k(x_ptr, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), 1.0)
