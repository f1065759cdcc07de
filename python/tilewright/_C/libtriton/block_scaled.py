"""Matmuls of block-scaled numbers by cuBLAS's library Lt, which PyTorch has loaded. On tensors of the CPU, the same by PyTorch.

A format has numbers of e2m1 with a scale of ue4m3 for each 16 (nvfp4), or of e4m3 with a scale of ue8m0 for each 32 (mxfp8). The scales are in the
order of tensor memory, [rows / 128, groups / 4, 32, 4, 4], padded to whole blocks.
"""

import contextlib
import ctypes
import functools
from dataclasses import dataclass

# Constants of library_types.h, cublas_api.h and cublasLt.h.
FP32, FP16, COMPUTE_FP32, TRANSPOSED, NOT_TRANSPOSED = 0, 2, 68, 1, 0
TRANSPOSE_A, TRANSPOSE_B, SCALES_OF_A, SCALES_OF_B, SCALE_MODE_OF_A, SCALE_MODE_OF_B = 3, 4, 17, 18, 31, 32
WORKSPACE_BYTES = 1  # of a preference
FIRST_VERSION = 120800  # whose Lt has block scales


@dataclass(frozen=True)
class Format:
    name: str
    numbers: str  # PyTorch's name of the elements' type
    scales: str  # of the scales; uint8 is accepted as well
    packed: int  # numbers of a byte
    group: int  # numbers that share a scale
    data_type: int
    scale_mode: int


NVFP4 = Format("nvfp4", "uint8", "float8_e4m3fn", 2, 16, data_type=33, scale_mode=1)
MXFP8 = Format("mxfp8", "float8_e4m3fn", "float8_e8m0fnu", 1, 32, data_type=28, scale_mode=2)


class Heuristic(ctypes.Structure):
    """cublasLtMatmulHeuristicResult_t."""

    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("status", ctypes.c_int), ("waves", ctypes.c_float),
                ("reserved", ctypes.c_int * 4)]


class Lt:
    """The functions of the library that a matmul needs. A status that is not 0 becomes an error."""

    def __init__(self, library):
        self.library, self.handle = library, ctypes.c_void_p()
        library.cublasLtGetVersion.restype = ctypes.c_size_t
        version = library.cublasLtGetVersion()
        if version < FIRST_VERSION:
            raise RuntimeError(f"block scales need cuBLAS {FIRST_VERSION // 10000}.{FIRST_VERSION // 100 % 100} or newer; version {version} is loaded")

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise RuntimeError(f"cuBLAS: {name} returned status {status}")

    def made(self, stack, what, *arguments):
        """A new object of the library, which lives as long as `stack`."""
        made = ctypes.c_void_p()
        self.call(f"cublasLt{what}Create", ctypes.byref(made), *arguments)
        stack.callback(self.call, f"cublasLt{what}Destroy", made)
        return made

    def describe(self, stack, left, right, a_scales, b_scales, form):
        """The description of a product: of the first operand transposed, with the scales of both."""
        description = self.made(stack, "MatmulDesc", ctypes.c_int(COMPUTE_FP32), ctypes.c_int(FP32))
        for attribute, value in ((TRANSPOSE_A, ctypes.c_int32(left)), (TRANSPOSE_B, ctypes.c_int32(right)),
                                 (SCALE_MODE_OF_A, ctypes.c_int32(form.scale_mode)), (SCALE_MODE_OF_B, ctypes.c_int32(form.scale_mode)),
                                 (SCALES_OF_A, ctypes.c_void_p(a_scales)), (SCALES_OF_B, ctypes.c_void_p(b_scales))):
            self.call("cublasLtMatmulDescSetAttribute", description, ctypes.c_int(attribute), ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value)))
        return description

    def layout(self, stack, data_type, rows, columns):
        """Of a matrix whose columns are contiguous."""
        return self.made(stack, "MatrixLayout", ctypes.c_int(data_type), ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(rows))

    def multiply(self, form, m, n, k, a, b, c, a_scales, b_scales, workspace, workspace_bytes, stream):
        """c = a @ b.T for matrices with contiguous rows, by address. The library's matrices have contiguous columns: it computes c.T = b @ a.T."""
        if not self.handle:
            self.call("cublasLtCreate", ctypes.byref(self.handle))
        with contextlib.ExitStack() as stack:
            description = self.describe(stack, TRANSPOSED, NOT_TRANSPOSED, b_scales, a_scales, form)
            left, right = (self.layout(stack, form.data_type, k, columns) for columns in (n, m))
            result = self.layout(stack, FP16, n, m)
            preference, limit = self.made(stack, "MatmulPreference"), ctypes.c_size_t(workspace_bytes)
            self.call("cublasLtMatmulPreferenceSetAttribute", preference, ctypes.c_int(WORKSPACE_BYTES), ctypes.byref(limit), ctypes.c_size_t(8))
            choice, count = Heuristic(), ctypes.c_int()
            none = f"cuBLAS has no algorithm for {form.name} of {m}x{n}x{k} on this GPU"
            try:
                self.call("cublasLtMatmulAlgoGetHeuristic", self.handle, description, left, right, result, result, preference, ctypes.c_int(1),
                          ctypes.byref(choice), ctypes.byref(count))
            except RuntimeError as error:
                raise RuntimeError(none) from error
            if not count.value:
                raise RuntimeError(none)
            one, zero, address = ctypes.c_float(1), ctypes.c_float(0), ctypes.c_void_p
            self.call("cublasLtMatmul", self.handle, description, ctypes.byref(one), address(b), left, address(a), right, ctypes.byref(zero), address(c),
                      result, address(c), result, ctypes.byref(choice.algorithm), address(workspace), ctypes.c_size_t(workspace_bytes), address(stream))


@functools.cache
def lt_of(device):
    """The library, with a handle of its own for each GPU. PyTorch has loaded it: its name without a path is enough."""
    import torch
    name = f"libcublasLt.so.{torch.version.cuda.partition('.')[0]}"
    try:
        return Lt(ctypes.CDLL(name))
    except OSError as error:
        raise RuntimeError(f"block-scaled matmuls need {name}: {error}") from error


def _check(form, a, b, c, a_scales, b_scales):
    import torch

    def need(condition, text):
        if not condition:
            raise ValueError(f"block_scaled_matmul_{form.name}: {text}")
    for name, x in (("A", a), ("B", b), ("the result", c), ("the scales of A", a_scales), ("the scales of B", b_scales)):
        need(x.is_contiguous(), f"{name} must be contiguous")
        need(x.device == a.device, f"{name} is on {x.device}, and A on {a.device}")
        need(x.data_ptr() % 16 == 0, f"{name} must be aligned to 16 bytes")
    numbers, scales = getattr(torch, form.numbers), getattr(torch, form.scales, None)
    need(a.dim() == b.dim() == c.dim() == 2, "A, B and the result must have two dimensions")
    need(a.dtype == b.dtype == numbers, f"A and B must be {form.numbers}, not {a.dtype} and {b.dtype}")
    need(c.dtype == torch.float16, f"the result must be float16, not {c.dtype}")
    need(a.shape[1] == b.shape[1], f"A has rows of {a.shape[1]} elements, and B of {b.shape[1]}")
    need(tuple(c.shape) == (a.shape[0], b.shape[0]), f"the result must be {a.shape[0]}x{b.shape[0]}, not {'x'.join(map(str, c.shape))}")
    need(a.shape[1] * form.packed % form.group == 0, f"K must be a multiple of {form.group}, which share a scale")
    for name, x, scale in (("A", a, a_scales), ("B", b, b_scales)):
        groups = x.shape[1] * form.packed // form.group
        size = -(-x.shape[0] // 128) * -(-groups // 4) * 512
        need(scale.dtype in (torch.uint8, scales), f"the scales of {name} must be {form.scales} or uint8, not {scale.dtype}")
        need(scale.numel() == size, f"{name} needs {size} scales (whole blocks of 128 rows and 4 groups), not {scale.numel()}")


def _values(form, x, scales):
    """The matrix as fp32, with its scales applied."""
    import torch
    rows, depth = x.shape[0], x.shape[1] * form.packed
    values = x.float()
    if form.packed == 2:
        magnitudes = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
        codes = torch.stack([x & 15, x >> 4], dim=-1).reshape(rows, depth).int()
        values = torch.where(codes >= 8, -magnitudes[codes & 7], magnitudes[codes & 7])
    bits = scales.view(torch.uint8)
    if form is NVFP4:
        if (bits >= 128).any():
            raise ValueError("block_scaled_matmul_nvfp4: a scale of ue4m3 has a sign")
        factors = bits.view(torch.float8_e4m3fn).float()
    else:
        factors = torch.where(bits == 255, torch.nan, torch.ldexp(torch.ones(bits.shape), bits.int() - 127))
    groups = depth // form.group
    factors = factors.reshape(-(-rows // 128), -(-groups // 4), 32, 4, 4).permute(0, 3, 2, 1, 4).reshape(-(-rows // 128) * 128, -1)[:rows, :groups]
    return values * factors.repeat_interleave(form.group, dim=1)


def multiply(form, a, b, c, a_scales, b_scales, workspace):
    """c = a @ b.T of a format, for a of [M, K], b of [N, K] (of bytes, if two numbers share one) and c of [M, N] in fp16."""
    import torch
    _check(form, a, b, c, a_scales, b_scales)
    if not a.is_cuda:
        c.copy_(_values(form, a, a_scales) @ _values(form, b, b_scales).T)
        return
    address, size = (0, 0) if workspace is None else (workspace.data_ptr(), workspace.numel() * workspace.element_size())
    with torch.cuda.device(a.device):
        lt_of(a.device).multiply(form, a.shape[0], b.shape[0], a.shape[1] * form.packed, a.data_ptr(), b.data_ptr(), c.data_ptr(), a_scales.data_ptr(),
                                 b_scales.data_ptr(), address, size, torch.cuda.current_stream(a.device).cuda_stream)
