"""The runner of upstream's tests, on a made-up checkout: tests that pass, fail, crash and hang are distinguished."""

import json
import os
import pathlib
import subprocess
import sys

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

def test_card():
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
    page = tmp_path / "page.md"
    page.write_text("# Old\n\n## On cpu\n\nold\n\n## By hand\n\nkept\n")
    command = [sys.executable, RUN, "--triton-src", tmp_path / "source", "--jobs", "2", "--limit", "5", "--page", page, "--results", tmp_path / "results"]
    done = subprocess.run(command, env=dict(os.environ), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = page.read_text() if page.exists() else ""
    assert "| language/test_few.py | 5 | 2 |  | 1 | 1 | 1 |  |" in text, done.stdout
    assert "| triton_kernels/test_one.py | 1 |" in text, done.stdout
    assert "| language/test_broken.py |  |  | 1 |" in text and "| tutorials/01-first.py | 1 |" in text, text
    assert "| WRONG NUMBER | another result than upstream's | 1 | `test_few.py::test_number` |" in text, text
    assert "Of 12 cases that are neither skipped nor expected to fail, 7 pass" in text, text
    assert text.endswith("\n## By hand\n\nkept\n") and "\nold\n" not in text, text
    assert "1 of them want hardware or tools that are not here: of the other 11, 63.6 % pass" in text, text
    assert "By suites, samples weighed: language 55.6 %, triton_kernels 100.0 %, tutorials 100.0 %." in text, text


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
    page = tmp_path / "page.md"
    subprocess.run([sys.executable, RUN, "--triton-src", tmp_path, "--device", "cuda", "--only-page", "--page", page, "--results", tmp_path / "none",
                    "--with", *visits], check=True)
    text = page.read_text()
    assert "| language/test_many.py (4 of 8) | 3 | 1 |" in text and "Of 4 cases that are neither skipped nor expected to fail, 3 pass" in text, text
    assert "1 more assert a refusal of what is taken here" in text and "| products of tiles of any size | 1 |" in text, text


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

JUDGE = """#!{python}
import json, os, sys
for line in sys.stdin:
    question = json.loads(line)
    if question["name"] == "mistaken":
        os.abort()  # as upstream ends for some guesses
    verdict = "taken" if question["name"] == "refused" else "AssertionError"
    print(json.dumps(question | {{"verdicts": [verdict] * len(question["signatures"])}}), flush=True)
"""


def test_kernels_of_libraries(tmp_path):
    library, page, judge = tmp_path / "libraries/some/inner", tmp_path / "page.md", tmp_path / "judge"
    library.mkdir(parents=True)
    (library / "ops.py").write_text(LIBRARY)
    (library / "helpers.py").write_text("import triton\n\n@triton.jit\ndef halved(x):\n    return x / 2\n")
    page.write_text("# Page\n\n## By hand\n\nkept\n\n## Kernel libraries\n\nold\n")
    judge.write_text(JUDGE.format(python=sys.executable))
    judge.chmod(0o755)
    command = pathlib.Path(tilewright.__file__).absolute().parents[2] / "bin/tilewright"
    subprocess.run([sys.executable, RUN.parent / "libraries", tmp_path / "libraries", "--judge", judge, "--command", command, "--results", tmp_path / "results",
                    "--page", page, "--jobs", "1"], check=True)
    text = page.read_text()
    assert "kept" in text and "old" not in text
    assert "| some | 3 | 3 | 1 | 1 | 1 | 1 |  |  | 1 |" in text, text
    assert "| some | `refused` | triton.language has no 'no_such_function' |" in text


def test_a_wrong_number_is_called_rounding_for_two_cases_alone():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
    from classes import classify
    told = [classify(f"test_core.py::test_scaled_dot[{case}-4-16-1]", "AssertionError: Tensor-likes are not close!")[0] for case in (
        "128-32-128-True-False-False-e4m3-fp16", "128-64-128-False-False-True-e4m3-fp16", "128-32-128-True-False-True-e4m3-fp16", "64-64-64-True-True-True-e4m3-fp16")]
    assert told == ["rounding", "rounding", "WRONG NUMBER", "WRONG NUMBER"]
