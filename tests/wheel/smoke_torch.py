"""What an installed wheel does with PyTorch on a CPU: tensors, torch.compile, a Triton program as it is."""

import os
import subprocess
import sys

import pytest
import torch

import tilewright as triton
import tilewright.language as tl

PROGRAM = """
import torch
import triton
import triton.language as tl
from torch.utils._triton import has_triton_package

@triton.jit
def silu_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(out_ptr + i, x * tl.sigmoid(x), mask=i < n)

x = torch.randn(5000)
out = torch.empty_like(x)
silu_kernel[(triton.cdiv(5000, 1024),)](x, out, 5000, BLOCK=1024)
torch.testing.assert_close(out, torch.nn.functional.silu(x))
print(triton.__version__, has_triton_package())
"""


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, columns, row_stride, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    tl.store(out_ptr + row, tl.sum(tl.load(x_ptr + row * row_stride + i, mask=i < columns, other=0.0).to(tl.float32), 0))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_tensors(dtype):
    x = torch.randn(33, 500).to(dtype)
    out = torch.empty(33)
    row_sum_kernel[(33,)](x, out, 500, x.stride(0), BLOCK=512)
    torch.testing.assert_close(out, x.float().sum(1), rtol=1e-4, atol=1e-4)


def test_a_triton_program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run([sys.executable, "-m", "tilewright", "program.py"], capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.stdout.split() == [triton.triton_version, "True"], done.stdout + done.stderr


def test_compile(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.LayerNorm(128), torch.nn.Linear(128, 10), torch.nn.Softmax(-1))
    x = torch.randn(16, 64)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(model, backend="tilewright")(x), model(x), rtol=1e-4, atol=1e-5)


def test_gradients_of_a_compiled_function():
    x = torch.randn(40, 300, requires_grad=True)

    def loss(x):
        return (torch.softmax(x, -1) * torch.tanh(x)).sum()

    torch.compile(loss, backend="tilewright")(x).backward()
    compiled = x.grad.clone()
    x.grad = None
    loss(x).backward()
    torch.testing.assert_close(compiled, x.grad, rtol=1e-4, atol=1e-5)


def test_compile_in_a_fresh_process(tmp_path):
    """The workers that PyTorch starts to compile find Tilewright, too."""
    (tmp_path / "program.py").write_text("""
import torch
if __name__ == "__main__":
    f = torch.compile(lambda x, y: (torch.relu(x) * y).sum(-1), backend="tilewright")
    x, y = torch.randn(2, 64, 1000)
    torch.testing.assert_close(f(x, y), (torch.relu(x) * y).sum(-1), rtol=1e-4, atol=1e-4)
    print("done")
""")
    environment = os.environ | {"TORCHINDUCTOR_COMPILE_THREADS": "2", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}
    done = subprocess.run([sys.executable, "program.py"], capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=180)
    assert done.stdout == "done\n", done.stdout + done.stderr
