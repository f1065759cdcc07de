# Host code chooses the meaning of names: by imports that may fail, by versions that helpers compare, or with the same result in all branches.
# RUN: split-file %s %t
# RUN: tilewright compile %t/kernel.py --kernel k --signature 'out=*i32, n=i32' | FileCheck %s
#--- pkg/__init__.py
#--- pkg/lazy.py
def __getattr__(name):
    return make(name)
#--- pkg/helpers.py
import importlib
import importlib.util
import operator


def compare_version(package, operator, target):
    from packaging.version import Version

    try:
        module = importlib.import_module(package)
    except ImportError:
        return False
    return operator(Version(module.__version__), Version(target))


def find_function(name):
    for place in ("triton.language.nowhere", "triton.language.extra.libdevice"):
        if spec := importlib.util.find_spec(place):
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return getattr(module, name)


#--- kernel.py
import operator

import torch
import triton
import triton.language as tl
from pkg.helpers import compare_version, find_function
from pkg.lazy import platform
from triton.backends import backends
from triton.language import core
from unknown import kind_of_machine

if kind_of_machine() == "first":
    from triton.language.extra.libdevice import tanh
elif kind_of_machine() == "second":
    from triton.language.extra.cuda.libdevice import tanh
else:
    from triton.language.math import tanh  # does not exist, so this arm is not taken

if kind_of_machine() == "first":
    exponential = tl.extra.intel.libdevice.expm1
elif kind_of_machine() == "second":
    exponential = tl.extra.libdevice.expm1
else:
    exponential = tl.math.expm1

if compare_version("triton", operator.ge, "3.0.0"):
    ROWS = tl.constexpr(16)
else:
    ROWS = tl.constexpr(8)

if platform.has_columns_of_four():
    COLUMNS = tl.constexpr(4)
else:
    COLUMNS = tl.constexpr(2 + 2)

MACHINES = tl.constexpr(len([x.driver for x in backends.values() if x.driver and x.driver.is_active()]))
floor = find_function("floor")
integers = triton.constexpr_function(core.get_int_dtype)


# CHECK-LABEL: tt.func public @k
@triton.jit
def k(out, n):
    tl.static_assert(ROWS == 16 and COLUMNS == 4 and MACHINES == 1)
    tl.static_assert(integers(32, signed=True) == tl.int32)
    # CHECK: scf.for %{{.*}} = %{{.*}} to %n step %c2_i32
    for i in range(0, n, step=2):
        # CHECK: tanh
        # CHECK: expm1
        # CHECK: floor
        x = floor(exponential(tanh(tl.load(out + i).to(tl.float32))))
        if tl.constexpr(torch.version.hip is not None):
            x += 1
        tl.store(out + i, x.to(tl.int32))
