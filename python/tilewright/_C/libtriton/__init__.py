"""The parts of Triton's C++ module that programs import. `nvidia.cublas.CublasLt` compares a kernel with cuBLAS, which PyTorch calls here.
There is also GPU memory for programs without a tensor library, and the calls that precede ASTSource.make_ir."""

from types import SimpleNamespace

from ... import _core
from . import block_scaled, linear_layout  # noqa: F401


class CublasLt:
    """Products A @ B.T by cuBLAS. Only products with block scales use the workspace: for the others PyTorch has its own."""

    def __init__(self, workspace):
        self.workspace = workspace

    @staticmethod
    def _product(a, b, dtype):
        import torch

        if a.dtype.itemsize > 1:
            return torch.matmul(a, b.T)
        one = torch.ones((), dtype=torch.float32, device=a.device)
        # cuBLAS writes an fp8 result only with a scale for it, which PyTorch's wrapper does not take.
        wide = dtype if dtype.itemsize > 1 else torch.float32
        return torch._scaled_mm(a, b.contiguous().T, scale_a=one, scale_b=one, out_dtype=wide, use_fast_accum=True)

    def matmul(self, a, b, c):
        """c = a @ b.T for a of [M, K], b of [N, K] and c of [M, N], all fp8, fp16, bf16 or fp32 tensors of one device."""
        c.copy_(self._product(a, b, c.dtype))

    def gemm(self, a, b, c, d, alpha, beta):
        """d = alpha * (a @ b.T) + beta * c for a of [M, K], b of [N, K], c and d of [M, N]; alpha and beta are numbers."""
        d.copy_(alpha * self._product(a, b, d.dtype).float() + beta * c.float())

    def block_scaled_matmul_mxfp8(self, a, b, output, scale_a, scale_b):
        """output = a @ b.T for a of [M, K] and b of [N, K] in e4m3, with a scale of e8m0 for each 32 numbers, and output of [M, N] in fp16."""
        block_scaled.multiply(block_scaled.MXFP8, a, b, output, scale_a, scale_b, self.workspace)

    def block_scaled_matmul_nvfp4(self, a, b, output, scale_a, scale_b):
        """The same for e2m1, two in a byte ([M, K / 2] and [N, K / 2] bytes), with a scale of e4m3 without a sign for each 16 numbers."""
        block_scaled.multiply(block_scaled.NVFP4, a, b, output, scale_a, scale_b, self.workspace)


nvidia = SimpleNamespace(cublas=SimpleNamespace(CublasLt=CublasLt), device_malloc=_core.cuda_allocate, device_free=_core.cuda_release,
                         copy_host_to_device=_core.cuda_write, copy_device_to_host=_core.cuda_read, synchronize=_core.cuda_synchronize)
ir = SimpleNamespace(context=SimpleNamespace, load_dialects=lambda context: None)
amd = SimpleNamespace()  # programs import it together with `nvidia`; it is empty, because AMD's GPUs are not supported


def __getattr__(name):
    """Members that are defined in modules which import this one."""
    if name == "native_specialize_impl":
        from ...runtime.jit import native_specialize_impl
        return native_specialize_impl
    if name == "gluon_ir":
        from ...experimental.gluon import Absent
        return Absent("libtriton.gluon_ir")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
