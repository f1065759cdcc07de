"""Code for another machine is refused where it would have to run here."""

import os
import subprocess
import sys

import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.backends.compiler import GPUTarget
from tilewright.compiler import ASTSource

FOREIGN = {"x86_64": "neon", "aarch64": "avx2"}[os.uname().machine]


@triton.jit
def one(out):
    tl.store(out, 1.0)


def test_compile_for_another_machine():
    source = ASTSource(one, signature={"out": "*fp32"})
    with pytest.raises(ValueError, match=f"code for cpu:{FOREIGN} does not run on this machine, whose levels are "):
        triton.compile(source, target=GPUTarget("cpu", FOREIGN, 1))
    assert triton.compile(source, target=GPUTarget("cpu", triton._core.target()["level"], 1)).asm["obj"]


def test_cpu_setting_of_another_machine(tmp_path):
    script = tmp_path / "launch.py"
    script.write_text(
        "import numpy as np\nimport tilewright as triton\nimport tilewright.language as tl\n\n\n"
        "@triton.jit\ndef one(out):\n    tl.store(out, 1.0)\n\n\none[(1,)](np.zeros(1, np.float32))\n")
    done = subprocess.run([sys.executable, script], env=os.environ | {"TILEWRIGHT_CPU": FOREIGN}, capture_output=True, text=True)
    assert done.returncode != 0
    assert f"the setting TILEWRIGHT_CPU is '{FOREIGN}', a level of " in done.stderr  # cpuSetting
