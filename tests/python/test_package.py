"""The package around kernels: names, types on the host, testing, knobs, and `triton` as a second name."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap
import time
import types

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright import _core, _measure, _progress
from tilewright._internal_testing import _fresh_knobs_impl
from tilewright.backends.compiler import GPUTarget

SCRIPT = """
import sys
import triton
import triton.language as tl
from triton.runtime import driver
from triton.language.extra import libdevice
import triton.testing, triton.compiler.errors
import tilewright
assert vars(triton)["jit"] is tilewright.jit and tl is tilewright.language and libdevice is tilewright.language.extra.libdevice
assert triton.__spec__.name == "tilewright"
assert driver.active.get_current_target().backend == "cpu"
try:
    import triton.nowhere
except ImportError:
    pass
else:
    raise SystemExit("found triton.nowhere")
import numpy as np

@triton.jit
def kernel(out_ptr, x):
    tl.store(out_ptr, tl.math.exp(x))

out = np.zeros(1, np.float32)
kernel[(1,)](out, 0.0)
print(out[0], sys.argv[1:], __name__)
"""


def python(*arguments, cwd):
    return subprocess.run([sys.executable, "-m", "tilewright", *arguments], capture_output=True, text=True, cwd=cwd, env=dict(os.environ))


def test_running_scripts_and_modules(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    for arguments in (["script.py"], ["-m", "script"]):
        done = python(*arguments, "--flag", "7", cwd=tmp_path)
        assert (done.stdout, done.returncode) == ("1.0 ['--flag', '7'] __main__\n", 0), done.stderr
    assert python(cwd=tmp_path).returncode == 2
    assert "usage" in python("--help", cwd=tmp_path).stdout


COPIED = """
import re, sys
import numpy as np
import tilewright as triton, tilewright.language as tl

@triton.jit
def kernel(out_ptr):
    tl.store(out_ptr, 7)

out = np.zeros(1, np.int32)
kernel[(1,)](out)
print(out[0], {line.split()[-1] for line in open("/proc/self/maps") if re.search(r"tilewright[^/]*\\.so", line)})
"""


def test_a_copied_package_brings_its_compiler(tmp_path):
    shutil.copytree(pathlib.Path(triton.__file__).parent, tmp_path / "tilewright")
    (tmp_path / "script.py").write_text(COPIED)
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.stdout == f"7 {{'{tmp_path}/tilewright/libtilewright.so.0'}}\n", done.stderr


def test_the_library_exports_its_interfaces_alone():
    library = pathlib.Path(triton.__file__).parent / "libtilewright.so.0"
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in listed.splitlines()]
    assert names and all(re.fullmatch(r"(tw|__jit_debug_)\w+@@TILEWRIGHT_0|_Z\w+@@TILEWRIGHT_INTERNAL_[\d.]+|TILEWRIGHT_\w+[\d.]*@@.*", name) for name in names), names


def test_tracebacks_are_the_users(tmp_path):
    """A traceback has no frames of the launcher or of the package, and each message once."""
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent("""
        import numpy as np
        import triton
        import triton.language as tl

        @triton.autotune(configs=[triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])
        @triton.jit
        def kernel(x_ptr, n, BLOCK: tl.constexpr):
            tl.store(x_ptr + tl.arrange(0, BLOCK), 1.0)

        def main(**more):
            kernel[(1,)](np.zeros(64, np.float32), 64, **more)

        if __name__ == "__main__":
            import sys
            main(BLOCK=32) if len(sys.argv) > 1 else main()
        """))

    def failure(*words):
        return subprocess.run([sys.executable, "-m", "tilewright", *words], capture_output=True, text=True, cwd=tmp_path)

    conflict = failure("script.py", "conflict")
    assert conflict.returncode == 1 and conflict.stderr.splitlines()[-1].endswith("given by the call as well: BLOCK")
    assert conflict.stderr.count("  File ") == 2 and "runpy" not in conflict.stderr
    mistake = failure("-m", "script").stderr
    assert mistake.count("did you mean 'arange'?") == 1 and mistake.count("  File ") == 2, mistake


def test_warnings_name_the_users_line(tmp_path, scale):
    with pytest.warns(UserWarning, match="a word of the compiler's") as caught:
        triton._errors.warn("a word of the compiler's")
    assert caught[0].filename == __file__


def test_progress_is_for_terminals(monkeypatch, capsys):
    monkeypatch.setattr(_progress, "_PATIENCE", 0)
    with _progress.progress("working", 2) as bar:
        bar.step()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with _progress.progress("working", 2) as bar:
        bar.step("the next")
        bar.step()
    shown = capsys.readouterr().err
    assert "working [############............] 1 of 2, 0 s  the next" in shown and shown.endswith("\r\033[K")
    monkeypatch.setattr(_progress, "_columns", lambda: 20)  # a line that wraps around could not be erased
    with _progress.progress("working", 2) as bar:
        bar.step("the next")
    assert "\r\033[Kworking [##########\r" in capsys.readouterr().err


def test_pytest_under_the_other_name(tmp_path):
    (tmp_path / "test_it.py").write_text("import triton\n\n\ndef test_name():\n    assert triton.__name__ == 'tilewright'\n")
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", cwd=tmp_path)
    assert done.returncode == 0 and "1 passed" in done.stdout


def test_host_functions():
    assert triton.cdiv(7, 2) == 4 and triton.next_power_of_2(33) == 64 and triton.next_power_of_2(1) == 1
    assert triton.cdiv(tl.constexpr(7), 2) == 4 and tl.cdiv(7, 2) == 4


def test_dtypes():
    assert str(tl.float32) == "fp32" and repr(tl.float32) == "triton.language.float32" and repr(tl.bfloat16) == "triton.language.bfloat16"
    assert tl.int1.primitive_bitwidth == 1 and tl.int1.itemsize == 1 and tl.int64.itemsize == 8
    assert tl.uint8.is_int_unsigned() and tl.int8.get_int_min_value() == -128 and tl.uint16.get_int_max_value() == 65535
    assert tl.float16.is_fp16() and tl.float8e4nv.is_fp8() and not tl.float32.is_fp8() and tl.float16.fp_mantissa_width == 10
    assert tl.dtype("fp32") == tl.float32 and tl.dtype("fp32") in {tl.float32}
    assert tl.pointer_type(tl.float32).element_ty == tl.float32 and tl.pointer_type(tl.int8).is_ptr()
    assert str(tl.pointer_type(tl.float32)) == "pointer<fp32>"
    block = tl.block_type(tl.float32, [tl.constexpr(4), 8])
    assert block.shape == (4, 8) and block.numel == 32 and block.scalar == tl.float32 and block.is_block()
    with pytest.raises(ValueError, match="powers of two"):
        tl.block_type(tl.float32, [3])
    assert tl.str_to_ty("*fp16") == tl.pointer_type(tl.float16)
    with pytest.raises(AssertionError):
        tl.dtype("fp31")


def test_constexpr():
    x = tl.constexpr(6)
    assert (x + 1).value == 7 and (2 * x).value == 12 and (x // 4).value == 1 and (x > 5) and not (x == 5)
    assert (1 - x).value == -5 and (-x).value == -6 and x.__index__() == 6 and repr(x) == "constexpr[6]"
    assert tl.constexpr(tl.constexpr(3)).value == 3 and tl.constexpr((1, 2))[1].value == 2
    assert list(range(tl.constexpr(3))) == [0, 1, 2]


def test_builtins_are_documented():
    assert "mask=None" in tl.load.__doc__ and tl.load.__name__ == "load"
    assert callable(tl.sum) and callable(tl.math.exp) and callable(tl.extra.libdevice.tanh) and callable(tl.standard.max)


def test_members_of_the_language_say_where_they_are_from():
    """Code generators import the members from the module that __module__ names."""
    for module in (triton.language, triton.language.math, triton.language.random, triton.language.extra.libdevice, triton.language.extra.cuda):
        for name, member in vars(module).items():
            if isinstance(member, triton.language.core.builtin_function) and not name.startswith("_") and name not in vars(triton.language.core):
                home = importlib.import_module(member.__module__.replace("triton", "tilewright", 1))
                assert getattr(home, member.__name__) is member


def test_do_bench_calls_what_takes_long_twice():
    """Once to compile and tune, once to measure."""
    calls = []
    times = triton.testing.do_bench(lambda: calls.append(1) or time.sleep(0.01), warmup=2, rep=5, return_mode="all")
    assert len(calls) == 2 and len(times) == 1 and times[0] >= 10


def test_do_bench_counts_a_very_long_first_call_in_which_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr(_measure, "_LONG_FIRST", 5)
    calls = []
    times = triton.testing.do_bench(lambda: calls.append(1) or time.sleep(0.01), warmup=2, rep=5, return_mode="all")
    assert len(calls) == len(times) == 1 and times[0] >= 10
    x = np.zeros(8, np.float32)

    @triton.jit
    def first(x_ptr):
        tl.store(x_ptr, 1)

    def compiles():
        calls.append(1)
        time.sleep(0.01)
        first[(1,)](x)
    calls.clear()
    triton.testing.do_bench(compiles, warmup=2, rep=5)
    assert len(calls) == 2 and x[0] == 1


def test_do_bench_drops_gradients_before_each_measured_call():
    parameter, seen = types.SimpleNamespace(grad=0), []

    def call():
        seen.append(parameter.grad)
        parameter.grad = 1
        time.sleep(0.01)

    triton.testing.do_bench(call, warmup=2, rep=5, grad_to_none=[parameter])
    assert seen == [0, None]


def test_do_bench():
    assert triton.testing.do_bench(lambda: None, warmup=1, rep=2) >= 0
    low, median, high = triton.testing.do_bench(lambda: None, warmup=1, rep=2, quantiles=[0.2, 0.5, 0.8])
    assert low <= median <= high
    assert len(triton.testing.do_bench(lambda: None, warmup=1, rep=2, return_mode="all")) > 1
    with pytest.raises(ValueError):
        triton.testing.do_bench(lambda: None, return_mode="fastest")


def test_perf_report(tmp_path, capsys):
    @triton.testing.perf_report(triton.testing.Benchmark(
        x_names=["n"], x_vals=[1, 2], line_arg="who", line_vals=["a", "b"], line_names=["A", "B"], plot_name="speed", args={"scale": 10},
        ylabel="GB/s"))
    def bench(n, who, scale):
        return n * scale * (1.0 if who == "a" else 2.0)

    bench.run(print_data=True, save_path=str(tmp_path))
    captured = capsys.readouterr()
    shown = captured.out
    assert "speed:" in shown and "A (GB/s)" in shown and "40.0" in shown
    assert (tmp_path / "speed.csv").read_text().splitlines()[1] == "1,10.000000,20.000000"
    page = (tmp_path / "results.html").read_text()
    assert "<h2>speed</h2>" in page and "<td>10.000000</td><td>20.000000</td>" in page
    if importlib.util.find_spec("matplotlib"):
        assert (tmp_path / "speed.png").exists() and 'src="speed.png"' in page
    else:
        assert "speed: no picture is drawn, as matplotlib is not installed" in captured.err and "<img" not in page


def test_flushing_has_its_share_of_time(monkeypatch):
    """Measuring a very short kernel does not take many times as long as requested, although emptying the caches takes long."""
    calls = []
    monkeypatch.setattr(_core, "flush_caches", lambda: time.sleep(0.02))
    times = triton.testing.do_bench(lambda: calls.append(1), warmup=1, rep=100, return_mode="all")
    assert 10 <= len(times) <= 12


def test_assert_close():
    triton.testing.assert_close(np.float32(1), np.float32(1.001))
    with pytest.raises(AssertionError):
        triton.testing.assert_close(np.zeros(3), np.ones(3))


def test_machine():
    active = triton.runtime.driver.active
    properties = active.utils.get_device_properties(0)
    assert properties["multiprocessor_count"] >= 1 and properties["warpSize"] == 1
    assert active.get_current_target().backend == "cpu"
    assert triton.testing.get_max_simd_tflops(tl.float32, 1e6) > 0


def test_fresh_knobs(monkeypatch):
    """They are used as in upstream's tests."""
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    before = triton.knobs.autotuning
    fresh, restore = _fresh_knobs_impl({"nvidia"})
    assert fresh() is triton.knobs and triton.knobs.autotuning is not before and triton.knobs.autotuning.print is False
    triton.knobs.autotuning.cache = True
    assert os.environ["TRITON_CACHE_AUTOTUNING"] == "1"
    restore()
    assert triton.knobs.autotuning is before and before.print is True and "TRITON_CACHE_AUTOTUNING" not in os.environ


def test_cache_folder_in_a_scope(tmp_path, monkeypatch):
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR", raising=False)  # it has precedence over upstream's variable
    before = triton.knobs.cache.dir
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(tmp_path)
        assert triton.knobs.cache.dir == str(tmp_path) and triton._core.cache_directory() == str(tmp_path / "tilewright")
    assert triton.knobs.cache.dir == before


def test_knobs(monkeypatch):
    monkeypatch.delenv("TRITON_ALWAYS_COMPILE", raising=False)
    knobs = triton.knobs.compilation
    with knobs.scope():
        assert knobs.always_compile is False
        knobs.always_compile = True
        assert knobs.always_compile is True and os.environ["TRITON_ALWAYS_COMPILE"] == "1"
    assert knobs.always_compile is False
    assert triton.knobs.cache.dir == os.environ["TILEWRIGHT_CACHE_DIR"]


def test_compile_from_a_description():
    @triton.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr):
        at = tl.arange(0, BLOCK)
        tl.store(x_ptr + at, at.to(tl.float32), mask=at < n)

    source = triton.compiler.ASTSource(kernel, {"x_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}, {"BLOCK": 32},
                                       {(0,): [["tt.divisibility", 16]]})
    made = triton.compile(source, options={"num_warps": 2})
    assert made.metadata.num_warps == 2 and "x_ptr=*fp32:16" in made.signature and "tt.store" in made.asm["ttir"]
    x = np.zeros(32, np.float32)
    made[(1,)](x, 20, 32)
    np.testing.assert_array_equal(x, np.where(np.arange(32) < 20, np.arange(32), 0))
    with pytest.raises(ValueError, match="no type for the parameter 'n'"):
        triton.compile(triton.compiler.ASTSource(kernel, {"x_ptr": "*fp32"}, {"BLOCK": 32}))


def test_compile_a_file(tmp_path, scale, numbers):
    path = tmp_path / "kernel.ttir"
    path.write_text(scale[(4,)](numbers, np.zeros_like(numbers), 200, 2.0).asm["ttir"])
    made = triton.compile(str(path))
    assert made.asm["obj"].startswith(b"\x7fELF") and "tt.func" in made.asm["ttir"]


def test_set_allocator():
    triton.set_allocator(lambda size, alignment, stream: None)
    with pytest.raises(TypeError):
        triton.set_allocator(3)


TTIR = """
tt.func public @twice(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32} loc("x_ptr"), %n: i32 loc("n")) {
  %r = tt.make_range {start = 0 : i32, end = 64 : i32} : tensor<64xi32>
  %b = tt.splat %x : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>>
  %p = tt.addptr %b, %r : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
  %s = tt.splat %n : i32 -> tensor<64xi32>
  %m = arith.cmpi slt, %r, %s : tensor<64xi32>
  %v = tt.load %p, %m : tensor<64x!tt.ptr<f32>>
  %t = arith.addf %v, %v : tensor<64xf32>
  tt.store %p, %t, %m : tensor<64x!tt.ptr<f32>>
  tt.return
}
"""


def test_launch_ir_text(tmp_path):
    """IR text is launched like a function with the same parameters; launches must satisfy the assumptions of the text (textArgument)."""
    path = tmp_path / "twice.ttir"
    path.write_text(TTIR)
    made = triton.compile(str(path))
    memory = np.zeros(80, np.float32)
    start = -memory.ctypes.data % 16 // 4
    x = memory[start:start + 64]
    x[:] = np.arange(64)
    made[(1,)](x, 60)
    np.testing.assert_array_equal(x, np.where(np.arange(64) < 60, 2, 1) * np.arange(64))
    with pytest.raises(ValueError, match="argument 'x_ptr' .* is a multiple of 16, but a misaligned address is passed"):
        made[(1,)](memory[start + 1:start + 65], 60)
    with pytest.raises(ValueError, match="argument 'x_ptr' .* is .fp32, but "):
        made[(1,)](x.astype(np.float64), 60)
    with pytest.raises(ValueError, match="argument 'n' of the IR text's kernel is i32, but "):
        made[(1,)](x, 2**40)


def test_ir_text_for_gpus(tmp_path):
    path = tmp_path / "twice.ttir"
    path.write_text(TTIR)
    for capability, name in ((80, "sm_80"), (90, "sm_90a"), (100, "sm_100a"), (120, "sm_120a")):
        made = triton.compile(str(path), target=GPUTarget("cuda", capability, 32), options={"num_warps": 2})
        assert f".target {name}\n" in made.asm["ptx"] and ".entry twice(" in made.asm["ptx"] and ".reqntid 64" in made.asm["ptx"]
    with pytest.raises(ValueError, match="num_warps must be a power of 2, not 3"):
        triton.compile(str(path), target=GPUTarget("cuda", 90, 32), options={"num_warps": 3})


def test_modules_import_each_other_in_one_direction():
    """No module imports, even within functions, a module that imports it."""
    import ast
    root = pathlib.Path(triton.__file__).resolve().parent
    files = {".".join(("tilewright", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__"): path
             for path in root.rglob("*.py") if path.name != "__main__.py"}

    def imports(name):
        package = name if files[name].name == "__init__.py" else name.rpartition(".")[0]
        for node in ast.walk(ast.parse(files[name].read_text())):
            if not isinstance(node, ast.ImportFrom) or node.level == 0:
                continue
            base = ".".join(filter(None, [".".join(package.split(".")[:len(package.split(".")) - node.level + 1]), node.module]))
            for alias in node.names:
                found = f"{base}.{alias.name}" if f"{base}.{alias.name}" in files else base
                if found in files and found != name and not package.startswith(found):
                    yield found

    graph = {name: set(imports(name)) for name in files}
    done, path = set(), []

    def visit(name):
        assert name not in path, " -> ".join([*path[path.index(name):], name])
        if name in done:
            return
        path.append(name)
        for other in graph[name]:
            visit(other)
        path.pop()
        done.add(name)

    for name in graph:
        visit(name)


def test_a_submodule_under_the_second_name_replaces_nothing(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import triton\nbefore = triton.runtime.driver\nimport triton.runtime.driver\n"
                      "print(triton.runtime.driver is before, type(before).__name__)\n")
    done = subprocess.run([sys.executable, "-m", "tilewright", str(script)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "DriverConfig"]


def test_element_types():
    assert tl.dtype.SINT_TYPES == ["int8", "int16", "int32", "int64"]
    assert tl.dtype.UINT_TYPES == ["int1", "uint8", "uint16", "uint32", "uint64"]
    assert sorted(tl.dtype.FP_TYPES) == sorted(["fp8e4b15", "fp8e4nv", "fp8e4b8", "fp8e5", "fp8e5b16", "fp16", "bf16", "fp32", "fp64"])
    assert tl.dtype.STANDARD_FP_TYPES == ["fp16", "bf16", "fp32", "fp64"] and tl.dtype.OTHER_TYPES == ["void"]
    properties = {kind: (kind.primitive_bitwidth, kind.itemsize, kind.fp_mantissa_width, kind.exponent_bias)
             for kind in (tl.float8e5, tl.float8e4nv, tl.float16, tl.bfloat16, tl.float64)}
    assert list(properties.values()) == [(8, 1, 2, 15), (8, 1, 3, 7), (16, 2, 10, 15), (16, 2, 7, 127), (64, 8, 52, 1023)]
    assert (tl.int1.itemsize, tl.int1.int_bitwidth, tl.void.itemsize) == (1, 1, 0)
    assert tl.int16.int_signedness is tl.dtype.SIGNEDNESS.SIGNED and tl.int1.int_signedness is tl.dtype.SIGNEDNESS.UNSIGNED
    assert [member.value for member in tl.dtype.SIGNEDNESS] == [0, 1] and [member.value for member in tl.dtype.KIND] == [0, 1, 2]
    assert [kind.kind().name for kind in (tl.int1, tl.uint8, tl.float32)] == ["BOOLEAN", "INTEGRAL", "FLOATING"]
    assert (tl.int8.get_int_min_value(), tl.int8.get_int_max_value(), tl.uint16.get_int_max_value()) == (-128, 127, 65535)
    with pytest.raises(AssertionError):
        tl.float32.get_int_max_value()
    assert [kind.mangle() for kind in (tl.int1, tl.int32, tl.uint8, tl.float16, tl.bfloat16, tl.void)] == ["u1", "i32", "u8", "fp16", "bf16", "V"]
    assert [kind.codegen_name() for kind in (tl.float16, tl.bfloat16, tl.int1, tl.float8e4nv)] == ["float16", "bfloat16", "int1", "float8e4nv"]
    assert repr(tl.float32) == "triton.language.float32" and str(tl.float32) == tl.float32.cache_key_part == "fp32"
    assert tl.dtype("fp32") == tl.float32 and hash(tl.dtype("fp32")) == hash(tl.float32) and tl.float32 != tl.float64
    assert tl.dtype.is_dtype("bf16") and not tl.dtype.is_dtype("float32")
    for wrong in ("float32", "int7", None):
        with pytest.raises(AssertionError):
            tl.dtype(wrong)


def test_questions_about_types():
    questions = ("is_fp8", "is_floating", "is_standard_floating", "is_int_signed", "is_int_unsigned", "is_int", "is_bool", "is_void", "is_block",
                 "is_ptr", "is_const", "is_int32", "is_fp32", "is_fp8e5", "is_bf16", "is_int1")

    def yes(kind):
        return [question for question in questions if getattr(kind, question)()]

    assert yes(tl.int32) == ["is_int_signed", "is_int", "is_int32"]
    assert yes(tl.int1) == ["is_int_unsigned", "is_int", "is_bool", "is_int1"]
    assert yes(tl.float8e5) == ["is_fp8", "is_floating", "is_fp8e5"]
    assert yes(tl.bfloat16) == ["is_floating", "is_standard_floating", "is_bf16"]
    assert yes(tl.void) == ["is_void"]
    assert yes(tl.pointer_type(tl.int32)) == ["is_ptr"] and yes(tl.pointer_type(tl.int32, const=True)) == ["is_ptr", "is_const"]
    assert yes(tl.block_type(tl.int32, [4])) == ["is_block"]
    assert tl.float16.scalar == tl.float16.element_ty == tl.float16 and tl.block_type(tl.int32, [4]).scalar == tl.int32


def test_types_of_constants():
    kind = tl.core.constexpr_type(3)
    assert (kind == tl.core.constexpr_type(3), kind == tl.core.constexpr_type(4), kind == 3) == (True, False, False)
    assert (hash(kind), repr(kind), kind.mangle()) == (hash(3), "constexpr_type[3]", "c3")


def test_host_descriptors():
    from tilewright.tools.tensor_descriptor import TensorDescriptor
    array = np.zeros((4, 8), np.float32)
    made = TensorDescriptor.from_tensor(array, [2, 4])
    assert (made.shape, made.strides, made.block_shape, made.padding) == ([4, 8], [8, 1], [2, 4], "zero")
    assert made == TensorDescriptor(array, [4, 8], [8, 1], [2, 4]) and made != TensorDescriptor(array, [4, 8], [8, 1], [4, 4])
    for wrong in (dict(shape=[]), dict(strides=[1]), dict(strides=[8, 2]), dict(padding="one"), dict(shape=[-1, 8]), dict(block_shape=[0, 4])):
        with pytest.raises(ValueError):
            TensorDescriptor(**dict(base=array, shape=[4, 8], strides=[8, 1], block_shape=[2, 4]) | wrong)


def test_groups_of_knobs(monkeypatch):
    knobs = triton.knobs
    assert {name for name in vars(knobs) if isinstance(getattr(knobs, name), knobs.base_knobs)} == {
        "build", "cache", "compilation", "autotuning", "runtime", "language", "nvidia", "amd", "proton", "redis"}
    assert type(knobs.runtime) is knobs.runtime_knobs and knobs.runtime_knobs.__name__ == "runtime_knobs"
    monkeypatch.delenv("TRITON_ALWAYS_COMPILE", raising=False)
    assert knobs.compilation.always_compile is False and knobs.language.default_fp_fusion is True
    assert knobs.amd.use_block_pingpong is None
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "on")
    assert knobs.compilation.always_compile is True and knobs.compilation.knobs["always_compile"] is True
    with knobs.compilation.scope():
        knobs.compilation.always_compile = False
        assert os.environ["TRITON_ALWAYS_COMPILE"] == "0" and knobs.compilation.always_compile is False
    assert os.environ["TRITON_ALWAYS_COMPILE"] == "on" and knobs.compilation.always_compile is True
    for word, switched in {"yes": True, " Y": True, "2": True, "Off": False, "n": False}.items():
        monkeypatch.setenv("TRITON_ALWAYS_COMPILE", word)
        monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", word)
        assert knobs.compilation.always_compile is switched and knobs.language.default_fp_fusion is switched
    for word in ("", "perhaps"):  # means neither on nor off
        monkeypatch.setenv("TRITON_ALWAYS_COMPILE", word)
        monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", word)
        assert knobs.compilation.always_compile is False and knobs.language.default_fp_fusion is True
    copy = knobs.runtime.copy()
    copy.launch_enter_hook.add(print)
    assert not knobs.runtime.launch_enter_hook and copy.launch_enter_hook
    assert knobs.runtime.launch_exit_hook.reversed and not knobs.runtime.launch_enter_hook.reversed


def test_a_process_that_debugs_overrides_the_call(monkeypatch):
    monkeypatch.setattr(triton.knobs.runtime, "debug", True)
    with pytest.raises(RuntimeError, match="must fail"):
        failing_kernel[(1,)](np.ones(1, np.int32), debug=False)


@triton.jit
def failing_kernel(x_ptr):
    tl.device_assert(tl.load(x_ptr) == 0, "must fail")


def test_installed_command():
    """A wheel's command is libtilewright's, and runs verify and bench with its own Python."""
    done = subprocess.run([sys.executable, "-m", "tilewright._command", "info"], capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.startswith("tilewright ")
    done = subprocess.run([sys.executable, "-m", "tilewright._command", "verify", "nothing.py"], capture_output=True, text=True)
    assert done.returncode == 1 and "cannot read 'nothing.py'" in done.stderr


def test_options_of_python_commands():
    """`tilewright verify --help` and `python -m tilewright.verify --help` list the same options."""
    for name in ("verify", "bench"):
        own = subprocess.run([sys.executable, "-m", f"tilewright.{name}", "--help"], capture_output=True, text=True).stdout
        other = subprocess.run([sys.executable, "-m", "tilewright._command", name, "--help"], capture_output=True, text=True).stdout
        options = [set(re.findall(r"--[a-z-]+", text)) for text in (own, other)]
        assert options[0] - {"--help"} == options[1], name


def test_settings_are_listed():
    """Every variable that the compiler reads is a row of settings.def, except those that describe where a program runs; so is each of ours in Python."""
    root = pathlib.Path(__file__).resolve().parents[2]
    rows = set(re.findall(r"^SETTING\((\w+),", (root / "src/support/settings.def").read_text(), re.M))
    read = set()
    for folder in ("src", "cli", "python"):
        for file in (root / folder).rglob("*"):
            if file.suffix in (".cpp", ".h", ".py"):
                read |= set(re.findall(r"""["'](TILEWRIGHT_[A-Z_]+)["']""", file.read_text()))
                read |= set(re.findall(r'(?:getenv|variable|isSwitchedOn)\("(\w+)"[,)]', file.read_text()))
    read -= {"HOME", "PATH", "PYTHONPATH", "TERM", "TMPDIR", "VIRTUAL_ENV", "WORLD_SIZE"}
    assert read - rows <= {"TILEWRIGHT_INTERNAL_", "TILEWRIGHT_KERNELS_", "TILEWRIGHT_TEST_HOST", "TILEWRIGHT_VERSION"} and {row for row in rows if row.startswith("TILEWRIGHT")} <= read
