"""The stubs for type checkers and editors agree with the language's tables."""

import ast
import importlib.util
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import tilewright.language as tl
from tilewright import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_files_are_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "tools" / "stubs.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_library_rows_agree_with_its_source():
    """Each public function of prelude.py has a row with its parameters, and help() shows it."""
    source = ast.parse((ROOT / "src" / "evaluate" / "prelude.py").read_text())
    functions = {node.name: [parameter.arg for parameter in node.args.args] for node in source.body
                 if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    rows = {path: [parameter.arg for parameter in ast.parse(f"def {signature}: ...").body[0].args.args] for path, signature, _ in _core.library()}
    assert {name: parameters for name, parameters in functions.items() if hasattr(tl, name)} == rows
    assert inspect.getdoc(tl.sum).startswith("sum(input, axis=None, keep_dims=False, dtype=None)")


KERNEL = """
import tilewright as triton
import tilewright.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 64}, num_warps=4)], key=["n"])
@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0)
    total = tl.sum(tl.math.exp(x).to(tl.float32), axis=0)
    for i in tl.range(0, n, num_stages=2):
        total += tl.standard.max(x) + tl.extra.libdevice.tanh(x)[0] + tl.rand(1, at).sum(axis=0)
    tl.store(out_ptr + at, -x / total, mask=(at < n) & (x >= 0))

with triton.engine("interpret"):
    kernel[(triton.cdiv(5, 2),)](1, 2, 3)
print(triton.testing.do_bench(lambda: None, rep=10))
"""


def mypy(tmp_path, text):
    (tmp_path / "kernel.py").write_text(text)
    done = subprocess.run([sys.executable, "-m", "mypy", "--check-untyped-defs", "--cache-dir", tmp_path / "cache", "kernel.py"], cwd=tmp_path,
                          capture_output=True, text=True)
    return [re.sub(r"^kernel.py:\d+: ", "", line) for line in done.stdout.splitlines() if "error:" in line]


@pytest.mark.skipif(not importlib.util.find_spec("mypy"), reason="mypy is not installed")
def test_mypy(tmp_path):
    assert mypy(tmp_path, KERNEL) == []
    wrong = KERNEL.replace("tl.load(x_ptr", "tl.lod(x_ptr").replace("mask=(at < n)", "msk=(at < n)").replace("rep=10", "repetitions=10")
    assert [error.partition("[")[2] for error in mypy(tmp_path, wrong)] == ["attr-defined]", "call-arg]", "call-arg]"]
