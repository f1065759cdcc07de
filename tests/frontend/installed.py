# Code that asks which packages are installed, or for the limits of number types, is evaluated as on a machine with everything that kernels need.
# A package that is installed has the version of its metadata. Without one, PyTorch is newer than all releases.
# RUN: tilewright compile %s --kernel k --signature '*i32' | FileCheck %s
import sys
from importlib.metadata import version as installed

import torch
import triton
import triton.language as tl
from packaging import version
from somewhere import HAS_SOMETHING, has_something_else, has_hip_something, built_for

LARGEST = torch.iinfo(torch.int32).max
SMALLEST = torch.finfo(torch.float16).min

if version.parse(torch.__version__) >= version.parse("2.4") and sys.version_info >= (3, 9) and installed("triton").startswith("3"):
    ROWS = 16
else:
    ROWS = 8

HAS_DRIVER = built_for("anything") is not None
if HAS_DRIVER:
    try:
        from triton.backends import backends

        if built_for("cpu"):
            HAS_DRIVER = "cpu" in backends
    except ImportError:
        HAS_DRIVER = False

if HAS_DRIVER and HAS_SOMETHING and has_something_else() and not has_hip_something():

    def marked(function):
        return triton.jit(function)
else:
    marked = None


# CHECK-LABEL: tt.func public @k
@marked
def k(out):
    # CHECK-DAG: arith.constant dense<2147483647> : tensor<16xi32>
    # CHECK-DAG: tt.make_range {end = 16 : i32, start = 0 : i32}
    tl.store(out + tl.arange(0, ROWS), tl.full([ROWS], LARGEST, tl.int32))
    tl.static_assert(SMALLEST == -65504.0)
    # CHECK-DAG: arith.constant dense<3.40282347E+38>
    tl.store(out.to(tl.pointer_type(tl.float32)) + tl.arange(0, ROWS), tl.full([ROWS], torch.finfo(torch.float32).max, tl.float32))
