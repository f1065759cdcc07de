"""Which launches compile again, and which do not: in memory, on disk, in threads and in two processes at once."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy as np

import tilewright as triton
import tilewright.language as tl


def make():
    @triton.jit
    def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1.0, mask=at < n)

    return kernel


def test_one_compilation_a_key():
    kernel, x = make(), np.zeros(64, np.float32)
    first = kernel[(1,)](x, np.zeros_like(x), 50, BLOCK=64)
    assert kernel[(1,)](x, np.zeros_like(x), 51, BLOCK=64) is first
    assert kernel._compiled_count() == 1
    assert kernel[(1,)](x, np.zeros_like(x), 48, BLOCK=64) is not first, "48 is a multiple of 16"
    assert kernel[(1,)](x, np.zeros_like(x), 51, BLOCK=32) is not first
    assert kernel[(1,)](x, np.zeros_like(x), 51, BLOCK=64, num_stages=1) is not first
    assert kernel._compiled_count() == 4


def test_disk():
    x = np.zeros(64, np.float32)
    assert not make()[(1,)](x, np.zeros_like(x), 50, BLOCK=64).from_cache
    again = make()[(1,)](x, np.zeros_like(x), 50, BLOCK=64)
    assert again.from_cache and again.compile_seconds == 0


def test_python_functions_enter_the_key():
    def make_kernel(result):
        @triton.constexpr_function
        def constant():
            return result

        @triton.jit
        def kernel(out_ptr):
            tl.store(out_ptr, constant())

        return kernel

    for value in (3, 4):
        out = np.zeros(1, np.int32)
        make_kernel(value)[(1,)](out)
        assert out[0] == value


def test_threads():
    kernel, failures = make(), []

    def work(seed):
        try:
            x = np.random.default_rng(seed).standard_normal(64).astype(np.float32)
            for block in (32, 64, 128):
                for _ in range(20):
                    out = np.zeros_like(x)
                    kernel[(1,)](x, out, 64, BLOCK=block)
                    np.testing.assert_array_equal(out[:min(block, 64)], x[:min(block, 64)] + 1)
        except BaseException as error:  # a thread's failure must reach the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and kernel._compiled_count() == 3


PROGRAM = """
import numpy as np, tilewright as triton, tilewright.language as tl

@triton.jit
def kernel(out_ptr, N: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, N), tl.arange(0, N))

for n in (16, 32, 64, 128):
    out = np.zeros(n, np.int32)
    kernel[(1,)](out, N=n)
    assert (out == np.arange(n)).all()
print("fine")
"""


def test_two_processes_share_one_folder(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    runs = [subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=dict(os.environ))
            for _ in range(2)]
    for run in runs:
        assert run.communicate(timeout=120)[0] == "fine\n"
