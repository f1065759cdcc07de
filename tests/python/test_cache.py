"""Which launches compile again, and which do not: in memory, on disk, in threads and in two processes at once."""

import os
import subprocess
import sys
import textwrap
import threading
import typing

import numpy as np
import pytest

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


def captured(number):
    number = tl.constexpr(number)

    @triton.jit
    def add(x):
        return x + number

    return add


@triton.jit
def first_of(out_ptr, functions):
    tl.store(out_ptr, functions[0](1.0))


@triton.jit
def first_of_constants(out_ptr, functions: tl.constexpr):
    tl.store(out_ptr, functions[0](1.0))


@triton.jit
def first_of_all(out_ptr, *functions):
    tl.store(out_ptr, functions[0](1.0))


@pytest.mark.parametrize("kernel", [first_of, first_of_constants, first_of_all])
def test_functions_in_tuples_enter_the_key(kernel):
    for number in (1, 2):
        out, function = np.zeros(1), captured(number)
        kernel[(1,)](out, function if kernel is first_of_all else (function,))
        assert out[0] == 1 + number


class Rows(typing.NamedTuple):
    x: object
    y: object


class Columns(typing.NamedTuple):
    y: object
    x: object


@triton.jit
def field_of(out_ptr, pair):
    tl.store(out_ptr, pair.x)


def test_names_of_fields_enter_the_key():
    for pair in (Rows(2, 3), Columns(2, 3)):
        out = np.zeros(1)
        field_of[(1,)](out, pair)
        assert out[0] == pair.x


@triton.jit
def number_or_type(out_ptr, a, b):
    if isinstance(a, tl.dtype):
        tl.store(out_ptr, 1.0 + b)
    else:
        tl.store(out_ptr, 100.0 + a)


def test_a_type_is_not_a_number_of_it():
    for a, b, expected in ((1.5, tl.float32, 101.5), (tl.float32, 1.5, 2.5), (3, tl.int32, 103), (tl.int32, 3, 4)):
        out = np.zeros(1)
        number_or_type[(1,)](out, a, b)
        assert out[0] == expected


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


def test_the_key_of_the_compiler_names_this_build():
    from tilewright.runtime.cache import triton_key
    program = "from tilewright.runtime.cache import triton_key; print(triton_key())"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
    assert len(triton_key()) == 64 and triton_key() == other
