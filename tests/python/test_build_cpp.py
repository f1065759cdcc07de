"""Kernels in C++ ahead of time: files and shared libraries as inputs of `tilewright build`, and measured configurations."""

import ctypes
import os
import re
import subprocess

import numpy as np
import pytest
from test_build import BUILD, LEVELS, LIBRARIES, ROOT, aligned, command, compiled_alone, launch, pointer, runtime


NATIVE = """
#include <tilewright/language.h>
using namespace tilewright;

template <int BLOCK, bool NEGATE> void scale(ptr<const float> x, ptr<float> out, f32 factor, i32 n) {
  auto at = program_id(0) * BLOCK + arange<BLOCK>();
  auto mask = at < n;
  auto value = load(x + at, mask) * factor;
  if constexpr (NEGATE) value = -value;
  store(out + at, value, mask);
}
inline auto scale_kernel = jit<scale<128, false>>("scale(x, out, factor, n)");
inline auto negated = jit<scale<64, true>>("negated(x, class, new, int)");

struct Config { int BLOCK; };
constexpr Config configs[] = {{64}, {1024}};
template <Config C> void fill(ptr<int32_t> out, i32 n) {
  auto at = program_id(0) * C.BLOCK + arange<C.BLOCK>();
  store(out + at, C.BLOCK, at < n);
}
inline auto fill_kernel = tuned<configs>("fill(out, n)", []<Config C> { return fill<C>; }, key("n"));
TILEWRIGHT_EXPORT(scale_kernel, negated, fill_kernel);
"""

EXPLAINED = "kernels.cpp:8  auto value = load(x + at, mask) * factor;\n      128 f32 from x: 8 at a time"


def native(folder, source=NATIVE, compiler="clang++-22", *flags):
    """The shared library of a file with kernels in C++."""
    (folder / "kernels.cpp").write_text(source)
    subprocess.run([compiler, "-std=c++20", "-shared", "-fPIC", f"-I{ROOT / 'include'}", folder / "kernels.cpp", *flags, "-o", folder / "kernels.so"], check=True)
    return folder / "kernels.so"


@pytest.mark.parametrize("compiler", ["clang++-22", "g++"])
def test_kernels_in_cpp(tmp_path, compiler):
    library = native(tmp_path, NATIVE, compiler)
    words = ["build", library, "--kernel", "scale", "--signature", "x=*fp32:16, out=*fp32:16", "--signature", "x=*kfp32", "--target", LEVELS, "--grid", "cdiv(n, 128)"]
    command(*words, "-o", tmp_path / "libscale.so", "--header", tmp_path / "scale.h", "--depfile", tmp_path / "scale.d")
    assert str(library) in (tmp_path / "scale.d").read_text()
    assert "int scale(const TwLaunchOptions *options, const float *x, float *out, float factor, int32_t n, TwError **error);" in (tmp_path / "scale.h").read_text()
    runtime()
    scale = ctypes.CDLL(str(tmp_path / "libscale.so")).scale
    x, out = aligned(1000), aligned(1000)
    x[:] = np.arange(1000)
    for size, shift in ((1000, 0), (999, 1)):
        assert launch(scale, pointer(x[shift:]), pointer(out), ctypes.c_float(3), size) is None
        np.testing.assert_array_equal(out[:size], x[shift:] * 3)
    # Parameters with names of C++, and no signature: C++ gives the types.
    command("build", library, "--kernel", "negated", "--target", "cpu:sse2", "-o", tmp_path / "libnegated.a", "--header", tmp_path / "negated.h")
    compiled_alone(tmp_path / "negated.h")
    assert "(const TwLaunchOptions *options, int64_t grid_x, int64_t grid_y, int64_t grid_z, const float *x, float *class_, float new_, int32_t int_" in (tmp_path / "negated.h").read_text()
    # The same bytes as the Python twin's code, but for names of files: the IR is the same.
    assert "tt.store" in command("compile", library, "--kernel", "scale", "--emit", "tt").stdout
    assert EXPLAINED in command("explain", library, "--kernel", "scale", "--target", "cpu:avx2").stdout


@pytest.mark.parametrize("compiler", ["clang++-22", "g++ -Wall", None])
def test_a_file_in_cpp(tmp_path, compiler):
    """The command calls the user's compiler, and the result is that of a shared library made by hand."""
    folder = tmp_path / "of user"
    folder.mkdir()
    (folder / "factor.h").write_text("constexpr float more = 1;\n")
    (folder / "kernels.cpp").write_text('#include "factor.h"\n' + NATIVE.replace("* factor;", "* (factor * more);"))
    env = {name: value for name, value in os.environ.items() if name not in ("CXX", "CXXFLAGS")} | ({"CXX": compiler} if compiler else {})
    words = [f"{folder / 'kernels.cpp'}:scale", "--signature", "x=*fp32:16, out=*fp32:16", "--signature", "x=*kfp32", "--target", LEVELS, "--grid", "cdiv(n, 128)"]
    done = command("build", *words, "-o", tmp_path / "libscale.so", "--header", tmp_path / "scale.h", "--depfile", tmp_path / "scale.d", env=env)
    assert done.stderr == ""
    rule = (tmp_path / "scale.d").read_text().replace("\\ ", " ")
    assert all(str(file) in rule for file in (folder / "kernels.cpp", folder / "factor.h")) and "language.h" in rule and "/usr/include/c++" not in rule
    subprocess.run([(compiler or "c++").split()[0], "-std=c++20", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'include'}", folder / "kernels.cpp", "-o", folder / "kernels.so"], check=True)
    command("build", folder / "kernels.so", "--kernel", *words[0].split(":")[1:], *words[1:], "-o", folder / "libscale.so")
    assert (folder / "libscale.so").read_bytes() == (tmp_path / "libscale.so").read_bytes()
    assert "tt.store" in command("compile", words[0], "--emit", "tt", env=env).stdout
    explained = command("explain", words[0], "--target", "cpu:avx2", env=env).stdout
    assert "kernels.cpp:9  auto value = load(x + at, mask) * (factor * more);\n      128 f32 from x: 8 at a time" in explained


def test_mistakes_in_a_file_in_cpp(tmp_path):
    def error(source=NATIVE, **env):
        (tmp_path / "kernels.cpp").write_text(source)
        done = command("build", tmp_path / "kernels.cpp", "--kernel", "scale", "--target", "cpu:sse2", "-o", tmp_path / "lib.a", check=False, env={**os.environ, **env})
        assert done.returncode == 1 and "bug" not in done.stderr and not (tmp_path / "lib.a").exists(), done.stderr
        return done.stderr

    text = error(NATIVE.replace("load(x + at, mask)", "load(x + arange<8>(), mask)"), CXX="g++")
    assert "kernels.cpp:8:" in text and "The shape of the mask does not fit" in text and "the C++ compiler cannot compile" in text
    text = error(NATIVE.replace("program_id(0)", "program_id(0) * 5000000000"), CXX="g++")
    assert "kernels.cpp:6:" in text and "The number is out of range for the integer type" in text
    assert "there is no C++ compiler 'none'" in error(CXX="none -Wall")
    assert "there is no C++ compiler on PATH" in error(CXX="", PATH=str(tmp_path))
    assert "-fno-such-option" in error(CXXFLAGS="-fno-such-option")
    assert "cannot make the temporary folder" in error(TMPDIR=str(tmp_path / "none"))
    assert "exports no kernels" in error("int x;")
    done = command("build", tmp_path / "missing.cpp", "--target", "cpu:sse2", "-o", tmp_path / "lib.a", check=False)
    assert done.returncode == 1 and "cannot read" in done.stderr
    (tmp_path / "kernels.cpp").write_text(NATIVE)
    assert "takes Python files" in command("run", tmp_path / "kernels.cpp", "--grid", "1", check=False).stderr


def test_tuned_kernels_in_cpp(tmp_path):
    library = native(tmp_path)
    done = command("build", library, "--kernel", "fill", "--tuned", "--target", "cpu:sse2", "-o", tmp_path / "lib.a", check=False,
                   env={**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "none")})
    assert done.returncode == 1 and "finds no measurements of kernel 'fill'" in done.stderr
    command("build", library, "--kernel", "fill", "--signature", "CONFIG=1", "--target", "cpu:sse2", "-o", tmp_path / "libfill.so", "--grid", "cdiv(n, 1024)")
    for other in ("2", "-1", "100000", "'x'", "None", "0.5"):
        done = command("build", library, "--kernel", "fill", "--signature", f"CONFIG={other}", "--target", "cpu:sse2", "-o", tmp_path / "lib.a",
                       "--grid", "cdiv(n, 1024)", check=False)
        assert done.returncode == 1 and "CONFIG is the index of a configuration, from 0 to 1" in done.stderr
    runtime()
    out = np.zeros(2000, np.int32)
    assert launch(ctypes.CDLL(str(tmp_path / "libfill.so")).fill, pointer(out), 2000) is None
    np.testing.assert_array_equal(out, 1024)


MEASURED = """
#include <tilewright/language.h>
#include <cstdio>
#include <vector>
using namespace tilewright;

struct Config { int BLOCK; int num_warps = 4; };
constexpr Config configs[] = {{64}, {1024, 8}, {4096}};
template <Config C, bool EVEN> void ramp(ptr<int32_t> out, i32 n) {
  auto at = program_id(0) * C.BLOCK + arange<C.BLOCK>();
  if constexpr (EVEN) store(out + at, at * 3);
  else store(out + at, at * 3, at < n);
}
inline auto ramp_kernel = tuned<configs>("ramp(out, n)", []<Config C, bool EVEN> { return ramp<C, EVEN>; }, tuning{.key = key("n")},
                                         [](const Config &c, Meta arguments) { return arguments["n"] % c.BLOCK == 0; });
TILEWRIGHT_EXPORT(ramp_kernel);

int main() {
  for (int n : {500, 300000}) {
    std::vector<int32_t> out(n);
    auto done = ramp_kernel.launch([&](const Config &c) { return grid(cdiv(n, c.BLOCK)); }, cpu, out, n);
    if (!done || out[n - 1] != 3 * (n - 1)) return std::puts(done ? "wrong" : done.error().c_str()), 1;
  }
}
"""


def test_measurements_of_a_kernel_in_cpp(tmp_path):
    """A program tunes the kernel, and the artifact has the configurations that won there."""
    (tmp_path / "ramp.cpp").write_text(MEASURED)
    subprocess.run(["clang++-22", "-std=c++20", f"-I{ROOT / 'include'}", tmp_path / "ramp.cpp", f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-ltilewright", "-o", tmp_path / "ramp"],
                   check=True)
    env = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), "CXX": "clang++-22"}
    subprocess.run([tmp_path / "ramp"], check=True, env=env)
    winners = set(re.findall(r"CONFIG=\d", command("tune", "--list", env=env).stdout))
    assert winners
    words = ["build", tmp_path / "ramp.cpp", "--tuned", "--signature", "RULE=0", "--target", "cpu:native", "--grid", "cdiv(n, [64, 1024, 4096][CONFIG])"]
    command(*words, "-o", tmp_path / "libramp.so", "--header", tmp_path / "ramp.h", env=env)
    assert set(re.findall(r"CONFIG=\d", (tmp_path / "ramp.h").read_text())) == winners
    runtime()
    ramp = ctypes.CDLL(str(tmp_path / "libramp.so")).ramp
    for n in (1, 500, 5000, 300000):
        out = np.zeros(n + 1, np.int32)
        assert launch(ramp, pointer(out), n) is None
        assert (out[:n] == 3 * np.arange(n)).all() and out[n] == 0
    # The launcher cannot evaluate a rule in C++. One value for all configurations is the user's decision.
    assert "'RULE' is 0 in all launches, because the signature gives it" in command(*words, "-o", tmp_path / "libramp.so", env=env).stderr
    done = command(*words[:3], *words[5:], "-o", tmp_path / "lib.a", check=False, env=env)
    assert done.returncode == 1 and "'RULE' of kernel 'ramp' is not given, and its heuristic depends on arguments of the launch" in done.stderr
    done = command(*words, "--signature", "RULE=1", "-o", tmp_path / "lib.a", check=False, env=env)
    assert done.returncode == 1 and "the signatures give 'RULE' several values" in done.stderr
    # Measurements are of one kind of CPU.
    done = command(*[word.replace("cpu:native", "cuda:sm_90a") if isinstance(word, str) else word for word in words], "-o", tmp_path / "lib.a", check=False, env=env)
    assert done.returncode == 1 and "finds no measurements of kernel 'ramp'" in done.stderr


def test_bad_libraries_of_kernels(tmp_path):
    def error(library, *words):
        done = command("build", library, *words, "--target", "cpu:sse2", "-o", tmp_path / "lib.a", check=False)
        assert done.returncode == 1 and "bug" not in done.stderr, done.stderr
        return done.stderr

    library = native(tmp_path)
    assert "has several kernels: scale, negated, fill" in error(library)
    assert "there is no kernel 'other' in" in error(library, "--kernel", "other")
    assert "the signature gives 'x' the type pointer<fp64>, and C++ const_pointer<fp32>" in error(library, "--kernel", "scale", "--signature", "x=*fp64")
    assert "the signature gives 'n' the type int64, and C++ int32" in error(library, "--kernel", "scale", "--signature", "n=i64")
    (tmp_path / "text.so").write_text("text")
    assert "the shared library cannot be loaded" in error(tmp_path / "text.so")
    assert "the shared library cannot be loaded" in error(tmp_path / "missing.so")
    # The loader would crash on a truncated library, and would wait for a pipe.
    good = bytearray(library.read_bytes())
    for size in (3, 40, 100, len(good) // 20, len(good) // 4, len(good) // 2):
        (tmp_path / "part.so").write_bytes(good[:size])
        assert "the shared library cannot be loaded: '" in error(tmp_path / "part.so")
    assert "it is truncated" in error(tmp_path / "part.so")
    (tmp_path / "arm.so").write_bytes(good[:18] + b"\xb7" + good[19:])
    assert "it is for another machine: its ELF machine is 183, and this is x86-64" in error(tmp_path / "arm.so")
    os.mkfifo(tmp_path / "pipe.so")
    assert "it is not a regular file" in error(tmp_path / "pipe.so")
    assert "exports no kernels" in error(native(tmp_path, "int x;"))
    wrong = NATIVE.replace("scale(x, out, factor, n)", "scale(x, out)")
    assert "names 2 parameters, and the kernel has 4" in error(native(tmp_path, wrong), "--kernel", "scale")
    throwing = NATIVE.replace("auto mask = at < n;", "auto mask = at < n; throw std::logic_error(\"not today\");")
    assert "a kernel's function throws an exception: not today" in error(native(tmp_path, throwing), "--kernel", "scale")
    assert "takes Python files" in command("run", library, "--grid", "1", check=False).stderr


def test_a_cmake_project_with_kernels_in_cpp(tmp_path):
    prefix, source, work = tmp_path / "there", tmp_path / "project", tmp_path / "work"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    source.mkdir()
    (source / "kernels.cpp").write_text(NATIVE)
    (source / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.25)
project(cpp_kernels CXX)
find_package(tilewright REQUIRED)
tilewright_add_kernels(kernels FILES kernels.cpp:scale kernels.cpp:negated SPECIALIZATIONS "x=*kfp32:16" "" TARGETS cpu:sse2 cpu:avx2)
add_executable(program main.cpp)
target_link_libraries(program PRIVATE kernels)
""")
    (source / "main.cpp").write_text("""
#include "kernels_negated.h"
#include "kernels_scale.h"
#include <cstdio>
int main() {
  float x[128], out[128];
  for (int i = 0; i < 128; ++i) x[i] = float(i);
  auto first = tilewright::kernels::scale(nullptr, 1, 1, 1, x, out, 2, 128);
  float scaled = out[100];
  auto second = tilewright::kernels::negated(nullptr, 2, 1, 1, x, out, 3, 128);
  std::printf("%d %d %g %g", bool(first), bool(second), double(scaled), double(out[100]));
}
""")
    configured = subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", work, f"-DCMAKE_PREFIX_PATH={prefix}"], capture_output=True, text=True)
    assert configured.returncode == 0, configured.stderr

    def ninja():
        done = subprocess.run(["ninja", "-C", work, "-v"], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout
        return done.stdout

    assert ninja().count(" build ") >= 2
    assert subprocess.run([work / "program"], capture_output=True, text=True, check=True).stdout == "1 1 200 -300"
    assert "libtilewright.so" not in subprocess.run(["ldd", work / "program"], capture_output=True, text=True, check=True).stdout
    assert "no work to do" in ninja()
    (source / "kernels.cpp").write_text(NATIVE.replace("* factor", "* factor * 2"))
    assert " build " in ninja()
    assert subprocess.run([work / "program"], capture_output=True, text=True, check=True).stdout == "1 1 400 -600"
    assert "no work to do" in ninja()
