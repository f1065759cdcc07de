"""The driver's class, the location of CUDA's own driver, and tensor maps for other launchers."""

import ctypes
import functools
import os

from ... import knobs
from ..compiler import GPUTarget
from ..driver import CUDADriver as CudaDriver, GPUDriver, decompose_descriptor, expand_signature, wrap_handle_tensordesc_impl

__all__ = ["CudaDriver", "GPUDriver", "GPUTarget", "TMA_DTYPE_DEVICE_TO_HOST", "TMA_TF32", "decompose_descriptor", "expand_signature",
           "fill_tma_descriptor_tiled", "libcuda_dirs", "library_dirs", "make_tensordesc_arg", "ty_to_cpp", "wrap_handle_tensordesc"]

_USUAL = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/lib/wsl/lib",
          "/usr/local/nvidia/lib64"]


@functools.lru_cache
def libcuda_dirs():
    """The folders that have a libcuda.so.1, for programs that link with it."""
    if knobs.nvidia.libcuda_path:
        return [knobs.nvidia.libcuda_path]
    places = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep) + _USUAL
    found = [place for place in places if place and os.path.exists(os.path.join(place, "libcuda.so.1"))]
    assert found, f"there is no libcuda.so.1 in {', '.join(filter(None, places))}: install the GPU's driver, or name its folder in TRITON_LIBCUDA_PATH"
    return found


def library_dirs():
    """The folders that a launcher in C is linked against."""
    return libcuda_dirs()


_C_TYPES = {"i1": "int8_t", "u1": "uint8_t", **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
            **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
            **dict.fromkeys(("fp16", "bf16", "fp32", "f32", "fp64"), "double"), "nvTmaDesc": "CUtensorMap"}


def ty_to_cpp(word):
    """The type in C of an argument that a launcher takes, by its word in a signature."""
    if word.startswith("*"):
        return "CUdeviceptr"
    return "CUtensorMap" if word.startswith("tensordesc") else _C_TYPES[word]


# ---- tensor maps, which TMA reads. Launches of this package make their own (src/runtime/cuda); these are for launchers that others generate.

# The numbers of element types in the driver's interface (CUtensorMapDataType), by those in PTX.
TMA_DTYPE_DEVICE_TO_HOST = {**{number: number for number in range(16)}, 8: 10, 9: 8, 10: 9}
TMA_TF32 = 11


class TensorMap(ctypes.Structure):
    """A CUtensorMap: 128 bytes that begin at a multiple of 64. `address` is where they begin."""

    _fields_ = [("_room", ctypes.c_uint64 * 24)]

    @property
    def address(self):
        return -(-ctypes.addressof(self) // 64) * 64

    def __bytes__(self):
        return ctypes.string_at(self.address, 128)


@functools.lru_cache
def _libcuda():
    return ctypes.CDLL(os.path.join(libcuda_dirs()[0], "libcuda.so.1"))


def _bytes_of_swizzle(swizzle):
    return (0, 32, 64, 128)[swizzle]


def fill_tma_descriptor_tiled(address, swizzle, element_size, element_type, block_shape, shape, strides, padding):
    """A TensorMap for tiles of a tensor. address: of its first element; swizzle: 0 to 3 for none, 32, 64 and 128 bytes; element_size: bytes; element_type:
    CUtensorMapDataType; block_shape, shape and strides: elements, the last axis contiguous; padding: 1 if elements outside of the tensor are NaN, 0
    if they are zero. Raises RuntimeError if the driver refuses the values."""
    rank = len(shape)

    def numbers(kind, values):
        return (kind * len(values))(*values)

    made = TensorMap()
    sizes = numbers(ctypes.c_uint64, list(shape)[::-1])
    steps = numbers(ctypes.c_uint64, [stride * element_size for stride in list(strides)[-2::-1]] or [0])
    # Triton's blocks are as wide as the program says; a box of a swizzled map is as wide as the swizzle at most.
    box = list(block_shape)[::-1]
    if swizzle:
        box[0] = min(box[0], _bytes_of_swizzle(swizzle) // element_size)
    promotion = 3  # a miss in L2 reads 256 bytes
    status = _libcuda().cuTensorMapEncodeTiled(
        ctypes.c_void_p(made.address), ctypes.c_int(element_type), ctypes.c_uint32(rank), ctypes.c_void_p(address), sizes, steps,
        numbers(ctypes.c_uint32, box), numbers(ctypes.c_uint32, [1] * rank), ctypes.c_int(0), ctypes.c_int(swizzle), ctypes.c_int(promotion),
        ctypes.c_int(padding))
    if status:
        raise RuntimeError(f"cuTensorMapEncodeTiled fails with CUDA's error {status}: shape {list(shape)}, strides {list(strides)}, tile {list(block_shape)}")
    return made


def make_tensordesc_arg(descriptor, metadata, base_args=None):
    """The values that a launcher takes for a descriptor, as `expand_signature` lists them: a TensorMap, sizes and strides; without metadata, the descriptor's
    parts. metadata: a dict with swizzle, elem_size (bytes), elem_type (PTX's number), block_size and fp4_padded, as upstream's compiler writes it."""
    if metadata is None:
        return decompose_descriptor(descriptor)
    if metadata.get("is_im2col"):
        raise NotImplementedError("im2col tensor maps are not supported")
    if descriptor.strides[-1] != 1:
        raise ValueError("the last axis of a descriptor is contiguous")
    shape = list(descriptor.shape)
    if metadata["fp4_padded"]:
        shape[-1] *= 2  # two elements in a byte
    kind = TMA_TF32 if descriptor.round_f32_to_tf32 else TMA_DTYPE_DEVICE_TO_HOST[metadata["elem_type"]]
    made = fill_tma_descriptor_tiled(descriptor.base.data_ptr(), metadata["swizzle"], metadata["elem_size"], kind, metadata["block_size"], shape,
                                     descriptor.strides, int(descriptor.padding == "nan"))
    return [made, *descriptor.shape, *descriptor.strides]


def wrap_handle_tensordesc(launcher, signature, tensordesc_meta):
    """A launcher that takes descriptors, made from one that takes the values of make_tensordesc_arg."""
    return wrap_handle_tensordesc_impl(launcher, signature, tensordesc_meta, make_tensordesc_arg)
