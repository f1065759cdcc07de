"""What the assembler says of the gallery's kernels for an H100: no register is spilled, no product is serialised."""

import pathlib
import re
import shutil
import subprocess

import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(tilewright.__file__).parents[2] / "bin" / "tilewright"
STRIDES = "stride_am=i32:16,stride_ak=1,stride_bk=i32:16,stride_bn=1,stride_cm=i32:16,stride_cn=1"
MATMUL = "a_ptr=*fp16:16,b_ptr=*fp16:16,c_ptr=*fp16:16,M=i32:16,N=i32:16,K=i32:16," + STRIDES
ATTENTION = ",".join(["q_ptr=*fp16:16,k_ptr=*fp16:16,v_ptr=*fp16:16,out_ptr=*fp16:16,scale=fp32,n_heads=i32:16,n_ctx=i32:16"] + [
    f"stride_{tensor}z=i32:16,stride_{tensor}h=i32:16,stride_{tensor}n=i32:16,stride_{tensor}d=1" for tensor in "qkvo"])
CASES = [
    ("02_fused_softmax", "softmax_kernel", "out_ptr=*fp32:16,in_ptr=*fp32:16,in_row_stride=i32:16,out_row_stride=i32:16,n_rows=i32:16,"
     "n_cols=i32:16,BLOCK_SIZE=4096,num_stages=2", 4, 3),
] + [
    ("06_matmul_autotuned", "tuned_matmul_kernel",
     f"{MATMUL},BLOCK_M={m},BLOCK_N={n},BLOCK_K={k},GROUP_M=8,EVEN_K=True,ACTIVATION=''", warps, stages)
    for m, n, k, warps, stages in [(128, 256, 64, 8, 3), (128, 128, 32, 4, 4), (64, 256, 32, 4, 4), (64, 64, 64, 4, 3)]
] + [
    ("07_attention", "attention_kernel", f"{ATTENTION},HEAD_DIM={d},CAUSAL=True,BLOCK_M={m},BLOCK_N={n}", warps, 3)
    for d in (64, 128) for m, n, warps in [(128, 64, 8), (128, 128, 8), (64, 64, 4), (64, 32, 4), (32, 64, 4), (64, 256, 8)]
]


@pytest.mark.skipif(not shutil.which("ptxas"), reason="there is no ptxas")
@pytest.mark.parametrize("example, kernel, signature, warps, stages", CASES)
def test_no_spills(example, kernel, signature, warps, stages, tmp_path):
    if not COMMAND.exists():
        pytest.skip("the command is not built")
    ptx = tmp_path / "kernel.ptx"
    made = subprocess.run([COMMAND, "compile", ROOT / "examples" / f"{example}.py", "--kernel", kernel, "--target", "cuda:sm_90a", "--emit",
                           "ptx", "--num-warps", str(warps), "--num-stages", str(stages), "--signature", signature, "-o", ptx],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "out of resource" in made.stdout:
        return  # a tuner leaves it out, too
    assert made.returncode == 0, made.stdout
    report = subprocess.run(["ptxas", "-v", "-arch=sm_90a", ptx, "-o", tmp_path / "kernel.cubin"], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True).stdout
    spills = re.findall(r"(\d+) bytes spill stores, (\d+) bytes spill loads", report)
    assert spills and all(stores == loads == "0" for stores, loads in spills), report
    assert "C75" not in report, report
