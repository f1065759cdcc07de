"""GPUs newer than Hopper: code for them is right on the simulator, and the assembler accepts it."""

import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(triton.__file__).parents[2] / "bin" / "tilewright"
sys.path.insert(0, str(ROOT / "tools"))

from example_kernels import KERNELS  # noqa: E402

TARGETS = ["sm_90", "sm_100", "sm_120", "sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a", "sm_121a"]


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        inner = start + tl.arange(0, BK)
        a = tl.load(a_ptr + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0)
        b = tl.load(b_ptr + inner[:, None] * n + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0)
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("ctas", [1, 2])
def test_matmul(target, ctas):
    m, n, k = 80, 96, 160
    random = np.random.default_rng(0)
    a, b = random.standard_normal((m, k)).astype(np.float16), random.standard_normal((k, n)).astype(np.float16)
    c = np.zeros((m, n), np.float32)
    with triton.engine("simulate", check_bounds=True, target=f"cuda:{target}"):
        matmul_kernel[(2, 2)](a, b, c, m, n, k, BM=64, BN=64, BK=32, num_ctas=ctas)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-2)


# Each kernel for one target keeps the test short. test_gpu_kernels.py assembles the examples for three.
@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no ptxas")
@pytest.mark.parametrize("index, case", list(enumerate(KERNELS)))
def test_the_assembler_accepts_the_examples(index, case, tmp_path):
    if not COMMAND.exists():
        pytest.skip("the command is not built")
    example, kernel, signature, warps, stages = case
    target = TARGETS[index % len(TARGETS)]
    cubin = tmp_path / "kernel.cubin"
    made = subprocess.run([COMMAND, "compile", ROOT / "examples" / f"{example}.py", "--kernel", kernel, "--target", f"cuda:{target}", "--emit",
                           "cubin", "--num-warps", str(warps), "--num-stages", str(stages), "--signature", signature, "-o", cubin],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert "out of resource" in made.stdout or (made.returncode == 0 and cubin.read_bytes().startswith(b"\x7fELF")), made.stdout
