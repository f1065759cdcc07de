# Classes, compiled without Python: namedtuples, aggregates with an __init__, methods, base classes; only their fields remain in the IR.
# RUN: tilewright compile %s --kernel k --signature '*i32' | FileCheck %s
# RUN: tilewright compile %s --kernel g --signature '*i32' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=PTX
from typing import NamedTuple

import triton
import triton.language as tl


@triton.aggregate
class Scaled:
    value: tl.tensor
    FACTOR: tl.constexpr

    def __init__(self, value, factor):
        self.value = value
        self.FACTOR = tl.constexpr(factor)

    @triton.constexpr_function
    def twice(self):
        return 2 * self.FACTOR

    @triton.jit
    def scaled(self):
        return self.value * self.FACTOR


@triton.aggregate
class Pair(Scaled):

    @triton.jit
    def __add__(self, other):
        return self.scaled() + other


class Named(NamedTuple):
    x: tl.tensor
    y: tl.tensor = 5


# CHECK-LABEL: tt.func public @k
@triton.jit
def k(out):
    # CHECK: %[[RANGE:.*]] = tt.make_range {end = 16 : i32
    # CHECK: %[[SCALED:.*]] = arith.muli %[[RANGE]], %{{.*}} : tensor<16xi32>
    # CHECK: %[[SUM:.*]] = arith.addi %[[SCALED]], %{{.*}} : tensor<16xi32>
    pair = Pair(tl.arange(0, 16), 4)
    tl.static_assert(pair.twice() == 8)
    named = Named(pair + 1)
    # CHECK: %[[NAMED:.*]] = arith.addi %[[SUM]], %{{.*}} : tensor<16xi32>
    # CHECK: tt.store %{{.*}}, %[[NAMED]]
    tl.store(out + tl.arange(0, 16), named.x + named.y)


# PTX-LABEL: .entry g
@triton.jit
def g(out):
    # PTX: griddepcontrol.wait
    # PTX: %globaltimer
    # PTX: ld.global
    # PTX: griddepcontrol.launch_dependents
    # PTX: %smid
    # PTX: st.global
    tl.extra.cuda.gdc_wait()
    start = tl.extra.cuda.globaltimer()
    x = tl.load(out)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(out, x + tl.extra.cuda.smid() + tl.extra.cuda.num_warps() + tl.extra.cuda.num_threads())
    tl.store(out + 1, (tl.extra.cuda.globaltimer() - start).to(tl.int32))
