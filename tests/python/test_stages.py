"""A request for more stages never makes a kernel too large: what compiles with one compiles with any number."""

import pathlib
import subprocess

import pytest
from test_architecture import COMMAND

KERNELS = pathlib.Path(__file__).with_name("staged_kernels.py")
POINTERS = "*fp16:16, *fp16:16, *fp16:16, *fp16:16"
CASES = [
    ("attention", f"{POINTERS}, fp32, i32:16, D=64, M=64, N=128", 8, 1),
    ("persistent", f"{POINTERS}, i32:16, i32:16, i32:16, M=128, N=256, K=64", 4, 2),
    ("persistent", f"{POINTERS}, i32:16, i32:16, i32:16, M=128, N=128, K=128", 4, 2),
    ("persistent", f"{POINTERS}, i32:16, i32:16, i32:16, M=128, N=128, K=64", 4, 1),
    ("unrolled", "*fp16:16, *fp16:16, *fp32:16, i32:16, COUNT=40, N=16", 4, 1),
    ("loaded", "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, M=64, N=64, K=64", 4, 1),
]


def refusal(case, target, stages):
    kernel, signature, warps, ctas = case
    options = ["--target", f"cuda:{target}", "--num-warps", str(warps), "--num-ctas", str(ctas), "--num-stages", str(stages)]
    command = [COMMAND, "compile", str(KERNELS), "--kernel", kernel, "--signature", signature, *options, "--until", "allocate-shared"]
    return subprocess.run(command, capture_output=True, text=True).stderr


@pytest.mark.parametrize("target", ["sm_80", "sm_90a", "sm_100a", "sm_120a"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1].split('i32:16, ')[-1].replace(', ', '-')}")
def test_more_stages_are_not_refused(case, target):
    if case[3] > 1 and target in ("sm_80", "sm_120a"):
        case = (*case[:3], 1)
    for stages in (1, 2, 3, 5, 8, 12, 60):
        assert not refusal(case, target, stages), stages
