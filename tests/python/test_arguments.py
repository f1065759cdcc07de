"""Arguments of all kinds: arrays of several libraries and layouts, numbers, types, functions."""

import array
import ctypes
import dataclasses
import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


@pytest.mark.parametrize("dtype", [
    np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64, np.float16, np.float32, np.float64, np.bool_,
    ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
def test_numpy_and_ml_dtypes(dtype):
    x = np.arange(60).astype(dtype)
    out = np.zeros_like(x)
    copy_kernel[(1,)](x, out, 60, BLOCK=64)
    assert x.tobytes() == out.tobytes()


def test_elements_of_microscaling_formats_are_bytes():
    """As Inductor's kernels have them: the language has no such numbers."""
    @triton.jit
    def halves_scales(x_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        scale = tl.load(x_ptr + at, mask=at < n)
        tl.static_assert(scale.dtype == tl.uint8)
        tl.store(x_ptr + at, scale - 1, mask=at < n)

    x = np.array([0.25, 1.0, 64.0], ml_dtypes.float8_e8m0fnu)
    compiled = halves_scales[(1,)](x, 3, BLOCK=4)
    assert x.astype(np.float32).tolist() == [0.125, 0.5, 32.0]
    compiled[(1, 1, 1)](x, 3, 4)
    assert x.astype(np.float32).tolist() == [0.0625, 0.25, 16.0]


def test_refused_element_types():
    for dtype in (np.complex64, "datetime64[s]", ">f4"):
        x = np.zeros(4, dtype)
        with pytest.raises(TypeError, match="parameter 'x_ptr'"):
            copy_kernel[(1,)](x, np.zeros(4, np.float32), 4, BLOCK=4)


class Exchanged:
    """An array that offers DLPack only."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack():
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    copy_kernel[(1,)](Exchanged(x), Exchanged(out), 32, BLOCK=32)
    np.testing.assert_array_equal(out, x)


def test_buffers():
    x, out = array.array("i", range(16)), bytearray(64)
    copy_kernel[(1,)](x, memoryview(out).cast("i"), 16, BLOCK=16)
    assert bytes(out) == x.tobytes()


@pytest.mark.parametrize("kind", [ctypes.c_float, ctypes.c_int8, ctypes.c_uint16, ctypes.c_double])
def test_ctypes_arrays_whose_memory_has_no_strides(kind):
    x, out = (kind * 16)(*range(16)), ((kind * 4) * 4)()
    copy_kernel[(1,)](x, out, 16, BLOCK=16)
    assert bytes(out) == bytes(x)


def test_memory_of_structures_is_refused_by_type():
    class Pair(ctypes.Structure):
        _fields_ = [("x", ctypes.c_int), ("y", ctypes.c_int)]

    with pytest.raises(TypeError, match="Pair_Array_2"):
        copy_kernel[(1,)]((Pair * 2)(), np.zeros(2, np.int32), 2, BLOCK=2)


def test_read_only_array_is_a_fine_source():
    x, out = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    x.flags.writeable = False
    copy_kernel[(1,)](x, out, 8, BLOCK=8)
    np.testing.assert_array_equal(out, np.arange(8))


def test_strided_views():
    @triton.jit
    def kernel(x_ptr, out_ptr, sm, sn, M: tl.constexpr, N: tl.constexpr):
        m, n = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
        tl.store(out_ptr + m * N + n, tl.load(x_ptr + m * sm + n * sn))

    base = np.arange(16 * 64, dtype=np.int32).reshape(16, 64)
    for view in (base[::2, ::4], base.T[:8, :16].copy(order="F"), base[::-2, ::-4]):
        out = np.zeros((8, 16), np.int32)
        kernel[(1,)](view, out, *(step // 4 for step in view.strides), M=8, N=16)
        np.testing.assert_array_equal(out, view)


def test_numbers():
    @triton.jit
    def kernel(out_ptr, small, large, huge, flag, real, nothing):
        tl.store(out_ptr, small.dtype.primitive_bitwidth)
        tl.store(out_ptr + 1, large.dtype.primitive_bitwidth)
        tl.store(out_ptr + 2, huge.dtype == tl.uint64)
        tl.store(out_ptr + 3, flag.to(tl.int32))
        tl.store(out_ptr + 4, (real * 2).to(tl.int32))
        if nothing is None:
            tl.store(out_ptr + 5, 7)

    out = np.zeros(6, np.int32)
    kernel[(1,)](out, 5, 2**40, 2**63, True, 1.5, None)
    assert list(out) == [32, 64, 1, 1, 3, 7]


def test_numpy_scalars():
    @triton.jit
    def kernel(out_ptr, n, x):
        tl.store(out_ptr, n + x)

    out = np.zeros(1, np.float32)
    kernel[(1,)](out, np.int64(3), np.float32(0.5))
    assert out[0] == 3.5


def test_types_functions_and_strings_as_constants():
    @triton.jit
    def double(x):
        return x * 2

    @triton.jit
    def kernel(out_ptr, x, fn: tl.constexpr, dtype: tl.constexpr, mode: tl.constexpr):
        value = fn(x).to(dtype)
        if mode == "negative":
            value = -value
        tl.store(out_ptr, value)

    out = np.zeros(1, np.float32)
    kernel[(1,)](out, 21, double, tl.float32, "negative")
    assert out[0] == -42
    kernel[(1,)](out, 21, double, tl.constexpr(tl.float32), "positive")
    assert out[0] == 42


def test_namedtuple_arguments():
    from collections import namedtuple
    Shape = namedtuple("Shape", ["rows", "columns"])

    @triton.jit
    def kernel(out_ptr, shape):
        tl.store(out_ptr, shape.rows * 10 + shape.columns)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out, Shape(3, 4))
    assert out[0] == 34
    with triton.engine("interpret"):
        kernel[(1,)](out, Shape(5, 6))
    assert out[0] == 56


def test_tensor_descriptors():
    from tilewright.tools.tensor_descriptor import TensorDescriptor

    @triton.jit
    def kernel(x, out):
        out.store([0, 0], x.load([4, 8]))

    x, out = np.arange(32 * 32, dtype=np.float32).reshape(32, 32), np.zeros((8, 16), np.float32)
    kernel[(1,)](TensorDescriptor.from_tensor(x, [8, 16]), TensorDescriptor.from_tensor(out, [8, 16]))
    np.testing.assert_array_equal(out, x[4:12, 8:24])
    out[:] = 0
    with triton.engine("interpret"):
        kernel[(1,)](TensorDescriptor.from_tensor(x, [8, 16]), TensorDescriptor.from_tensor(out, [8, 16]))
    np.testing.assert_array_equal(out, x[4:12, 8:24])
    with pytest.raises(ValueError, match="rank mismatch"):
        TensorDescriptor(x, [32, 32], [32, 1], [8])


def test_reinterpret():
    x, out = np.arange(8, dtype=np.uint8), np.zeros(8, np.float16)
    copy_kernel[(1,)](triton.reinterpret(x, tl.float8e5), out, 8, BLOCK=8)
    np.testing.assert_array_equal(out, x.view(ml_dtypes.float8_e5m2).astype(np.float16))
    with pytest.raises(TypeError, match="reinterpret takes a tensor or an array, not"):
        triton.reinterpret(3, tl.float8e5)


def test_torch_tensors():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/setup.sh --torch)")
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        x = torch.arange(60).to(dtype)
        out = torch.zeros_like(x)
        copy_kernel[(1,)](x, out, 60, BLOCK=64)
        assert torch.equal(x, out)
    # The first launch with an element type reads tensors by their methods. Later ones read them in another way, and must get the same values.
    x, out = torch.arange(16, dtype=torch.float32), torch.zeros(16)
    for _ in range(3):
        out.zero_()
        copy_kernel[(1,)](x[4:], out[2:], 12, BLOCK=16)
        assert torch.equal(out[2:14], x[4:]) and not out[:2].any() and not out[14:].any()
        copy_kernel[(1,)](torch.nn.Parameter(x), out, 16, BLOCK=16)
        assert torch.equal(out, x)
        copy_kernel[(1,)](torch.zeros(0), torch.zeros(0), 0, BLOCK=16)
        copy_kernel[(1,)](torch.tensor(3.0), out, 1, BLOCK=16)
        assert out[0] == 3
        with pytest.raises(ValueError, match="writes to 'out_ptr', a broadcast view"):
            copy_kernel[(1,)](x, torch.zeros(1).expand(16), 16, BLOCK=16)
        with pytest.raises(ValueError, match="the memory of this tensor cannot be reached"):
            copy_kernel[(1,)](x.to_sparse(), out, 16, BLOCK=16)
        with pytest.raises(ValueError, match="it has elements but no memory"):
            copy_kernel[(1,)](torch.zeros(16, device="meta"), out, 16, BLOCK=16)
        with pytest.raises(TypeError, match="kernels have no element type .*complex64"):
            copy_kernel[(1,)](x.to(torch.complex64), out, 16, BLOCK=16)


class Described:
    """Imitates a tensor descriptor of another library."""

    def __init__(self, **fields):
        self.__dict__.update(fields)


@triton.jit
def constant_kernel(out_ptr, value, VALUE: tl.constexpr = 0):
    tl.store(out_ptr, 1.0)


def test_numbers_without_an_equal_in_python_are_refused():
    out = np.zeros(1, np.float32)
    for number in (np.longdouble(1), np.clongdouble(1)):
        with pytest.raises(TypeError, match="parameter 'value': .*kernels have no such type"):
            constant_kernel[(1,)](out, number)


def test_lists_that_hold_themselves_and_deep_ones_are_refused():
    itself = []
    itself.append(itself)
    holder = {}
    holder["holder"] = holder
    deep = (1,)
    for _ in range(100000):
        deep = (deep,)
    out = np.zeros(1, np.float32)
    for value in (itself, deep):
        with pytest.raises(ValueError, match="nested more than 100 levels deep"):
            constant_kernel[(1,)](out, value)
    for value in (itself, holder, deep):
        with pytest.raises(ValueError, match="nested more than 100 levels deep"):
            constant_kernel[(1,)](out, 1.0, VALUE=value)
    fine = (1,)
    for _ in range(50):
        fine = (fine,)
    constant_kernel[(1,)](out, 1.0, VALUE=fine)


def test_a_grid_that_changes_while_it_is_read():
    class Extent:
        def __index__(self):
            grid.clear()
            return 1

    grid = [Extent(), 1, 1]
    out = np.zeros(1, np.float32)
    constant_kernel[grid](out, 1.0)
    assert out[0] == 1


@pytest.mark.parametrize("change, message", [
    (dict(block_shape=[]), "needs a block_shape"), (dict(shape=[-1, -1]), "no negative extents"),
    (dict(shape=[8]), "one extent and one stride for each dimension"), (dict(block_shape=[8, 0]), "positive extents"),
    (dict(shape=[2**70, 8]), "does not fit in 64 bits"), (dict(shape="ab"), "are ints, not 'a'")])
def test_bad_descriptors_are_refused(change, message):
    fields = dict(base=np.zeros((8, 8), np.float32), shape=[8, 8], strides=[8, 1], block_shape=[8, 8]) | change
    with pytest.raises((ValueError, OverflowError, TypeError), match=message):
        constant_kernel[(1,)](np.zeros(1, np.float32), Described(**fields))


@dataclasses.dataclass(frozen=True)
class Shape:
    rows: int
    name: str = "x"

    def twice(self):
        return 2 * self.rows


@triton.jit
def shaped_kernel(out_ptr, SHAPE: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, SHAPE.rows), SHAPE.twice())


def test_any_object_is_a_constant():
    out = np.zeros(8, np.int32)
    shaped_kernel[(1,)](out, Shape(4))
    np.testing.assert_array_equal(out, [8] * 4 + [0] * 4)
    shaped_kernel[(1,)](out, SHAPE=Shape(8))
    np.testing.assert_array_equal(out, [16] * 8)
    compiled = shaped_kernel._compiled_count()
    assert shaped_kernel[(1,)](out, Shape(4)) is shaped_kernel[(1,)](out, Shape(4)) and shaped_kernel._compiled_count() == compiled
    with pytest.raises(triton.CompilationError, match="has no 'columns'|columns"):
        @triton.jit
        def wrong(out_ptr, SHAPE: tl.constexpr):
            tl.store(out_ptr, SHAPE.columns)
        wrong[(1,)](out, Shape(4))
    with pytest.raises(TypeError, match="unhashable"):
        shaped_kernel[(1,)](out, type("Box", (), {"__eq__": lambda a, b: True})())
    with pytest.raises(TypeError, match="failed to specialize argument of type: Shape"):
        shaped_kernel[(1,)](Shape(4), 8)


def test_an_object_in_another_process_is_distinguished(tmp_path):
    """The key of code depends on an object's contents; if they cannot be determined, other processes do not find the code."""
    script = tmp_path / "script.py"
    script.write_text("""
import sys
import numpy as np
import tilewright as triton
import tilewright.language as tl

class Held:
    def __init__(self, value, hold=None):
        self.value, self.hold = value, hold

@triton.jit
def kernel(out_ptr, HELD: tl.constexpr):
    tl.store(out_ptr, HELD.value)

out = np.zeros(1, np.int32)
compiled = kernel[(1,)](out, Held(int(sys.argv[1]), (lambda: 0) if sys.argv[2] == "closed" else None))
print(out[0], compiled.from_cache)
""")
    env = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}

    def run(*arguments):
        return subprocess.run([sys.executable, script, *arguments], env=env, capture_output=True, text=True, check=True).stdout.split()

    assert [run("1", "open"), run("1", "open"), run("2", "open")] == [["1", "False"], ["1", "True"], ["2", "False"]]
    assert [run("3", "closed"), run("4", "closed")] == [["3", "False"], ["4", "False"]]
