"""Names in kernels: globals, closures, helper functions, Python functions called at compile time; and changes to them."""

import importlib.util
import math
import re
import sys
import types

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

FACTOR = 3
SIZES = (4, 5)


def run(kernel, *args):
    out = np.zeros(1, np.int32)
    kernel[(1,)](out, *args)
    return out[0]


@triton.jit
def helper(x):
    return x * FACTOR


@triton.jit
def uses_globals(out_ptr, x):
    tl.store(out_ptr, helper(x) + SIZES[1])


def test_globals_and_helpers():
    assert run(uses_globals, 10) == 35


def test_closures():
    def make(offset):
        @triton.jit
        def kernel(out_ptr, x):
            tl.store(out_ptr, x + offset)

        return kernel

    assert run(make(1), 10) == 11
    assert run(make(2), 10) == 12


def test_functions_of_functions():
    @triton.jit
    def add(x, y):
        return x + y

    @triton.jit
    def twice(x, fn: tl.constexpr):
        return fn(x, x)

    @triton.jit
    def kernel(out_ptr, x):
        tl.store(out_ptr, twice(twice(x, add), add))

    assert run(kernel, 5) == 20


def test_python_functions_at_compile_time():
    @triton.constexpr_function
    def blocks(n, size):
        assert isinstance(n, int)
        return -(-n // size)

    def plain(n):
        return n + 1

    @triton.jit
    def kernel(out_ptr, N: tl.constexpr):
        count: tl.constexpr = blocks(N, 4) + plain(N) + triton.cdiv(N, 2) + triton.next_power_of_2(N)
        tl.store(out_ptr, count)

    assert run(kernel, 10) == 3 + 11 + 5 + 16
    assert blocks(tl.constexpr(9), 4) == 3


def test_errors_of_python_functions_are_shown():
    @triton.constexpr_function
    def picky(n):
        raise ValueError("n must be odd")

    @triton.jit
    def kernel(out_ptr, N: tl.constexpr):
        tl.store(out_ptr, picky(N))

    with pytest.raises(triton.CompilationError, match="n must be odd"):
        run(kernel, 10)


MODULE = """
import tilewright as triton
import tilewright.language as tl
LIMIT = tl.constexpr(7)
WIDTH = 2

@triton.jit
def kernel(out_ptr):
    tl.store(out_ptr, LIMIT * WIDTH)
"""


def load(tmp_path, text):
    path = tmp_path / "kernels_for_scope.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("kernels_for_scope", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_changed_global(tmp_path):
    module = load(tmp_path, MODULE)
    assert run(module.kernel) == 14
    module.WIDTH = 2  # the same value
    assert run(module.kernel) == 14
    module.WIDTH = 3
    with pytest.raises(RuntimeError, match="Global variable WIDTH has changed since we compiled this kernel, from 2 to 3"):
        run(module.kernel)
    del module.WIDTH
    with pytest.raises(RuntimeError, match="from 2 to undefined"):
        run(module.kernel)
    module.WIDTH = 5
    module.kernel.hash = None
    assert run(module.kernel) == 35


def test_members_of_modules_and_classes(tmp_path, monkeypatch):
    module = load(tmp_path, "COUNT = 6\n")
    monkeypatch.setitem(sys.modules, "kernels_for_scope", module)

    class Settings:
        step = 4

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, module.COUNT + Settings.step)

    assert run(kernel) == 10


def test_host_values_are_named():
    everything = object()

    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, everything)

    with pytest.raises(triton.CompilationError, match="builtins.object"):
        run(kernel)


def test_replaced_source():
    @triton.jit
    def kernel(out_ptr, x):
        tl.store(out_ptr, x + 1)

    assert run(kernel, 5) == 6
    before = kernel.cache_key
    kernel._unsafe_update_src(kernel.src.replace("x + 1", "x * 100"))
    assert run(kernel, 5) == 500
    assert kernel.cache_key != before
    with pytest.raises(AttributeError):
        kernel.src = "def kernel(): pass"


def test_methods_and_nested_kernels_keep_their_lines():
    class Holder:
        @staticmethod
        @triton.jit
        def kernel(out_ptr):
            tl.store(out_ptr, undefined_name)

    with pytest.raises(triton.CompilationError) as error:
        run(Holder.kernel)
    text = str(error.value)
    assert "test_scope.py" in text and "undefined_name" in text and "^" in text
    line = error.value.diagnostics[0]["line"]
    assert "undefined_name" in open(__file__).read().splitlines()[line - 1]

def test_a_kernel_made_of_another_ones_text_has_its_place(monkeypatch):
    @triton.jit
    def kernel(out_ptr):
        tl.store(out_ptr, 1.0)

    kernel._unsafe_update_src("def kernel(out_ptr):\n    tl.store(out_ptr, 2.0)\n")
    kernel.file_name, kernel.def_file_line_number = "template.py", 41
    monkeypatch.setenv("TRITON_DISABLE_LINE_INFO", "0")
    out = np.zeros(1, np.float32)
    text = kernel[(1,)](out).asm["ttir"]
    assert out[0] == 2 and re.search(r'loc\("(.*/)?template.py":42:5\)', text), text


def test_jit_needs_source():
    with pytest.raises(ValueError, match="source is read from its file, and"):
        namespace = {"triton": triton}
        exec("@triton.jit\ndef kernel():\n    pass\n", namespace)


ELEMENT = tl.int8


@triton.jit
def typed_kernel(out):
    tl.store(out, (tl.load(out + 1)).to(ELEMENT).to(tl.int32))


def test_a_dtype_that_changes_is_noticed(monkeypatch):
    out = np.array([0, 300], np.int32)
    typed_kernel[(1,)](out)
    assert out[0] == 44
    monkeypatch.setitem(globals(), "ELEMENT", tl.int32)
    with pytest.raises(RuntimeError, match="Global variable ELEMENT has changed"):
        typed_kernel[(1,)](out)


def test_a_constexpr_whose_value_changes_is_noticed():
    captured = tl.constexpr(42)

    @triton.jit
    def kernel(out):
        tl.store(out, captured)

    out = np.zeros(1, np.int32)
    kernel[(1,)](out)
    kernel[(1,)](out)
    assert out[0] == 42
    captured.value = 43
    with pytest.raises(RuntimeError, match=r"captured has changed since we compiled this kernel, from constexpr\[42\] to constexpr\[43\]"):
        kernel[(1,)](out)


SHADOWED = 42


@triton.jit
def shadowing_kernel(out):
    _, SHADOWED = 0, 7
    tl.store(out, SHADOWED)


def test_a_global_that_a_local_hides_may_change(monkeypatch):
    out = np.zeros(1, np.int32)
    shadowing_kernel[(1,)](out)
    monkeypatch.setitem(globals(), "SHADOWED", 43)
    shadowing_kernel[(1,)](out)
    assert out[0] == 7


@triton.jit
def asserting_kernel(x):
    tl.device_assert(tl.load(x) == 0, "must fail")


def test_the_environment_enables_assertions_against_a_launch(monkeypatch):
    asserting_kernel[(1,)](np.ones(1, np.int32), debug=False)
    monkeypatch.setattr(triton.knobs.runtime, "debug", True)
    with pytest.raises(RuntimeError, match="must fail"):
        asserting_kernel[(1,)](np.ones(1, np.int32), debug=False)


@triton.jit
def add_kernel_of_constexprs(x, offsets: tl.constexpr):
    return x + offsets


@triton.jit
def annotated_kernel(out, n, N: tl.constexpr):
    offsets = tl.arange(0, N)
    groups: tl.constexpr = n // 2
    tl.store(out + offsets, add_kernel_of_constexprs(groups, offsets))


def test_constexpr_annotations_let_run_time_values_through():
    out = np.zeros(4, np.int32)
    annotated_kernel[(1,)](out, 10, N=4)
    np.testing.assert_array_equal(out, [5, 6, 7, 8])


@triton.jit
def limit_of(dtype: tl.constexpr):
    held = dtype.value
    return 1 if held.is_floating() else 2


@triton.jit
def value_kernel(out):
    tl.store(out, limit_of(out.dtype.element_ty))


def test_value_of_a_constexpr():
    out = np.zeros(1, np.int32)
    value_kernel[(1,)](out)
    assert out[0] == 2


torch = types.ModuleType("torch")  # its name is enough, because nothing in it is called


@triton.jit
def limits_kernel(out_ptr):
    tl.store(out_ptr, torch.finfo(torch.float32).max)
    tl.store(out_ptr + 1, -torch.finfo(torch.float16).eps)
    tl.store(out_ptr + 2, torch.iinfo(torch.int16).min)
    low: tl.constexpr = torch.finfo(torch.bfloat16).min
    tl.store(out_ptr + 3, low / 2)


def test_limits_of_types_inside_of_a_kernel():
    out = np.zeros(4, np.float32)
    limits_kernel[(1,)](out)
    expected = [np.finfo(np.float32).max, -np.finfo(np.float16).eps, -32768, -(2.0 - 2.0**-7) * 2.0**126]
    np.testing.assert_array_equal(out, np.array(expected, np.float32))


@triton.jit
def root_kernel(out_ptr, n):
    tl.store(out_ptr, math.sqrt(n))


def test_a_host_function_is_named_as_its_author_knows_it():
    with pytest.raises(triton.CompilationError, match="'sqrt' runs at compile time and cannot take run-time values"):
        root_kernel[(1,)](np.zeros(1, np.float32), 7)


def rounded_up(n: tl.constexpr, *, _builder=None):
    assert isinstance(n, tl.constexpr)
    return tl.constexpr(triton.next_power_of_2(n.value))


rounded_up.__triton_builtin__ = True


@triton.jit
def with_a_marked_function(x, count: tl.constexpr):
    size: tl.constexpr = rounded_up(count)
    tl.store(x + tl.arange(0, size), size)


def test_functions_marked_as_the_languages_own_are_passed_constexprs():
    """PyTorch's triton_helpers has such functions, which Inductor's cooperative reductions call."""
    out = np.zeros(8, np.int32)
    with_a_marked_function[(1,)](out, 5)
    assert (out == 8).all()
