# Classes, compiled without Python: namedtuples, aggregates with an __init__, methods, base classes; only their fields remain in the IR.
# RUN: tilewright compile %s --kernel k --signature '*i32' | FileCheck %s
# RUN: tilewright compile %s --kernel enums --signature '*i32' | FileCheck %s --check-prefix=ENUM
# RUN: not tilewright compile %s --kernel made --signature '*i32' 2>&1 | FileCheck %s --check-prefix=HOST
# RUN: tilewright compile %s --kernel g --signature '*i32' --target cuda:sm_90a --emit ptx | FileCheck %s --check-prefix=PTX
import enum
import os
from enum import Enum
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


class Format(Enum):
    """Values of an enum are constants of the module."""
    FIRST = 1 << 3
    SECOND = FIRST + 1
    COUNTED = enum.auto()
    MADE = os.urandom(1)

    def is_first(self):
        return self is Format.FIRST


class Mode(enum.IntEnum):
    ADD = 20
    SUBTRACT = 21


SECOND = tl.constexpr(Format.SECOND.value)
SECONDS_NAME = tl.constexpr(Format.SECOND.name)
SUBTRACT = tl.constexpr(Mode.SUBTRACT)
MADE = Format.MADE.value
COUNTED = tl.constexpr(Format.COUNTED.value)
MODES_ADD: tl.constexpr = Mode.ADD.value


# ENUM-LABEL: tt.func public @enums
@triton.jit
def enums(out):
    tl.static_assert(SECONDS_NAME == "SECOND")
    tl.static_assert(COUNTED == 10 and MODES_ADD == 20)
    # ENUM: %[[VALUE:.*]] = arith.constant 30 : i32
    # ENUM: tt.store %{{.*}}, %[[VALUE]]
    tl.store(out, SECOND + SUBTRACT)


# HOST: error: 'MADE' is host code (os.urandom(...).value), which a kernel cannot use
@triton.jit
def made(out):
    tl.store(out, MADE)


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
