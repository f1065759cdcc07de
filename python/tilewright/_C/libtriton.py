"""What programs take from upstream's C++ module: `nvidia.cublas.CublasLt`, cuBLAS to compare a kernel with (here PyTorch calls it), memory
of a GPU for programs that have no tensor library, and what comes before ASTSource.make_ir."""

from types import SimpleNamespace

from .. import _core


class CublasLt:
    """Products A @ B.T by cuBLAS. The workspace is not needed: PyTorch has its own."""

    def __init__(self, workspace):
        self.workspace = workspace

    @staticmethod
    def _product(a, b, dtype):
        import torch

        if a.dtype.itemsize > 1:
            return torch.matmul(a, b.T)
        one = torch.ones((), dtype=torch.float32, device=a.device)
        # cuBLAS gives no fp8 without a scale for the result, PyTorch's wrapper takes none.
        wide = dtype if dtype.itemsize > 1 else torch.float32
        return torch._scaled_mm(a, b.contiguous().T, scale_a=one, scale_b=one, out_dtype=wide, use_fast_accum=True)

    def matmul(self, a, b, c):
        """c = a @ b.T, for fp8, fp16, bf16 and fp32."""
        c.copy_(self._product(a, b, c.dtype))

    def gemm(self, a, b, c, d, alpha, beta):
        """d = alpha * (a @ b.T) + beta * c."""
        d.copy_(alpha * self._product(a, b, d.dtype).float() + beta * c.float())


nvidia = SimpleNamespace(cublas=SimpleNamespace(CublasLt=CublasLt), device_malloc=_core.cuda_allocate, device_free=_core.cuda_release,
                         copy_host_to_device=_core.cuda_write, copy_device_to_host=_core.cuda_read, synchronize=_core.cuda_synchronize)
ir = SimpleNamespace(context=SimpleNamespace, load_dialects=lambda context: None)
amd = SimpleNamespace()  # imported beside it, for machines that are not supported here
