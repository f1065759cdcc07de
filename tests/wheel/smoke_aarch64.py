"""What the wheel for 64-bit ARM does under an emulator: kernels, errors, the command, and a library that it builds.

Run by `tools/wheel_test.py --arch aarch64` in the emulated Python of the sysroot. The emulator starts no other program, so everything happens in
this process.
"""

import ctypes
import importlib.metadata
import json
import pathlib
import platform

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

PACKAGE = pathlib.Path(triton.__file__).parent
SCALE = """import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)
"""


@triton.jit
def matmul(a, b, c, M, N, K, BLOCK: tl.constexpr):
    i, j, k = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK):
        x = tl.load(a + i[:, None] * K + (start + k)[None, :], mask=(i[:, None] < M) & ((start + k)[None, :] < K), other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + j[None, :], mask=((start + k)[:, None] < K) & (j[None, :] < N), other=0.0)
        total += tl.dot(x, y)
    tl.store(c + i[:, None] * N + j[None, :], total, mask=(i[:, None] < M) & (j[None, :] < N))


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out + row * n + at, tl.softmax(tl.load(x + row * n + at, mask=at < n, other=-float("inf"))), mask=at < n)


@triton.jit
def count(x, counts, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


def test_it_is_of_this_machine():
    assert platform.machine() == "aarch64"
    bill = json.loads(next(file for file in importlib.metadata.files("tilewright") if file.name == "tilewright.cdx.json").read_text())
    assert bill["metadata"]["component"]["version"] == triton.__version__ == importlib.metadata.version("tilewright")


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_matmul(dtype):
    rng = np.random.default_rng(0)
    a, b, c = rng.standard_normal((70, 50)).astype(dtype), rng.standard_normal((50, 90)).astype(dtype), np.zeros((70, 90), np.float32)
    matmul[(3, 3)](a, b, c, 70, 90, 50, BLOCK=32)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4)


def test_softmax():
    x = np.random.default_rng(0).standard_normal((5, 100)).astype(np.float32)
    out = np.zeros_like(x)
    softmax[(5,)](x, out, 100, BLOCK=128)
    exact = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, exact / exact.sum(1, keepdims=True), rtol=1e-5)


def test_atomics():
    x, counts = np.arange(10000, dtype=np.int32) % 7, np.zeros(7, np.int32)
    count[(10,)](x, counts, 10000, BLOCK=1024)
    np.testing.assert_array_equal(counts, np.bincount(x))


def test_an_error_names_the_line(tmp_path):
    @triton.jit
    def wrong(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), tl.arange(0, 2 * BLOCK))

    with pytest.raises(Exception, match="smoke_aarch64.py:"):
        wrong[(1,)](np.zeros(64, np.float32), BLOCK=16)


def run_command(*words):
    """The command in this process: its status."""
    library = ctypes.CDLL(str(next(PACKAGE.glob("libtilewright.so.0"))))
    texts = [str(word).encode() for word in ("tilewright", *words)]
    return library.twCommand(len(texts), (ctypes.c_char_p * (len(texts) + 1))(*texts, None))


def test_a_library_that_the_command_builds(tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    words = ["build", tmp_path / "scale.py", "--signature", "*fp32, *fp32, i32, fp32, BLOCK=64", "--grid", "cdiv(n, BLOCK)", "--target", "cpu:armv8,cpu:neon",
             "-o", tmp_path / "libscale.so"]
    assert run_command(*words) == 0
    ctypes.CDLL(str(PACKAGE / "libtilewright_rt.so.0"), ctypes.RTLD_GLOBAL)
    scale = ctypes.CDLL(str(tmp_path / "libscale.so")).scale_kernel
    x, out = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    assert scale(None, x.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p), 100, ctypes.c_float(3), None) == 1
    np.testing.assert_array_equal(out, x * 3)
