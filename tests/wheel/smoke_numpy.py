"""What an installed wheel does with NumPy: kernels on the CPU, tuning, the interpreter, verify."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + tl.load(y_ptr + i, mask=i < n), mask=i < n)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * columns + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(out_ptr + row * columns + i, e / tl.sum(e, 0), mask=i < columns)


@triton.autotune(configs=[triton.Config({"BLOCK_M": m, "BLOCK_N": 64, "BLOCK_K": 32}) for m in (32, 64)], key=["M", "N", "K"])
@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + m[:, None] * K + (start + k)[None, :], mask=(m[:, None] < M) & ((start + k)[None, :] < K), other=0.0)
        b = tl.load(b_ptr + (start + k)[:, None] * N + n[None, :], mask=((start + k)[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def wrong_kernel(x_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    tl.store(x_ptr + tl.arange(0, BLOCK), tl.dot(x, x))


@pytest.fixture
def random():
    return np.random.default_rng(0)


def test_add(random):
    for n in (1, 1000, 98432):
        x, y = random.standard_normal((2, n), np.float32)
        out = np.empty_like(x)
        add_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=1024)
        np.testing.assert_array_equal(out, x + y)


def test_softmax(random):
    x = random.standard_normal((37, 781), np.float32)
    out = np.empty_like(x)
    softmax_kernel[(37,)](x, out, 781, BLOCK=triton.next_power_of_2(781))
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=1e-5, atol=1e-8)


def test_tuned_matmul(random):
    a, b = random.standard_normal((130, 70), np.float32), random.standard_normal((70, 100), np.float32)
    c = np.empty((130, 100), np.float32)
    matmul_kernel[lambda meta: (triton.cdiv(130, meta["BLOCK_M"]), triton.cdiv(100, meta["BLOCK_N"]))](a, b, c, 130, 100, 70)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4, atol=1e-4)
    assert matmul_kernel.best_config.kwargs["BLOCK_M"] in (32, 64)


def test_an_error_points_at_the_line(random):
    with pytest.raises(triton.CompilationError) as raised:
        wrong_kernel[(1,)](np.zeros(16, np.float32), BLOCK=16)
    assert "tl.dot(x, x)" in str(raised.value) and "smoke_numpy.py" in str(raised.value)


def test_the_interpreter(tmp_path):
    program = "import numpy as np, smoke_numpy\nsmoke_numpy.test_softmax(np.random.default_rng(1))\nprint('done')"
    environment = os.environ | {"TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=120)
    assert done.stdout == "done\n", done.stderr


def test_verify(tmp_path):
    (tmp_path / "double.py").write_text("""
import numpy as np
import triton
import triton.language as tl

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)

def kernel_fn(x):
    x = np.ascontiguousarray(x)
    out = np.empty_like(x)
    double_kernel[(triton.cdiv(x.size, 64),)](x, out, x.size, BLOCK=64)
    return out

def get_inputs():
    return [np.arange(1000, dtype=np.float32)]

def reference_fn(x):
    return x * 2
""")
    done = subprocess.run([sys.executable, "-m", "tilewright._command", "verify", "double.py"], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr


def test_array_types():
    """All of NumPy's types that kernels take, and scalars of NumPy."""
    for dtype in (np.int8, np.uint8, np.int16, np.int32, np.int64, np.float16, np.float32, np.float64):
        x = np.arange(100).astype(dtype)
        out = np.zeros_like(x)
        add_kernel[(1,)](x, x, out, np.int32(100), BLOCK=128)
        np.testing.assert_array_equal(out, x + x)
