"""Arrays of other libraries: DLPack capsules of versions 0 and 1 and buffers, whose memory may live no longer than the export."""

import ctypes
import weakref

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@pytest.fixture(params=["cpu", "interpret", "simulate"])
def engine(request):
    with triton.engine(request.param):
        yield request.param


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n), mask=at < n)


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", Tensor)]


new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype, new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def int64s(numbers):
    return None if numbers is None else ctypes.cast((ctypes.c_int64 * max(len(numbers), 1))(*numbers), ctypes.POINTER(ctypes.c_int64))


class Producer:
    """Exports an array with any mistake that a test asks for."""

    def __init__(self, array, version=None, flags=0, name=None, **fields):
        self.array = array
        code = {"f": 2, "i": 0, "u": 1, "b": 6}[array.dtype.kind]
        strides = fields.pop("strides", [step // array.itemsize for step in array.strides])
        tensor = dict(data=array.ctypes.data, device_type=1, ndim=array.ndim, code=code, bits=8 * array.itemsize, lanes=1,
                      shape=int64s(fields.pop("shape", array.shape)), strides=int64s(strides))
        tensor = Tensor(**{**tensor, **fields})
        self.managed = Managed(tensor) if version is None else Versioned(*version, flags=flags, tensor=tensor)
        self.name = name or (b"dltensor" if version is None else b"dltensor_versioned")

    def __dlpack__(self, **options):
        return new_capsule(ctypes.addressof(self.managed), self.name, None)

    def __dlpack_device__(self):
        return (1, 0)


class Temporary:
    """Each export is of memory that nothing but the capsule keeps alive."""

    def __init__(self, size, dtype=np.float32):
        self.size, self.dtype, self.made = size, dtype, []

    def fresh(self):
        array = np.full(self.size, 7, self.dtype)
        self.made.append(weakref.ref(array))
        return array

    def __dlpack__(self, **options):
        return self.fresh().__dlpack__(**options)

    def __dlpack_device__(self):
        return (1, 0)




def test_a_temporary_export_lives_as_long_as_the_launch(engine):
    source, out = Temporary(64), np.zeros(64, np.float32)
    copy_kernel[(1,)](source, out, 64, BLOCK=64)
    assert (out == 7).all()
    assert source.made and all(array() is None for array in source.made)


def test_large_temporary_exports_are_not_unmapped():
    """Memory of this size goes back to the system when it is freed, so that a read of it afterwards ends the process."""
    n = 1 << 24
    source, out = Temporary(n), np.zeros(n, np.float32)
    copy_kernel[(n // 1024,)](source, out, n, BLOCK=1024)
    assert (out == 7).all()
    copy_kernel[(n // 1024,)](out, Temporary(n), n, BLOCK=1024)


def test_a_temporary_in_a_tuple():
    @triton.jit
    def kernel(pair, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(pair[1] + at, tl.load(pair[0] + at))

    class Fresh(list):
        def __iter__(self):
            return iter((np.full(1 << 22, 7, np.float32), self.out))

    n = 1 << 22
    items = Fresh((np.zeros(1, np.float32), np.zeros(1, np.float32)))
    items.out = np.zeros(n, np.float32)
    kernel[(n // 1024,)](items, BLOCK=1024)
    assert (items.out == 7).all()


def test_a_temporary_under_another_type():
    class Fresh:
        dtype = tl.int32

        @property
        def base(self):
            return np.full(1 << 22, 7, np.float32)

    n, out = 1 << 22, np.zeros(1 << 22, np.int32)
    wrapped = triton.reinterpret(np.zeros(1, np.float32), tl.int32)
    kind = type("Fresh", (type(wrapped),), {"base": Fresh.base, "dtype": tl.int32, "__init__": lambda self: None})
    copy_kernel[(n // 1024,)](kind(), out, n, BLOCK=1024)
    assert (out.view(np.float32) == 7).all()


def test_a_launch_inside_an_export_keeps_the_outer_ones():
    n, inner = 1 << 22, np.zeros(16, np.float32)

    class Launching(Temporary):
        def __dlpack__(self, **options):
            copy_kernel[(1,)](Temporary(16), inner, 16, BLOCK=16)
            return super().__dlpack__(**options)

    out = np.zeros(n, np.float32)
    copy_kernel[lambda meta: copy_kernel[(1,)](Temporary(16), inner, 16, BLOCK=16) and (n // 1024,)](Launching(n), out, n, BLOCK=1024)
    assert (out == 7).all() and (inner == 7).all()


def test_a_tuner_measures_temporaries():
    tuned = triton.autotune(configs=[triton.Config({"BLOCK": size}) for size in (256, 1024)], key=["n"])(copy_kernel)
    n, out = 1 << 20, np.zeros(1 << 20, np.float32)
    tuned[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](Temporary(n), out, n)
    assert (out == 7).all()


@pytest.mark.parametrize("version", [None, (1, 0), (1, 1), (1, 9)])
def test_versions(version, engine):
    x, out = np.arange(48, dtype=np.int32), np.zeros(48, np.int32)
    copy_kernel[(1,)](Producer(x, version), Producer(out, version), 48, BLOCK=64)
    np.testing.assert_array_equal(out, x)


def test_version_2_is_refused_by_name():
    with pytest.raises(TypeError, match=r"parameter 'x_ptr'.*version 2.1 of DLPack; versions 0 and 1 are known"):
        copy_kernel[(1,)](Producer(np.zeros(4, np.int32), (2, 1)), np.zeros(4, np.int32), 4, BLOCK=4)


def test_the_read_only_flag():
    out = np.ones(4, np.int32)
    with pytest.raises(ValueError, match="'out_ptr', whose memory is read-only"):
        copy_kernel[(1,)](np.zeros(4, np.int32), Producer(out, (1, 0), flags=1), 4, BLOCK=4)
    assert out.all()
    copy_kernel[(1,)](Producer(np.zeros(4, np.int32), (1, 0), flags=1), out, 4, BLOCK=4)
    assert not out.any()


def test_an_offset_and_no_strides():
    x, out = np.arange(32, dtype=np.int32), np.zeros(16, np.int32)
    copy_kernel[(1,)](Producer(x[:16], byte_offset=64, strides=None), out, 16, BLOCK=16)
    np.testing.assert_array_equal(out, x[16:])


@pytest.mark.parametrize("shape", [(0,), (4, 0), (0, 1 << 40)])
def test_nothing_inside(shape):
    out = np.ones(4, np.int32)
    copy_kernel[(1,)](Producer(np.zeros(0, np.int32), data=None, ndim=len(shape), shape=shape, strides=None), out, 0, BLOCK=4)
    assert out.all()


def test_a_number_without_dimensions():
    x, out = np.full((), 5, np.int32), np.zeros(1, np.int32)
    copy_kernel[(1,)](Producer(x, shape=None, strides=None), out, 1, BLOCK=1)
    assert out[0] == 5


WRONG = [
    (dict(shape=None, strides=None), "has dimensions and no shape"),
    (dict(ndim=-1), "has -1 dimensions"),
    (dict(ndim=1 << 30), "has 1073741824 dimensions"),
    (dict(shape=(-4,)), "a dimension of size -4"),
    (dict(lanes=2), "bits and 2 lanes"),
    (dict(lanes=0), "bits and 0 lanes"),
    (dict(code=5, bits=64), "DLPack's code 5, 64 bits"),
    (dict(code=17, bits=4), "DLPack's code 17, 4 bits"),
    (dict(bits=0), "DLPack's code 0, 0 bits"),
    (dict(strides=(1 << 62,)), "strides of its DLPack tensor do not fit"),
    (dict(ndim=3, shape=(4, 1 << 40, 1 << 40), strides=None), "strides of its DLPack tensor do not fit"),
    (dict(name=b"used_dltensor"), "a capsule named 'used_dltensor'"),
]


@pytest.mark.parametrize("fields, message", WRONG)
@pytest.mark.parametrize("version", [None, (1, 0)])
def test_mistakes_are_named(version, fields, message):
    with pytest.raises(TypeError, match="parameter 'x_ptr'.*" + message):
        copy_kernel[(1,)](Producer(np.zeros(4, np.int32), version, **fields), np.zeros(4, np.int32), 4, BLOCK=4)


@pytest.mark.parametrize("device", [4, 7, 12, 99])
def test_devices_without_kernels(device):
    with pytest.raises(ValueError, match="neither in the CPU's memory nor in that of an NVIDIA GPU"):
        copy_kernel[(1,)](Producer(np.zeros(4, np.int32), device_type=device), np.zeros(4, np.int32), 4, BLOCK=4)


def test_memory_that_is_not_there():
    with pytest.raises(ValueError, match="x_ptr"):
        copy_kernel[(1,)](Producer(np.zeros(4, np.int32), data=None), np.zeros(4, np.int32), 4, BLOCK=4)


class Raising:
    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **options):
        raise self.error


@pytest.mark.parametrize("error", [BufferError("exported already"), TypeError("no such thing"), RuntimeError("bad day")])
def test_exporters_that_raise(error):
    with pytest.raises(TypeError, match=f"its __dlpack__ raises {type(error).__name__}: {error}"):
        copy_kernel[(1,)](Raising(error), np.zeros(4, np.int32), 4, BLOCK=4)


def test_interrupts_go_on_to_the_caller():
    with pytest.raises(KeyboardInterrupt):
        copy_kernel[(1,)](Raising(KeyboardInterrupt()), np.zeros(4, np.int32), 4, BLOCK=4)


@pytest.mark.parametrize("given", [None, 3, "dltensor", object()])
def test_exports_that_are_no_capsules(given):
    kind = type("Kind", (), {"__dlpack__": lambda self, **options: given})
    with pytest.raises(TypeError, match="its __dlpack__ returns no capsule"):
        copy_kernel[(1,)](kind(), np.zeros(4, np.int32), 4, BLOCK=4)


def test_the_exporters_deleter_is_called_once_after_the_launch():
    calls = []

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def destroy(capsule):
        calls.append(capsule)

    class Counting(Producer):
        def __dlpack__(self, **options):
            return new_capsule(ctypes.addressof(self.managed), self.name, ctypes.cast(destroy, ctypes.c_void_p))

    x, out = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    for i in range(3):
        copy_kernel[(1,)](Counting(x), out, 4, BLOCK=4)
        assert len(calls) == i + 1
    np.testing.assert_array_equal(out, x)


def test_buffers_in_the_other_order_of_bytes_and_of_strange_elements():
    for kind in (ctypes.c_int32.__ctype_be__, ctypes.c_char_p, ctypes.c_longdouble):
        with pytest.raises(TypeError, match="kernels have no element type of the format"):
            copy_kernel[(1,)]((kind * 4)(), np.zeros(4, np.int32), 4, BLOCK=4)
