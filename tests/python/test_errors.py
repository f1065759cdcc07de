"""Errors as exceptions: their classes, their places, and pickling."""

import pickle

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.compiler.errors import CompileTimeAssertionFailure


@triton.jit
def wrong_shapes(out_ptr):
    x = tl.zeros([4, 8], tl.float32)
    tl.store(out_ptr, tl.sum(tl.dot(x, x)))


def test_place_and_caret():
    with pytest.raises(triton.CompilationError) as error:
        wrong_shapes[(1,)](np.zeros(1, np.float32))
    text = str(error.value)
    assert "test_errors.py:16" in text and "tl.dot(x, x)" in text and "^" in text
    record = error.value.diagnostics[0]
    assert record["severity"] == "error" and record["line"] == 16 and record["column"] > 1
    assert isinstance(error.value, triton.TritonError)
    assert error.value.error_message == record["message"]
    assert error.value.__cause__ is not None


def test_errors_can_be_pickled():
    with pytest.raises(triton.CompilationError) as error:
        wrong_shapes[(1,)](np.zeros(1, np.float32))
    copy = pickle.loads(pickle.dumps(error.value))
    assert str(copy) == str(error.value) and type(copy) is type(error.value)
    assert str(pickle.loads(pickle.dumps(triton.OutOfResources(8, 4, "shared memory")))).startswith("out of resource: shared memory")


def test_static_assert():
    @triton.jit
    def kernel(N: tl.constexpr):
        tl.static_assert(N == 4, "N must be four")

    kernel[(1,)](4)
    with pytest.raises(CompileTimeAssertionFailure, match="N must be four"):
        kernel[(1,)](5)


def test_errors_in_callees_name_the_call():
    @triton.jit
    def inner(x):
        return x + nowhere

    @triton.jit
    def outer(out_ptr):
        tl.store(out_ptr, inner(3))

    with pytest.raises(triton.CompilationError, match="nowhere"):
        outer[(1,)](np.zeros(1, np.int32))


def test_builtins_outside_of_kernels():
    with pytest.raises(ValueError, match="Did you forget to add @triton.jit"):
        tl.load(3)
    with pytest.raises(RuntimeError, match="can only be used in @triton.jit"):
        for _ in tl.static_range(3):
            pass


def test_interpreter_finds_bad_accesses():
    @triton.jit
    def kernel(x_ptr, n):
        tl.store(x_ptr + n, 1.0)

    with triton.engine("interpret", check_bounds=True):
        kernel[(1,)](np.zeros(8, np.float32), 7)
        with pytest.raises(triton.InterpreterError, match="x_ptr"):
            kernel[(1,)](np.zeros(8, np.float32), 8)
    with pytest.raises(ValueError, match="there is no engine"):
        with triton.engine("gpu"):
            pass


def test_wrong_decorators():
    with pytest.raises(TypeError, match="needs a function"):
        triton.jit(3)
    with pytest.raises(ValueError, match="no back end for 'hip'"):
        triton.compile("kernel.ttir", target=triton.backends.compiler.GPUTarget("hip", "gfx942", 64))


def test_a_name_without_a_value_is_a_name_error_underneath():
    @triton.jit
    def early():
        a += 1  # noqa: F821

    @triton.jit
    def unknown():
        a = nowhere  # noqa: F821

    for kernel, name in ((early, "a"), (unknown, "nowhere")):
        with pytest.raises(triton.CompilationError) as error:
            kernel.warmup(grid=(1,))
        assert isinstance(error.value.__cause__, NameError) and str(error.value.__cause__) == f"{name} is not defined"


def test_operators_on_constants_have_no_cause():
    @triton.jit
    def kernel(x_ptr):
        -(0, 0)

    with pytest.raises(triton.CompilationError, match="cannot be applied to a tuple") as error:
        kernel[(1,)](np.zeros(1, np.float32))
    assert error.value.__cause__ is None


@triton.jit
def one_of_two(n):
    if n == 0:
        return tl.arange(0, 4)
    return tl.arange(0, 8)


def test_the_cause_names_the_place_in_the_called_function():
    @triton.jit
    def kernel(n):
        one_of_two(n)

    @triton.jit
    def inner(x):
        return tl.dot(x, x)

    @triton.jit
    def outer():
        x = tl.zeros([4, 8], tl.float32)
        inner(x)

    with pytest.raises(triton.CompilationError, match="at 2:4: in kernel") as error:
        kernel.warmup(5, grid=(1,))
    assert str(error.value.__cause__).endswith("at 1:0: in one_of_two"), "two of its statements disagree: no one of them is wrong"
    with pytest.raises(triton.CompilationError, match="at 3:4: in outer") as error:
        outer.warmup(grid=(1,))
    assert "at 2:11: in inner" in str(error.value.__cause__)
