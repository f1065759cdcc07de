"""Functions of the author's own under @tl.core.builtin and @tl.core.extern: Python that calls builtins with `_semantic`."""

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.errors import CompilationError
from tilewright.language import core

FACTOR = tl.constexpr(3)


@core.builtin
def twice(a, _semantic=None):
    return core.add(a, a, _semantic=_semantic)


@tl.core.extern
def scaled(a, factor=FACTOR, *, offset=0, _semantic=None):
    """Both helpers of the module and conditions on constants are followed."""
    if factor == 1:
        return a
    return core.add(core.mul(twice(a, _semantic=_semantic), factor, _semantic=_semantic), offset, _semantic=_semantic)


@core.builtin
def ramp(n, _semantic=None):
    return core.arange(0, n, _semantic=_semantic)


@core.builtin
def width_of(a, _semantic=None):
    return core.constexpr(a.dtype.primitive_bitwidth)


@core.builtin
def parts(a, _semantic=None):
    return core.minimum(a, 0.0, _semantic=_semantic), core.maximum(a, 0.0, _semantic=_semantic)


@triton.jit
def kernel(x_ptr, out_ptr, B: tl.constexpr):
    at = ramp(B)
    x = tl.load(x_ptr + at)
    low, high = parts(x)
    bits: tl.constexpr = width_of(x)
    tl.static_assert(bits == 32)
    tl.store(out_ptr + at, scaled(x) + scaled(x, 1) + scaled(x, 2, offset=5) + low * 10 - high)


def test_they_become_the_kernels_code():
    x = np.linspace(-4, 4, 16).astype(np.float32)
    out = np.zeros_like(x)
    kernel[(1, )](x, out, 16)
    np.testing.assert_allclose(out, 6 * x + x + 4 * x + 5 + 10 * np.minimum(x, 0) - np.maximum(x, 0), rtol=1e-6)


@core.extern
def inverse_error(a, _semantic=None):
    return core.extern_elementwise("", "", [a], {
        (core.dtype("fp32"),): ("__nv_erfinvf", core.dtype("fp32")),
        (core.dtype("fp64"),): ("__nv_erfinv", core.dtype("fp64")),
    }, is_pure=True, _semantic=_semantic)


@core.extern
def unknown_function(a, _semantic=None):
    return core.extern_elementwise("", "", [a], {(core.dtype("fp32"),): ("nvshmem_my_pe", core.dtype("int32"))}, is_pure=False, _semantic=_semantic)


@triton.jit
def extern_kernel(x_ptr, out_ptr, F: tl.constexpr):
    at = tl.arange(0, 16)
    tl.store(out_ptr + at, F(tl.load(x_ptr + at)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_libdevice_by_symbol(dtype):
    x = np.array([0, 0.5204998778130465] * 8, dtype)  # erf(0), erf(0.5)
    out = np.zeros_like(x)
    extern_kernel[(1, )](x, out, inverse_error)
    np.testing.assert_allclose(out, np.array([0, 0.5] * 8), rtol=1e-5)


def test_other_libraries_are_refused_by_name():
    with pytest.raises(CompilationError, match="extern_elementwise of 'nvshmem_my_pe' is not supported"):
        extern_kernel[(1, )](np.zeros(16, np.float32), np.zeros(16, np.int32), unknown_function)


@core.builtin
def raw(a, _semantic=None):
    return _semantic.builder.create_fadd(a, a)


@triton.jit
def raw_kernel(x_ptr):
    tl.store(x_ptr, raw(tl.load(x_ptr)))


def test_the_builder_of_upstream_is_refused():
    with pytest.raises(CompilationError, match="builder"):
        raw_kernel[(1, )](np.zeros(1, np.float32))


def or_none(mask, value, *, _builder: object = None):
    """As PyTorch's helpers do: a builtin by its mark alone. Of constants it is called, and of run-time values it becomes the kernel's code."""
    if isinstance(mask, tl.constexpr) and mask.value is None:
        return tl.constexpr(None)
    return value


or_none.__triton_builtin__ = True


@triton.jit
def optional_masks(x_ptr, out_ptr, n, B: tl.constexpr):
    at = tl.arange(0, B)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask, other=or_none(mask, 7)))
    tl.store(out_ptr + B + at, tl.load(x_ptr + at, None, other=or_none(None, 7)))


def test_functions_with_the_mark_alone():
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(32, np.float32)
    optional_masks[(1, )](x, out, 5, 16)
    np.testing.assert_array_equal(out, [*x[:5], *[7] * 11, *x])


@core.extern
def remainder_of_one_operand(a, _semantic=None):
    return core.extern_elementwise("", "", [a], {(core.dtype("fp32"),): ("__nv_fmodf", core.dtype("fp32"))}, is_pure=True, _semantic=_semantic)


@core.extern
def integer_of_floor(a, _semantic=None):
    return core.extern_elementwise("", "", [a], {(core.dtype("fp32"),): ("__nv_floorf", core.dtype("int32"))}, is_pure=True, _semantic=_semantic)


@pytest.mark.parametrize("function", [remainder_of_one_operand, integer_of_floor])
def test_library_functions_take_the_types_of_their_table(function):
    with pytest.raises(CompilationError, match="with these types is not supported"):
        extern_kernel[(1, )](np.zeros(16, np.float32), np.zeros(16, np.float32), function)
