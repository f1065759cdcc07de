"""The inner loops of matmul on 64-bit ARM CPUs, as llvm-mca predicts them: docs/stages/cpu_gemm.md has the table."""
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not shutil.which("llvm-mca-22"), reason="llvm-mca-22 is not installed")
def test_fp32_is_within_5_percent_of_the_peak():
    command = [sys.executable, ROOT / "tools" / "predict_arm.py", shutil.which("tilewright")]
    table = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[2:]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in table]
    shares = {(target, cpu): float(share.rstrip("%")) for operands, target, _, cpu, _, _, share in rows if operands == "fp32"}
    assert {("cpu:neon", "neoverse-v2"), ("cpu:neon", "apple-m1"), ("cpu:sve256", "neoverse-v1")} <= shares.keys()
    assert min(shares.values()) >= 95, shares
    page = (ROOT / "docs" / "stages" / "cpu_gemm.md").read_text().splitlines()
    assert all(line in page for line in table)
