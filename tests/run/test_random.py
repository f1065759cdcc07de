"""Random numbers are a function of seed and counter: bit for bit those of Philox-4x32-10, which is written here in NumPy."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


def philox(seed, counters, rounds=10):
    """The four words of Philox-4x32 for counters (c, 0, 0, 0)."""
    low = np.uint64(0xFFFFFFFF)
    zero = np.zeros(counters.shape, np.uint64)
    c = [counters.astype(np.int64).view(np.uint64) & low, zero, zero, zero]
    key = [np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32 & 0xFFFFFFFF)]
    for _ in range(rounds):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ key[0], b & low, (a >> np.uint64(32)) ^ c[3] ^ key[1], a & low]
        key = [(key[0] + np.uint64(0x9E3779B9)) & low, (key[1] + np.uint64(0xBB67AE85)) & low]
    return [word.astype(np.uint32) for word in c]


def uniform(bits):
    bits = bits.view(np.int32)
    return np.where(bits < 0, -bits - 1, bits).astype(np.float32) * np.float32(4.6566127342e-10)


def normal(first, second):
    u1 = np.maximum(uniform(first), np.float32(1e-7)).astype(np.float64)
    radius, angle = np.sqrt(-2 * np.log(u1)), 6.283185307179586 * uniform(second).astype(np.float64)
    return radius * np.cos(angle), radius * np.sin(angle)


@triton.jit
def integers_kernel(one_ptr, four_ptr, seed, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(one_ptr + offsets, tl.randint(seed, offsets), mask=mask)
    a, b, c, d = tl.randint4x(seed, offsets)
    tl.store(four_ptr + offsets, a, mask=mask)
    tl.store(four_ptr + n + offsets, b, mask=mask)
    tl.store(four_ptr + 2 * n + offsets, c, mask=mask)
    tl.store(four_ptr + 3 * n + offsets, d, mask=mask)


@pytest.mark.parametrize("seed", [0, 1, 54321, 2**31 - 1, 2**40 + 17])
def test_integers(seed):
    n = 500
    one, four = np.zeros(n, np.int32), np.zeros((4, n), np.int32)
    integers_kernel[(triton.cdiv(n, 128),)](one, four, seed, n, BLOCK=128)
    words = philox(seed, np.arange(n))
    np.testing.assert_array_equal(one.view(np.uint32), words[0])
    np.testing.assert_array_equal(four.view(np.uint32), np.stack(words))


@triton.jit
def floats_kernel(rand_ptr, randn_ptr, seed, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(rand_ptr + offsets, tl.rand(seed, offsets), mask=mask)
    tl.store(randn_ptr + offsets, tl.randn(seed, offsets), mask=mask)


@pytest.mark.parametrize("seed", [0, 123])
def test_floats(seed):
    n = 1000
    rand, randn = np.zeros(n, np.float32), np.zeros(n, np.float32)
    floats_kernel[(triton.cdiv(n, 256),)](rand, randn, seed, n, BLOCK=256)
    words = philox(seed, np.arange(n))
    np.testing.assert_array_equal(rand, uniform(words[0]))
    np.testing.assert_allclose(randn, normal(words[0], words[1])[0], rtol=1e-4, atol=1e-5)


@triton.jit
def rounds_kernel(out_ptr, seed, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.randint(seed, offsets, n_rounds=7))


def test_fewer_rounds():
    out = np.zeros(64, np.int32)
    rounds_kernel[(1,)](out, 99, BLOCK=64)
    np.testing.assert_array_equal(out.view(np.uint32), philox(99, np.arange(64), rounds=7)[0])


@triton.jit
def normals_kernel(out_ptr, seed, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    a, b, c, d = tl.randn4x(seed, offsets)
    tl.store(out_ptr + offsets, a)
    tl.store(out_ptr + n + offsets, b)
    tl.store(out_ptr + 2 * n + offsets, c)
    tl.store(out_ptr + 3 * n + offsets, d)


def test_four_normals():
    out = np.zeros((4, 512), np.float32)
    normals_kernel[(1,)](out, 5, 512, BLOCK=512)
    words = philox(5, np.arange(512))
    np.testing.assert_allclose(out, np.stack([*normal(words[0], words[1]), *normal(words[2], words[3])]), rtol=1e-4, atol=1e-5)
