"""The properties of NumPy arrays and PyTorch tensors that verify and bench use.

Memory that is given to a kernel is *guarded*: it is inside a larger allocation, and every byte without data is filled with a
pattern. Elements that a kernel did not write still have the pattern. So has the memory around its tensors, unless the kernel wrote out of bounds.
"""

import dataclasses
import math
import sys

import numpy

GUARD = 1 << 20  # bytes on either side: an access of a block whose mask is missing still ends within them
_ALIGNMENT = 4096
_full = numpy.full  # while a kernel file runs, numpy.full is replaced by another function


def torch():
    """PyTorch, if the kernel file has imported it."""
    return sys.modules.get("torch")


def _is_torch(value):
    return torch() is not None and isinstance(value, torch().Tensor)


def is_tensor(value):
    if _is_torch(value):
        return value.layout == torch().strided and value.device.type != "meta"
    return isinstance(value, numpy.ndarray) and value.dtype != object


def address(value):
    return value.data_ptr() if _is_torch(value) else value.ctypes.data


def item_bytes(value):
    return value.element_size() if _is_torch(value) else value.itemsize


def steps(value):
    """Strides in elements."""
    return tuple(value.stride()) if _is_torch(value) else tuple(step // max(value.itemsize, 1) for step in value.strides)


def _reach(value):
    """Returns the offset of the lowest element and one past the highest, in elements from the tensor's address."""
    if 0 in value.shape:
        return 0, 0
    ways = [(extent - 1) * step for extent, step in zip(value.shape, steps(value))]
    return sum(way for way in ways if way < 0), 1 + sum(way for way in ways if way > 0)


def span(value):
    """(first, end): the address of the first byte of the elements, and the address after the last."""
    low, high = _reach(value)
    return address(value) + low * item_bytes(value), address(value) + high * item_bytes(value)


def dtype_name(value):
    return str(value.dtype).rpartition(".")[2] if hasattr(value, "dtype") else type(value).__name__


def describe(value):
    """The type and shape as text: float32[64, 32]."""
    return f"{dtype_name(value)}{list(value.shape)}" if hasattr(value, "shape") else repr(value)[:40]


def is_integer(value):
    return dtype_name(value).startswith(("int", "uint"))


def is_float(value):
    return dtype_name(value).startswith(("float", "bfloat"))


def to_numpy(value):
    """The elements as a NumPy array: floats as float64, complex numbers as complex128, integers and booleans as they are."""
    if _is_torch(value):
        value = value.detach().cpu()
        if value.is_floating_point():
            value = value.double()
        value = value.resolve_conj().numpy()
    value = numpy.asarray(value)
    return value if value.dtype.kind in "biu" else value.astype(numpy.complex128 if value.dtype.kind == "c" else numpy.float64)


def new_like(value, shape):
    """An uninitialised tensor of another shape, with the type and the device of `value`."""
    return torch().empty(shape, dtype=value.dtype, device=value.device) if _is_torch(value) else numpy.empty(shape, value.dtype)


def copy(value):
    """A contiguous copy of the elements."""
    return value.detach().clone(memory_format=torch().contiguous_format) if _is_torch(value) else numpy.ascontiguousarray(value).copy()


class Guarded:
    """A tensor of the same shape, type and strides in guarded memory. `content`: True if the values are copied; else the tensor holds the
    pattern. `around`: the byte that fills the memory before and after it."""

    def __init__(self, like, pattern, content, around):
        low, high = _reach(like)
        size = item_bytes(like)
        is_bool = dtype_name(like) == "bool"
        self.around = around
        begin, count = GUARD, (high - low) * size
        if _is_torch(like):
            self.storage = torch().full((count + 2 * GUARD + _ALIGNMENT,), around, dtype=torch().uint8, device=like.device)
        else:
            self.storage = _full(count + 2 * GUARD + _ALIGNMENT, around, numpy.uint8)
        begin += -(address(self.storage) + begin) % _ALIGNMENT
        self.begin, self.end = begin, begin + count
        whole = self.storage[begin:begin + count]
        whole[...] = pattern >> 7 if is_bool else pattern
        if _is_torch(like):
            self.tensor = whole.view(like.dtype).as_strided(like.shape, like.stride(), begin // size - low)
        else:
            data = whole.view(like.dtype)[-low:]
            self.tensor = numpy.lib.stride_tricks.as_strided(data, like.shape, like.strides) if count else data.reshape(like.shape)
        if content and count:
            if _is_torch(like):
                self.tensor.copy_(like.detach())
            else:
                self.tensor[...] = like
        if _is_torch(like) and like.requires_grad:
            self.tensor.requires_grad_(True)

    def is_untouched(self):
        """True if the memory before and after the tensor still holds the guard bytes."""
        around = self.storage[:self.begin], self.storage[self.end:]
        return all(bool((part == self.around).all()) for part in around)

    def holds(self, at):
        """The offset of an address in the tensor, in bytes; None if it is outside."""
        offset = at - address(self.storage)
        return offset - self.begin if self.begin <= offset < self.end else None


def _bytes(value):
    """The bytes of all elements in row-major order, in the host's memory."""
    if _is_torch(value):
        return value.detach().cpu().contiguous().reshape(-1).view(torch().uint8).numpy()
    return numpy.ascontiguousarray(value).reshape(-1).view(numpy.uint8)


def has_pattern(value, pattern):
    """Returns one bool for each element, in row-major order: True if all of its bytes are the pattern."""
    if dtype_name(value) == "bool":
        pattern >>= 7
    size = item_bytes(value)
    if size in (1, 2, 4, 8):
        return _bytes(value).view(f"u{size}") == int.from_bytes(bytes([pattern]) * size, "little")
    return (_bytes(value).reshape(-1, size) == pattern).all(axis=1)


def is_on_gpu(value):
    return _is_torch(value) and value.device.type == "cuda"


def on_cpu(value):
    return value.cpu() if is_on_gpu(value) else value


def wait(device):
    """Waits until all launches on a device are done."""
    if torch() is not None and torch().cuda.is_available() and str(device or "cuda").startswith("cuda"):
        torch().cuda.synchronize()


@dataclasses.dataclass
class NamedTensor:
    """An input or a result, in the form that the verifier in C++ reads (src/author/verifier.h)."""
    name: str  # as messages call it
    value: object

    @property
    def type(self):
        return dtype_name(self.value)

    @property
    def text(self):
        return describe(self.value)

    @property
    def is_tensor(self):
        return is_tensor(self.value)

    @property
    def has_shape(self):
        return hasattr(self.value, "shape")

    @property
    def is_float(self):
        return is_float(self.value)

    @property
    def is_on_gpu(self):
        return is_on_gpu(self.value)

    @property
    def shape(self):
        return list(getattr(self.value, "shape", ()))

    @property
    def address(self):
        return address(self.value) if self.is_tensor else 0

    @property
    def width(self):
        return item_bytes(self.value) if self.is_tensor else 0

    def numbers(self):
        return numpy.ascontiguousarray(to_numpy(self.value))

    def bytes(self):
        return _bytes(self.value).tobytes() if math.prod(self.shape) else b""
