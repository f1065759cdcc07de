"""The memory that a launch may use: read-only memory and broadcast views are read and never written, and tensors without memory are refused."""

import mmap

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at))


@triton.jit
def add_kernel(out_ptr, BLOCK: tl.constexpr):
    tl.atomic_add(out_ptr + tl.arange(0, BLOCK), 1)


@triton.jit
def carried_kernel(x_ptr, out_ptr, iterations, BLOCK: tl.constexpr):
    x_at = x_ptr + tl.arange(0, BLOCK)
    out_at = out_ptr + tl.arange(0, BLOCK)
    for _ in range(iterations):
        tl.store(out_at, tl.load(x_at))
        x_at += BLOCK
        out_at += BLOCK


@triton.jit
def advance(x_ptr, out_ptr, by):
    return x_ptr + by, out_ptr + by


@triton.jit
def helper_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    x_at, out_at = advance(x_ptr, out_ptr, at)
    tl.store(out_at, tl.load(x_at))


@triton.jit
def block_pointer_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x_block = tl.make_block_ptr(x_ptr, (BLOCK,), (1,), (0,), (BLOCK,), (0,))
    out_block = tl.make_block_ptr(out_ptr, (BLOCK,), (1,), (0,), (BLOCK,), (0,))
    tl.store(out_block, tl.load(x_block))


@triton.jit
def choose_kernel(a_ptr, b_ptr, which, BLOCK: tl.constexpr):
    if which > 0:
        out_ptr = a_ptr
    else:
        out_ptr = b_ptr
    tl.store(out_ptr + tl.arange(0, BLOCK), 1.0)


@triton.jit
def tuple_kernel(pair, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(pair[1] + at, tl.load(pair[0] + at))


@triton.jit
def descriptor_kernel(source, out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.arange(0, BLOCK), source.load([0]))


@triton.jit
def descriptor_store_kernel(target, BLOCK: tl.constexpr):
    target.store([0], tl.zeros((BLOCK,), tl.float32) + 1)


@pytest.fixture(params=["cpu", "interpret", "simulate"])
def engine(request):
    if request.param == "cpu":
        yield
        return
    with triton.engine(request.param):
        yield


def read_only(size=16, dtype=np.float32):
    array = np.zeros(size, dtype)
    array.flags.writeable = False
    return array


def view_of_bytes():
    return np.frombuffer(bytes(64), np.float32)


def view_of_file(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(4096))
    return np.memmap(path, np.float32, "r")


class Exchanged:
    """An array that offers nothing but DLPack."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


READ_ONLY = [read_only, view_of_bytes, lambda: memoryview(bytes(64)).cast("f"), lambda: Exchanged(read_only()),
             lambda: triton.reinterpret(read_only(dtype=np.int32), tl.float32)]


@pytest.mark.parametrize("make", READ_ONLY)
def test_read_only_memory_is_not_written(make, engine):
    """readOnlyArgument"""
    with pytest.raises(ValueError, match="kernel 'copy_kernel' writes to 'out_ptr', whose memory is read-only"):
        copy_kernel[(1,)](np.ones(16, np.float32), make(), BLOCK=16)


@pytest.mark.parametrize("make", READ_ONLY)
def test_read_only_memory_is_read(make, engine):
    out = np.ones(16, np.float32)
    copy_kernel[(1,)](make(), out, BLOCK=16)
    assert not out.any()


def test_a_warm_kernel_still_looks():
    copy_kernel[(1,)](np.ones(16, np.float32), np.zeros(16, np.float32), BLOCK=16)
    target = read_only()
    with pytest.raises(ValueError, match="'out_ptr', whose memory is read-only"):
        copy_kernel[(1,)](np.ones(16, np.float32), target, BLOCK=16)
    assert not target.any()


def test_bytes_and_files_keep_what_they_hold(tmp_path):
    text = bytes(16)
    with pytest.raises(ValueError, match="read-only"):
        copy_kernel[(1,)](np.ones(16, np.uint8), text, BLOCK=16)
    assert not any(text)
    with pytest.raises(ValueError, match="read-only"):
        copy_kernel[(1,)](np.ones(16, np.float32), view_of_file(tmp_path), BLOCK=16)
    shared = mmap.mmap(-1, 64)
    copy_kernel[(1,)](np.ones(16, np.float32), np.frombuffer(shared, np.float32), BLOCK=16)
    assert np.frombuffer(shared, np.float32).sum() == 16


def test_atomics_write(engine):
    with pytest.raises(ValueError, match="'add_kernel' writes to 'out_ptr'"):
        add_kernel[(1,)](read_only(dtype=np.int32), BLOCK=16)


@pytest.mark.parametrize("kernel", [helper_kernel, block_pointer_kernel])
def test_addresses_are_followed(kernel, engine):
    with pytest.raises(ValueError, match="'out_ptr', whose memory is read-only"):
        kernel[(1,)](np.ones(16, np.float32), read_only(), BLOCK=16)
    kernel[(1,)](read_only(), np.ones(16, np.float32), BLOCK=16)


def test_addresses_that_a_loop_carries(engine):
    out = np.ones(32, np.float32)
    carried_kernel[(1,)](read_only(32), out, 2, BLOCK=16)
    assert not out.any()
    with pytest.raises(ValueError, match="'out_ptr', whose memory is read-only"):
        carried_kernel[(1,)](out, read_only(32), 2, BLOCK=16)


def test_either_of_two(engine):
    for arguments in ((read_only(), np.zeros(16, np.float32)), (np.zeros(16, np.float32), read_only())):
        with pytest.raises(ValueError, match="read-only"):
            choose_kernel[(1,)](*arguments, 0, BLOCK=16)


def test_members_of_tuples_are_named():
    out = np.zeros(16, np.float32)
    tuple_kernel[(1,)]((read_only(), out), BLOCK=16)
    with pytest.raises(ValueError, match=r"'pair\[1\]', whose memory is read-only"):
        tuple_kernel[(1,)]((out, read_only()), BLOCK=16)


def test_descriptors():
    from tilewright.tools.tensor_descriptor import TensorDescriptor
    out = np.ones(16, np.float32)
    descriptor_kernel[(1,)](TensorDescriptor(read_only(), [16], [1], [16]), out, BLOCK=16)
    assert not out.any()
    with pytest.raises(ValueError, match="'target', whose memory is read-only"):
        descriptor_store_kernel[(1,)](TensorDescriptor(read_only(), [16], [1], [16]), BLOCK=16)


def test_a_broadcast_view_is_read_but_not_written(engine):
    """broadcastArgument"""
    one = np.ones(1, np.float32)
    view = np.lib.stride_tricks.as_strided(one, (16,), (0,), writeable=True)
    with pytest.raises(ValueError, match="writes to 'out_ptr', a broadcast view"):
        copy_kernel[(1,)](np.zeros(16, np.float32), view, BLOCK=16)
    assert one[0] == 1


class Tensor:
    """Imitates a tensor of another library."""

    dtype = "float32"

    def __init__(self, address, shape=None, device=None, strides=None):
        self.address = address
        if shape is not None:
            self.shape = shape
        if device is not None:
            self.device = device
        if strides is not None:
            self.stride = lambda: strides

    def data_ptr(self):
        return self.address


class Device:
    type = "meta"
    index = None


@pytest.mark.parametrize("tensor", [Tensor(0), Tensor(0, (16,)), Tensor(0, (4, 4), Device())])
def test_tensors_without_memory_are_refused_by_name(tensor, engine):
    """absentMemory"""
    with pytest.raises(ValueError, match="kernel 'copy_kernel' cannot use 'x_ptr': it has elements but no memory"):
        copy_kernel[(1,)](tensor, np.zeros(16, np.float32), BLOCK=16)


def test_an_empty_tensor_needs_no_memory():
    out = np.zeros(16, np.float32)
    copy_kernel[(0,)](Tensor(0, (0, 4)), out, BLOCK=16)


def test_warmup_needs_no_memory():
    assert copy_kernel.warmup(Tensor(0, (16,), Device()), tl.float32, BLOCK=16, grid=(1,)) is not None


def test_strides_of_tensors_are_read():
    one = np.ones(1, np.float32)
    with pytest.raises(ValueError, match="broadcast view"):
        copy_kernel[(1,)](np.zeros(16, np.float32), Tensor(one.ctypes.data, (16,), None, (0,)), BLOCK=16)


class Fake(Tensor):
    """Like PyTorch's fake tensors: asking for the address is an error."""

    def data_ptr(self):
        raise RuntimeError("cannot access the data pointer")


def test_fake_tensors_are_refused_by_name():
    with pytest.raises(ValueError, match="parameter 'x_ptr': the memory of this tensor cannot be reached: cannot access"):
        copy_kernel[(1,)](Fake(0, (16,)), np.zeros(16, np.float32), BLOCK=16)
