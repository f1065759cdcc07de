"""`tilewright verify` does not call a racy kernel right, although its numbers are: programs of a small launch run one after another."""

import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright import verify

SUMS = """
import numpy as np
import triton
import triton.language as tl

@triton.jit
def column_sums(x_ptr, out_ptr, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows, columns = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, BLOCK)
    mask = (rows[:, None] < M) & (columns[None, :] < N)
    part = tl.sum(tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=mask, other=0.0), 0)
    tl.store(out_ptr + columns, tl.load(out_ptr + columns, mask=columns < N) + part, mask=columns < N)

def kernel_fn(x):
    x = np.ascontiguousarray(x)
    out = np.zeros(x.shape[1], np.float32)
    if x.size:
        column_sums[(triton.cdiv(x.shape[0], 16),)](x, out, *x.shape, ROWS=16, BLOCK=triton.next_power_of_2(x.shape[1]))
    return out

def reference_fn(x):
    return x.sum(0, dtype=np.float64)

def get_inputs():
    return [np.random.standard_normal(SHAPE).astype(np.float32)]
"""
ADD = "    tl.store(out_ptr + columns, tl.load(out_ptr + columns, mask=columns < N) + part, mask=columns < N)\n"
ATOMIC = "    tl.atomic_add(out_ptr + columns, part, mask=columns < N)\n"


def verified(tmp_path, text, shape=(512, 96), **options):
    path = tmp_path / "sums.py"
    path.write_text(text.replace("SHAPE", repr(shape)))
    return verify.verify(str(path), verify.Options(**options))


@pytest.mark.parametrize("shape", [(512, 96), (40000, 96)], ids=["whole", "first programs of a large launch"])
def test_a_race_is_wrong(tmp_path, shape):
    assert ADD in SUMS
    report = verified(tmp_path, SUMS, shape, kinds=("given",))
    assert not report.correct
    line = SUMS.splitlines().index(ADD.rstrip("\n")) + 1
    details = report.results[0].details
    assert "the interpreter reports an error" in details and "race: tt." in details and f"sums.py:{line}:" in details, details


def test_atomics_are_right(tmp_path):
    report = verified(tmp_path, SUMS.replace(ADD, ATOMIC))
    assert report.correct, report.details


def test_one_program_has_no_race(tmp_path):
    report = verified(tmp_path, SUMS, (16, 96), kinds=("given",))
    assert report.correct, report.details


def test_a_fault_that_changes_no_number(tmp_path):
    """The load reads beyond its tensor, and what it reads there is not used."""
    text = SUMS.replace(ADD, ATOMIC).replace("mask=mask, other=0.0", "mask=columns[None, :] < N, other=0.0") \
               .replace("part = tl.sum(tl.load", "part = tl.sum(tl.where(mask, tl.load").replace(", 0)\n    tl.atomic", ", 0.0), 0)\n    tl.atomic")
    report = verified(tmp_path, text, (500, 96), kinds=("given",))
    assert not report.correct
    assert "out of bounds" in report.details and "after the end of 'x_ptr'" in report.details, report.details


def test_what_the_interpreter_cannot_run_is_not_wrong(tmp_path):
    text = SUMS.replace(ADD, """    tl.store(out_ptr + columns, tl.inline_asm_elementwise("vmovaps $1, $0", "=v,v", [part], tl.float32, True, 1), mask=columns < N)\n""")
    report = verified(tmp_path, text, (16, 64), kinds=("given",))
    assert "the interpreter reports an error" not in report.details, report.details


def test_the_command(tmp_path):
    (tmp_path / "sums.py").write_text(SUMS.replace("SHAPE", "(512, 96)"))
    done = subprocess.run([sys.executable, "-m", "tilewright.verify", "sums.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1 and "race: tt." in done.stdout and "WRONG" in done.stdout, done.stdout + done.stderr


@triton.jit
def raised_group(pointers, sizes, BLOCK: tl.constexpr):
    """Addresses of tensors in memory, as a grouped GEMM has them."""
    x = tl.load(pointers + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, BLOCK)
    mask = at < tl.load(sizes + tl.program_id(0))
    tl.store(x + at, tl.load(x + at, mask=mask, other=0.0) + 1, mask=mask)


@pytest.mark.parametrize("engine", ["interpret", "simulate"])
def test_tensors_whose_addresses_are_in_memory(engine):
    tensors = [np.full(size, size, np.float32) for size in (5, 16, 9)]
    pointers = np.array([tensor.ctypes.data for tensor in tensors], np.int64)
    sizes = np.array([tensor.size for tensor in tensors], np.int32)
    with triton.engine(engine, check_bounds=True):
        raised_group[(3,)](pointers, sizes, BLOCK=16)
    for tensor in tensors:
        np.testing.assert_array_equal(tensor, tensor.size + 1)
    pointers[1] = 1 << 46  # where no memory is
    with triton.engine(engine, check_bounds=True), pytest.raises(Exception, match="out of bounds|outside of the kernel's memory"):
        raised_group[(3,)](pointers, sizes, BLOCK=16)
