"""Modules that import Gluon and have kernels in it: they can be imported, and their kernels in Triton run; a launch of one in Gluon is refused by name."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

PROGRAM = '''
import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma
import triton.experimental.gluon.language.nvidia.blackwell as blackwell
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

LAYOUT = gl.BlockedLayout([1, 4], [1, 32], [4, 1], [1, 0])
WIDTH: gl.constexpr = gl.constexpr(4)


@gluon.constexpr_function
def doubled(n):
    return 2 * n


class Barrier(mbarrier.Base):
    pass


@gluon.aggregate
class Partition:
    descriptors: gl.tuple
    barriers: gl.shared_memory_descriptor
    count: gl.constexpr

    @gluon.constexpr_function
    def __init__(self, descriptors, barriers, count):
        self.descriptors, self.barriers, self.count = descriptors, barriers, gl.constexpr(count)

    @gluon.jit
    def release(self, index):
        mbarrier.arrive(self.barriers.index(index), count=1)


@triton.autotune([triton.Config({"BLOCK": 64})], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % 64 == 0})
@gluon.jit(do_not_specialize=["n"])
def tuned(x, n, layout: gl.constexpr, EVEN: gl.constexpr, BLOCK: gl.constexpr):
    offsets = gl.arange(0, BLOCK, layout)
    gl.store(x + offsets, gl.load(x + offsets) + 1)


@gluon.jit
def plain(x, layout: gl.constexpr = LAYOUT):
    gl.store(x, 1)


@triton.jit
def twice(x, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets) * WIDTH)


@triton.jit
def calls(x):
    plain(x)


@triton.jit
def names(x):
    gl.store(x, gl.num_warps())


def is_laid_out(value):
    return isinstance(value, gl.DistributedLayout) or isinstance(value, TensorDescriptor)
'''


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "has_gluon.py"
    path.write_text(PROGRAM)
    triton.install()
    spec = importlib.util.spec_from_file_location("has_gluon", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_is_triton_runs(program):
    x = np.arange(16, dtype=np.int32)
    program.twice[(1,)](x, BLOCK=16)
    np.testing.assert_array_equal(x, 4 * np.arange(16))
    assert program.doubled(3) == 6 and not program.is_laid_out(x)
    assert program.gl.constexpr is tl.constexpr and program.gl.float32 is tl.float32


@pytest.mark.parametrize("name", ["plain", "tuned"])
def test_a_launch_is_refused(program, name):
    x = np.zeros(64, np.int32)
    with pytest.raises(NotImplementedError, match=f"kernel '{name}' is written in Gluon"):
        getattr(program, name)[(1,)](x, 64, layout=program.LAYOUT) if name == "tuned" else program.plain[(1,)](x)


@pytest.mark.parametrize("name, told", [("calls", "plain"), ("names", "gl|num_warps")])
def test_a_use_in_a_kernel_is_refused(program, name, told):
    with pytest.raises(triton.CompilationError, match=told):
        getattr(program, name)[(1,)](np.zeros(4, np.int32))


def test_aggregates_and_sources(program):
    assert program.gluon.aggregate is triton.aggregate and program.Partition._tilewright_class["fields"][2][:2] == ("count", True)
    with pytest.raises(NotImplementedError, match="kernel 'plain' is written in Gluon"):
        program.gluon.GluonASTSource(program.plain, {"x": "*i32", "layout": "constexpr"})


def test_imports_in_a_new_process():
    text = "import tilewright; tilewright.install(); import triton.experimental.gluon.language.nvidia.hopper.tma as t; print(t)"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
