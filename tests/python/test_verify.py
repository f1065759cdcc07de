"""`tilewright verify` finds known mistakes in kernels, and where they are."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from tilewright import _core, verify
from tilewright._author.kernel_file import KernelFileError

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"

_ADD = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) + tl.load(y_ptr + at, mask=at < n), mask=at < n)

def kernel_fn(x, y):
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    out = np.empty_like(x)
    add_kernel[(triton.cdiv(x.size, 256),)](x, y, out, x.size, BLOCK=256)
    return out

def reference_fn(x, y):
    return x + y

def get_inputs():
    return [np.random.standard_normal(2048).astype(np.float32), np.random.standard_normal(2048).astype(np.float32)]
"""


@pytest.fixture
def checked(tmp_path, request):
    """A function that verifies _ADD with some of its text replaced."""
    def run(*changes, **options):
        text = _ADD
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / "kernel.py"
        path.write_text(text)
        return verify.verify(str(path), verify.Options(**options))

    return run


def named(report, variant):
    return next(result for result in report.results if result.variant == variant)


def test_right(checked):
    report = checked()
    assert report.correct
    assert [result.variant for result in report.results] == ["as given", "every second element", "2048 -> 0", "2048 -> 1", "2048 -> 2047"]
    assert {result.outcome for result in report.results} == {"right"}
    assert report.as_dict()["max_abs_diff"] == 0


def test_unwritten_elements(checked):
    """One program is missing, so no program writes the last elements. Only sizes that are not multiples of the block show it."""
    report = checked(("triton.cdiv(x.size, 256)", "x.size // 256"))
    assert not report.correct and named(report, "as given").outcome == "right"
    output = named(report, "2048 -> 2047").outputs[0]
    assert output.unwritten == 255 and output.first_unwritten[0] == [1792] and output.writer is None
    assert "255 elements are never written: [1792], [1793]" in named(report, "2048 -> 2047").details


def test_integers_that_nobody_wrote(checked):
    """Every pattern is also a valid integer, so two patterns are tried."""
    report = checked(("triton.cdiv(x.size, 256)", "x.size // 256"), (".astype(np.float32)", ".astype(np.int8)"), kinds=("odd",))
    assert report.results[0].outputs[0].unwritten == 255


def test_booleans(checked):
    """Both values are ordinary results, and inputs that are all true are not taken for outputs."""
    changes = (("mask=at < n) + tl.load(y_ptr + at, mask=at < n)", "mask=at < n) & tl.load(y_ptr + at, mask=at < n)"), ("return x + y", "return x & y"),
               ("[np.random.standard_normal(2048).astype(np.float32), np.random.standard_normal(2048).astype(np.float32)]",
                "[np.ones(2048, bool), np.arange(2048) % 3 > 0]"))
    assert checked(*changes).correct, checked(*changes).details
    report = checked(*changes, ("triton.cdiv(x.size, 256)", "x.size // 256"), kinds=("odd",))
    assert report.results[0].outputs[0].unwritten == 255


def test_program_that_wrote_a_wrong_element(checked):
    report = checked(("tl.load(y_ptr + at, mask=at < n), mask", "tl.load(y_ptr + at, mask=at < n) + (at == 1000), mask"), kinds=("given",))
    output = report.results[0].outputs[0]
    assert output.wrong == 1 and output.worst == (1000,)
    assert output.writer == ("add_kernel", (3, 0, 0))
    assert "[1000]" in report.details and "written by program (3, 0, 0) of add_kernel" in report.details


def test_writes_out_of_bounds(checked):
    report = checked(("at < n), mask=at < n)", "at < n))"))
    assert named(report, "as given").outcome == "right"  # these inputs consist of whole blocks
    assert "kernel_fn writes outside of a tensor that it allocates (float32[2047])" in named(report, "2048 -> 2047").details


def test_reads_what_is_not_there(checked):
    """The memory around inputs holds NaN, so that an unmasked load shows in the sum."""
    report = checked(("tl.load(x_ptr + at, mask=at < n)", "tl.load(x_ptr + at + 1, mask=at < n) * 0"), kinds=("given",))
    assert np.isinf(report.results[0].outputs[0].max_abs_diff)


def test_strides_that_are_ignored(checked):
    report = checked(("    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)\n", ""))
    assert named(report, "as given").outcome == "right"
    assert named(report, "every second element").outcome == "wrong"


def test_accumulates_into_what_is_not_zero(checked):
    report = checked(("tl.load(x_ptr", "tl.load(out_ptr + at, mask=at < n) + tl.load(x_ptr"), kinds=("given",))
    assert not report.correct


def test_input_that_is_changed(checked):
    report = checked(("    return out", "    x[0] = 7\n    return out"), kinds=("given",))
    assert not report.correct and report.details.count("input 0: 1 of 2048 elements are wrong") == 1


def test_outputs_among_the_inputs(checked):
    """A kernel that returns nothing writes to an argument, and so does its reference function."""
    changes = (("def kernel_fn(x, y):", "def kernel_fn(x, y, out):"), ("    out = np.empty_like(x)\n", ""), ("    return out", ""),
               ("def reference_fn(x, y):\n    return x + y", "def reference_fn(x, y, out):\n    out[...] = x + y"),
               ("return [np", "return [*[np"), ("astype(np.float32)]", "astype(np.float32)], np.empty(2048, np.float32)]"))
    assert checked(*changes, kinds=("given", "odd")).correct
    report = checked(*changes, ("triton.cdiv(x.size, 256)", "x.size // 256"), kinds=("given", "odd"))
    assert named(report, "2048 -> 2047").outputs[0].name == "input 2" and named(report, "2048 -> 2047").outputs[0].unwritten == 255


def test_refusal_is_no_wrong_number(checked):
    report = checked(("    out =", "    if x.size % 256:\n        raise ValueError('multiples of 256 alone')\n    out ="))
    assert report.correct and named(report, "2048 -> 2047").outcome == "refused"
    assert "multiples of 256 alone" in named(report, "2048 -> 2047").details


def test_tolerances(checked):
    close = ("mask=at < n), mask", "mask=at < n) + 1e-4, mask")
    assert not checked(close, kinds=("given",)).correct
    assert checked(close, kinds=("given",), atol=1e-3).correct
    half = (".astype(np.float32)", ".astype(np.float16)")
    output = checked(half, kinds=("given",)).results[0].outputs[0]
    assert output.rtol == 1e-3 and output.dtype == "float16"
    assert _core.tolerances("bfloat16", False, False) == (1e-2, 1e-2) and _core.tolerances("int32", True, True) == (0, 0)
    assert _core.tolerances("float32", False, True) == (1e-5, 1e-5)
    assert _core.tolerances("float32", True, True) == (1e-2, 1e-1) and _core.tolerances("float32", True, False) == (1e-3, 1e-3)


def test_inputs_are_fresh_and_repeatable(checked, tmp_path):
    """Each variant has inputs of its own; the same seed gives the same inputs."""
    sums = tmp_path / "sums"
    note = ("def reference_fn(x, y):", f"def reference_fn(x, y):\n    print(x.sum(), file=open({str(sums)!r}, 'a'))")
    checked(note, kinds=("given", "strided"))
    checked(note, kinds=("given", "strided"))
    first, second, third, fourth = sums.read_text().split()
    assert first != second and [first, second] == [third, fourth]


@pytest.mark.parametrize("changes, message", [
    ([("def reference_fn", "def other_fn")], "does not define reference_fn, the function that computes the expected results"),
    ([("def get_inputs", "def inputs"), ("def kernel_fn", "def fn")], "does not define kernel_fn, the function to verify; nor get_inputs, the inputs of both"),
    ([("def kernel_fn(x, y):", "def kernel_fn(x, y:")], "kernel.py' raises SyntaxError at .*kernel.py:11: "),
    ([("import numpy", "import nympy")], "kernel.py' raises ModuleNotFoundError at .*kernel.py:2: "),
    ([("    return [np", "    return 7\n    return [np")], "get_inputs.. must return a list or a dict of inputs, not a int"),
    ([("    return [np", "    raise OSError('no data')\n    return [np")], "get_inputs.. raises OSError at .*: no data"),
    ([("    return [np.random.standard_normal(2048).astype(np.float32), ", "    x = "), ("2048).astype(np.float32)]", "2048)\n    return [x, x[5:]]")],
     "inputs 0 and 1 of get_inputs.. share memory"),
    ([("return x + y", "return (x + y)[:, None] @ 3")], "reference_fn raises .*kernel.py:"),
    ([("return x + y", "raise SystemExit(3)")], r"reference_fn raises .*it would end the process, by sys.exit\(3\)"),
    ([("import numpy", "\0import numpy")], "kernel.py' raises (SyntaxError|ValueError): source code .*null bytes"),
])
def test_files_that_cannot_be_verified(checked, changes, message):
    with pytest.raises(KernelFileError, match=message):
        checked(*changes)


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(KernelFileError, match="cannot read '.*': it is a folder"):
        verify.verify(str(tmp_path))
    with pytest.raises(KernelFileError, match="cannot read '.*': there is no such file"):
        verify.verify(str(tmp_path / "nothing.py"))


@pytest.mark.parametrize("change, message", [
    (("return x + y", "return (x + y).astype(np.float16)"), "output 0 is float32[2048] from kernel_fn, and float16[2048] from reference_fn"),
    (("return x + y", "return (x + y).astype(np.int64)"), "output 0 is float32[2048] from kernel_fn, and int64[2048] from reference_fn"),
    (("return x + y", "return (x + y)[None]"), "output 0 is float32[2048] from kernel_fn, and float32[1, 2048] from reference_fn"),
    (("return x + y", "return x + y, x"), "kernel_fn returns 1 result, and reference_fn 2"),
    (("    return out", ""), "kernel_fn returns nothing, and reference_fn 1 result"),
    (("n, BLOCK: tl.constexpr", "n, m, BLOCK: tl.constexpr"), "kernel_fn raises"),
])
def test_results_that_cannot_be_compared(checked, change, message):
    report = checked(change, kinds=("given",))
    assert not report.correct and message in report.results[0].details


def test_reference_that_gives_a_scalar_of_numpy(checked):
    assert checked(("return out", "return out.sum(keepdims=True).reshape(())"), ("return x + y", "return (x + y).sum()"), kinds=("given",)).correct


def test_reference_in_float64(checked):
    """A reference in float64 checks narrower floats more exactly. But a kernel must not return float32 instead of float64, nor any other type."""
    exact = "return x + y", "return x.astype(np.float64) + y"
    assert checked(exact).correct
    report = checked(("return x + y", "return x.astype(np.float64) + y + 1e-3"), kinds=("given",))
    assert not report.correct and "2048 of 2048" in report.results[0].details, report.results[0].details
    report = checked((".astype(np.float32), ", ", "), ("np.empty_like(x)", "np.empty_like(y)"), kinds=("given",))
    assert "output 0 is float32[2048] from kernel_fn, and float64[2048] from reference_fn" in report.details
    report = checked(("np.empty_like(x)", "np.empty(x.shape, np.float16)"), kinds=("given",))
    assert "output 0 is float16[2048] from kernel_fn, and float32[2048] from reference_fn" in report.details


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("[01]*.py")), ids=lambda path: path.stem)
def test_examples(example, monkeypatch):
    """Strided, empty and odd inputs, too, are computed or refused."""
    monkeypatch.syspath_prepend(EXAMPLES)
    report = verify.verify(str(example))
    assert report.correct, [result for result in report.results if result.outcome == "wrong"]


def test_command(tmp_path):
    """The command writes only results to the standard output, and has the right exit status."""
    path = tmp_path / "kernel.py"
    path.write_text(_ADD.replace("def reference_fn(x, y):", "print('loading')\ndef reference_fn(x, y):"))
    call = [sys.executable, "-m", "tilewright.verify", str(path), "--json"]
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 0 and "loading" in done.stderr, done.stderr
    report = json.loads(done.stdout)
    assert report["correct"] is True and set(report) == {"correct", "max_abs_diff", "max_rel_diff", "details", "variants"}
    path.write_text(_ADD.replace("triton.cdiv(x.size, 256)", "x.size // 256"))
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 1
    worst = [variant for variant in json.loads(done.stdout)["variants"] if variant["outcome"] == "wrong"][0]["outputs"][0]
    assert worst["unwritten"]["count"] > 0 and worst["wrong"] >= worst["unwritten"]["count"]
    for text in ([], ["--json"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([*call[:4], *text], stdout=full, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 1 and done.stderr.splitlines()[-1] == "tilewright: error: cannot write the standard output: No space left on device"
        assert "Traceback" not in done.stderr
    reader = subprocess.Popen([*call[:4]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    reader.stdout.close()
    assert "Traceback" not in reader.stderr.read() and reader.wait() == 1
    done = subprocess.run([*call[:3], "nothing.py"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "tilewright: error: cannot read 'nothing.py': there is no such file\n"
    done = subprocess.run(["sh", "-c", f"'{sys.executable}' -m tilewright.verify '{path}' --json >&-"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr == "tilewright: error: cannot write the standard output: it is closed\n"
    path.write_text(_ADD.replace("import numpy", "import nympy"))
    done = subprocess.run(call, capture_output=True, text=True)
    assert done.returncode == 1 and list(json.loads(done.stdout)) == ["error"] and "ModuleNotFoundError" in json.loads(done.stdout)["error"]
    path.write_text(_ADD.replace("return [", "add_kernel[(1,)](1)\n    return ["))
    done = subprocess.run(call, capture_output=True, text=True)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and "needs a value" in found["error"], found
    path.write_text(_ADD.replace("return [", "add_kernel[(1,)](*[np.ones(4, np.float32)] * 3, 4, BLOCK=3)\n    return ["))
    (record,) = json.loads(subprocess.run(call, capture_output=True, text=True).stdout)["diagnostics"]
    assert (record["line"], record["severity"]) == (8, "error")


def test_pytorch(tmp_path):
    pytest.importorskip("torch", reason="PyTorch is not installed (tools/setup.sh --torch)")
    text = _ADD.replace("import numpy as np", "import torch").replace("np.ascontiguousarray(x), np.ascontiguousarray(y)", "x.contiguous(), y.contiguous()")
    text = text.replace("np.empty_like(x)", "torch.empty_like(x)").replace("x.size", "x.numel()")
    text = text.replace("np.random.standard_normal(2048).astype(np.float32)", "torch.randn(2048, device='cuda', dtype=torch.bfloat16)")
    path = tmp_path / "kernel.py"
    path.write_text(text)
    assert verify.verify(str(path), verify.Options(device="cpu")).correct
    path.write_text(text.replace("triton.cdiv(x.numel(), 256)", "x.numel() // 256"))
    report = verify.verify(str(path), verify.Options(device="cpu"))
    assert named(report, "2048 -> 2047").outputs[0].unwritten == 255
