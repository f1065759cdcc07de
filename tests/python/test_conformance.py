"""The runner of upstream's tests, on a made-up checkout: tests that pass, fail, crash and hang are distinguished."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import tilewright

RUN = pathlib.Path(__file__).resolve().parent.parent / "conformance" / "run"

CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--device", default="cuda")
"""

TESTS = """
import json
import os
import pytest
import triton

def test_name(request):
    assert triton.__name__ == "tilewright" and request.config.getoption("--device") == "cpu"

def test_number():
    raise AssertionError("Tensor-likes are not close!")

def test_gpu():
    raise RuntimeError("Found no NVIDIA driver on your system")

@pytest.mark.skip(reason="not here")
def test_skipped():
    pass

def test_crash():
    os.abort()

def test_hang():
    while True:
        pass

@pytest.mark.parametrize("i", range(4))
def test_after(i):
    pass
"""


def test_a_small_checkout(tmp_path):
    unit, tutorials = tmp_path / "source/python/test/unit/language", tmp_path / "source/python/tutorials"
    unit.mkdir(parents=True)
    tutorials.mkdir(parents=True)
    (tmp_path / "source/python/pytest.ini").write_text("[pytest]\n")
    (tmp_path / "source/python/test/conftest.py").write_text(CONFTEST)
    (unit / "test_few.py").write_text(TESTS)
    (unit / "test_broken.py").write_text("import triton.no_such_module\n")
    kernels = tmp_path / "source/python/triton_kernels/tests"
    kernels.mkdir(parents=True)
    (kernels / "conftest.py").write_text(CONFTEST)
    (kernels.parent / "triton_kernels.py").write_text("answer = 42\n")
    (kernels / "test_one.py").write_text("import triton_kernels\ndef test_answer(): assert triton_kernels.answer == 42\n")
    (tutorials / "01-first.py").write_text("import triton\nprint(triton.cdiv(7, 2))\n")
    (tutorials / "02-second.py").write_text('print("\\u26d4 This example requires GPU support for block scaled matmul")\n')
    page, data = tmp_path / "page.md", tmp_path / "data.json"
    data.write_text(json.dumps({"inductor": [{"tests": "test_fp8.py", "machine": "H100", "date": "2026-01-01", "passed": 6, "skipped": 0, "failed": 0, "why": ""}]}))
    command = [sys.executable, RUN, "--triton-src", tmp_path / "source", "--jobs", "2", "--limit", "5", "--page", page, "--data", data, "--results", tmp_path / "results"]
    done = subprocess.run(command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = page.read_text() if page.exists() else ""
    stored = json.loads(data.read_text())
    files = stored["cpu"]["files"]
    assert files["language/test_few.py"] == {"of": 10, "passed": 5, "failed": 2, "timeout": 1, "crash": 1, "skipped": 1}, done.stdout
    assert files["triton_kernels/test_one.py"] == {"of": 1, "passed": 1}, done.stdout
    assert files["language/test_broken.py"] == {"of": 1, "error": 1} and files["tutorials/01-first.py"] == {"of": 1, "passed": 1}, text
    assert files["tutorials/02-second.py"] == {"of": 1, "skipped": 1} and stored["cpu"]["suites"]["tutorials"]["passed"] == 1, text
    assert '`02-second.py` ("This example requires GPU support for block scaled matmul")' in text, text
    wrong = {"kind": "WRONG NUMBER", "reason": "the result differs from Triton's", "cases": 1, "example": "test_few.py::test_number"}
    assert wrong in stored["cpu"]["classes"], stored
    assert "| language | 5 | 4 | 1 | 55.6% |" in text and "| **all** | 7 | 4 | 1 | 63.6% |" in text, text
    assert "| `test_fp8.py` | H100, 2026-01-01 | 6 |  |  |  |" in text, text


TUTORIAL = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) * 2)

def validate_block_scaled(M, N, K, kind):
    assert triton.runtime.driver.active.get_current_target().arch == 100 and torch.cuda.get_device_capability()[0] == 10
    x = torch.arange(64, device="cuda", dtype=torch.float32)
    double[(1,)](x, 64)
    torch.testing.assert_close(x, 2 * torch.arange(64, device="cuda").float())
    print(kind)

if __name__ == "__main__":
    raise SystemExit("a simulator is too slow for this")
"""

ON_A_GPU = """
import torch
from triton._internal_testing import is_blackwell, is_cuda, is_hopper, is_hopper_or_newer, is_sm12x

def test_machine(request):
    assert request.config.getoption("--device") == "cuda" and torch.cuda.is_available()
    assert is_cuda() and is_blackwell() and is_hopper_or_newer() and not is_hopper() and not is_sm12x()
    assert torch.ones(4, device="cuda").sum() == 4
"""


def test_a_simulated_gpu(tmp_path):
    """Programs for CUDA run on the simulator, with a target that they can ask for."""
    pytest.importorskip("torch", reason="PyTorch is not installed (tools/setup.sh --torch)")
    unit, tutorials = tmp_path / "source/python/test/unit/language", tmp_path / "source/python/tutorials"
    unit.mkdir(parents=True)
    tutorials.mkdir(parents=True)
    (tmp_path / "source/python/pytest.ini").write_text("[pytest]\n")
    (tmp_path / "source/python/test/conftest.py").write_text(CONFTEST)
    (unit / "test_gpu.py").write_text(ON_A_GPU)
    (tutorials / "10-block-scaled-matmul.py").write_text(TUTORIAL)
    data = tmp_path / "data.json"
    done = subprocess.run([sys.executable, RUN, "--triton-src", tmp_path / "source", "--device", "simulate", "--target", "sm_100a", "--jobs", "2", "--page", tmp_path / "page.md",
                           "--data", data, "--results", tmp_path / "results"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert json.loads(data.read_text())["simulate"]["files"] == {name: {"of": 1, "passed": 1} for name in ("language/test_gpu.py", "tutorials/10-block-scaled-matmul.py")}, done.stdout


def test_results_of_several_machines(tmp_path):
    """Samples add up, a test's later result counts, and programs that are accepted here but refused by upstream are listed separately."""
    visits = []

    def visit(*events):
        folder = tmp_path / str(len(visits)) / "cuda"
        folder.mkdir(parents=True)
        visits.append(folder)
        (folder / "language__test_many.py.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))

    def end(test, outcome, message=""):
        return {"end": f"unit/language/test_many.py::{test}", "outcome": outcome, "message": message}

    visit({"end": "unit/language/test_many.py::(collection)", "outcome": "error", "message": "No module named 'torch'"})
    visit({"of": 8}, end("test_op[a/b]", "failed", "assert 1 == 2"), end("test_op[b]", "passed"), end("test_min_dot_size[x]", "failed", "DID NOT RAISE"))
    visit({"of": 8}, end("test_op[a/b]", "passed"), end("test_op[c]", "passed"))
    page, data = tmp_path / "page.md", tmp_path / "data.json"
    subprocess.run([sys.executable, RUN, "--triton-src", tmp_path, "--device", "cuda", "--only-page", "--page", page, "--data", data, "--results", tmp_path / "none",
                    "--with", *visits], check=True)
    text = page.read_text()
    assert json.loads(data.read_text())["cuda"]["files"] == {"language/test_many.py": {"of": 8, "passed": 3, "failed": 1}}
    assert "| language | 3 | 1 |  | 75.0% |" in text and "| extension | Asserts that Triton refuses what Tilewright accepts" in text, text


def test_the_page_is_what_its_data_says():
    done = subprocess.run([sys.executable, RUN.parent / "page.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len((RUN.parents[2] / "docs/conformance.md").read_text().splitlines()) <= 70


def test_cases_that_only_compile_want_no_hardware():
    sys.path.insert(0, str(RUN.parent))
    from classes import ELSEWHERE, classify
    kinds = [classify(name, message)[0] for name, message in (
        ("test_compile_only.py::test_compile_only_dot", "AssertionError: The TTGIR does not match the expected pattern."), ("test_compile_only.py::test_fp8_compiles_for_multiple_architectures_hip", "gfx942"),
        ("test_core.py::test_add", "Found no NVIDIA driver on your system"))]
    assert kinds == ["text of IR", "other target", "needs a GPU"] and ELSEWHERE & set(kinds) == {"needs a GPU"}


LIBRARY = """
import torch
import triton
import triton.language as tl
from helpers import halved

if torch.cuda.is_available():
    @triton.jit
    def scaled(x, table, scale, n_rows, stride, BLOCK: tl.constexpr, HAS_BIAS: tl.constexpr, DTYPE: tl.constexpr = tl.float32):
        at = tl.arange(0, BLOCK)
        row = tl.load(table + tl.program_id(0))
        total = tl.sum(tl.load(x + row * stride + at, mask=row < n_rows, other=0).to(DTYPE))
        tl.store(x + row * stride + at, halved(total * scale))

@triton.jit
def mistaken(x, y):
    tl.store(x, tl.load(y) % "s")

@triton.jit
def refused(x):
    tl.store(x, tl.no_such_function())

@triton.jit
def helper_alone(x):
    return x

def launch(x):
    scaled[(1,)](x, x, 2.0, 3, 4, BLOCK=64, HAS_BIAS=False)
    mistaken[(1,)](x, x)
    refused[(1,)](x)
"""

UPSTREAM = """#!{python}
import json, os, sys
for line in sys.stdin:
    question = json.loads(line)
    if question["name"] == "mistaken":
        os.abort()  # as upstream ends for some guesses
    result = "accepted" if question["name"] == "refused" else "AssertionError"
    print(json.dumps(question | {{"results": [result] * len(question["signatures"])}}), flush=True)
"""


def test_kernels_of_libraries(tmp_path):
    library, page, data, upstream = tmp_path / "libraries/some/inner", tmp_path / "page.md", tmp_path / "data.json", tmp_path / "upstream"
    library.mkdir(parents=True)
    (library / "ops.py").write_text(LIBRARY)
    (library / "helpers.py").write_text("import triton\n\n@triton.jit\ndef halved(x):\n    return x / 2\n")
    upstream.write_text(UPSTREAM.format(python=sys.executable))
    upstream.chmod(0o755)
    command = pathlib.Path(tilewright.__file__).absolute().parents[2] / "bin/tilewright"
    subprocess.run([sys.executable, RUN.parent / "libraries", tmp_path / "libraries", "--upstream-python", upstream, "--command", command, "--results", tmp_path / "results",
                    "--page", page, "--data", data, "--jobs", "1"], check=True)
    stored = json.loads(data.read_text())["libraries"]
    assert stored["rows"] == {"some": {"found": 3, "sampled": 3, "compiled": 1, "CPU": 1, "PTX": 1, "guess": 1, "refused here alone": 1}}
    assert ["some", "refused", "triton.language has no 'no_such_function'"] in stored["refused"]
    assert "of 3 kernels 1 compile, 1 to an object for CPUs and 1 to PTX. Of the others, Triton refuses 1 as well" in page.read_text()


def test_a_wrong_number_is_called_rounding_for_two_cases_alone():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
    from classes import classify
    told = [classify(f"test_core.py::test_scaled_dot[{case}-4-16-1]", "AssertionError: Tensor-likes are not close!")[0] for case in (
        "128-32-128-True-False-False-e4m3-fp16", "128-64-128-False-False-True-e4m3-fp16", "128-32-128-True-False-True-e4m3-fp16", "64-64-64-True-True-True-e4m3-fp16")]
    assert told == ["rounding", "rounding", "WRONG NUMBER", "WRONG NUMBER"]
