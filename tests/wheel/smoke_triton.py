"""A process that has NVIDIA's Triton compile a kernel, with its own LLVM, and Tilewright run one: before it and after it."""

import numpy as np

import tilewright
import tilewright.language


@tilewright.jit
def own_kernel(x_ptr, BLOCK: tilewright.language.constexpr):
    i = tilewright.language.arange(0, BLOCK)
    tilewright.language.store(x_ptr + i, i * 2)


def run_own(size):
    x = np.zeros(size, np.int32)
    own_kernel[(1,)](x, BLOCK=size)
    np.testing.assert_array_equal(x, 2 * np.arange(size))


def test_both_in_one_process():
    run_own(16)
    import theirs  # imports triton
    assert theirs.triton.__file__ != tilewright.__file__ and theirs.triton.__version__
    assert ".target sm_80" in theirs.ptx()
    run_own(32)
    assert ".target sm_80" in theirs.ptx(BLOCK=128)
