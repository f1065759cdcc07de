"""A compiled kernel does not depend on a thread, and dropped kernels release all their memory."""

import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


def make():
    @triton.jit
    def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)

    return kernel


@pytest.mark.parametrize("engine", ["cpu", "interpret", "simulate"])
def test_kernels_outlive_the_thread_that_compiled_them(engine):
    kernel, x = make(), np.arange(64, dtype=np.float32)

    def run(out):
        with triton.engine(engine):
            kernel[(1,)](x, out, 64, BLOCK=64)

    outs = [np.zeros_like(x) for _ in range(6)]
    for out in outs[:3]:  # each in a thread that ends
        thread = threading.Thread(target=run, args=(out,))
        thread.start()
        thread.join()
    waste = [bytearray(1000) for _ in range(10000)]  # reuses the memory that a freed context would have left
    for out in outs[3:]:
        run(out)
    del waste
    for out in outs:
        np.testing.assert_array_equal(out, x * 2)


@pytest.mark.parametrize("engine", ["interpret", "simulate"])
def test_threads_share_programs(engine):
    kernels, x, wrong = [make() for _ in range(3)], np.arange(64, dtype=np.float32), []

    def run():
        for number in range(6):
            out = np.zeros_like(x)
            with triton.engine(engine):
                kernels[number % 3][(1,)](x, out, 64, BLOCK=64)
            if not (out == x * 2).all():
                wrong.append(out)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("target", ["cpu", "cuda:90"])
def test_memory_is_flat(target):
    script = pathlib.Path(__file__).parent.parent.parent / "benchmarks" / "many_kernels.py"
    command = [sys.executable, script, "--kernels", "400", "--target", target, "--max-growth", "12"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
