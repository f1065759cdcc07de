"""`tilewright build`: the library and its header in C, C++ and Rust programs, dispatch, errors as values, and the runtime library."""

import ctypes
import json
import keyword
import mmap
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tilewright

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(tilewright.__file__).absolute().parents[2]
LIBRARIES, EXAMPLE = BUILD / "lib", ROOT / "examples" / "ahead_of_time"
RUNTIME = LIBRARIES / "libtilewright_rt.so"
COMMAND = str(BUILD / "bin" / "tilewright")
LEVELS = "cpu:sse2,cpu:avx2,cpu:avx512"

SCALE = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, out, factor, n, BLOCK: tl.constexpr, MODE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n) * factor
    if MODE == 'negative':
        value = -value
    tl.store(out + at, value, mask=at < n)
"""
SIGNATURES = ["*fp32:16, *fp32:16, fp32, i32:16, BLOCK=128, MODE='plain'", "*fp32, *fp32, fp32, i32, BLOCK=128, MODE='plain'",
              "*fp32, *fp32, fp32, i32, BLOCK=128, MODE='negative'"]


def command(*words, check=True, **options):
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True, text=True, **options)
    assert not check or done.returncode == 0, done.stderr
    return done


def build(folder, *words, source=SCALE, signatures=SIGNATURES, target=LEVELS, out="libscale.so", **options):
    (folder / "scale.py").write_text(source)
    flags = [word for signature in signatures for word in ("--signature", signature)]
    return command("build", folder / "scale.py", *flags, "--target", target, "-o", folder / out, *words, **options)


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("useDevice", ctypes.c_int32), ("device", ctypes.c_int32), ("stream", ctypes.c_void_p),
                ("threads", ctypes.c_int64), ("disjoint", ctypes.c_int32), ("checkPointers", ctypes.c_int32), ("bytes", ctypes.c_void_p)]

    def __init__(self, **fields):
        super().__init__(size=ctypes.sizeof(Options), **fields)


def runtime():
    library = ctypes.CDLL(str(RUNTIME), ctypes.RTLD_GLOBAL)
    library.twErrorText.restype = ctypes.c_char_p
    for name in ("twErrorText", "twErrorCode", "twErrorFree"):
        getattr(library, name).argtypes = [ctypes.c_void_p]
    library.twLibraryOpen.restype = library.twLibraryFind.restype = library.twArtifactDescribe.restype = ctypes.c_void_p
    library.twLibraryFind.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    library.twLibraryClose.argtypes = [ctypes.c_void_p]
    return library


def taken(error):
    """(code, text) of an error, which is freed."""
    library = runtime()
    result = library.twErrorCode(error), library.twErrorText(error).decode()
    library.twErrorFree(error)
    return result


def opened(path):
    """(library or None, (code, text) or None)"""
    error = ctypes.c_void_p()
    library = runtime().twLibraryOpen(str(path).encode(), ctypes.byref(error))
    return library, None if library else taken(error)


def launch(function, *arguments, options=None):
    """None, or (code, text) of the error."""
    error = ctypes.c_void_p()
    return None if function(options and ctypes.byref(options), *arguments, ctypes.byref(error)) else taken(error)


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def aligned(count):
    memory = np.zeros(count + 16, np.float32)
    skip = -memory.ctypes.data // 4 % 16
    return memory[skip:skip + count]


def test_the_runtime_needs_no_llvm_and_is_small():
    for file in (RUNTIME, LIBRARIES / "libtilewright_rt.a"):
        assert file.stat().st_size < 2_000_000
        names = subprocess.run(["nm", "-u", *(["-D"] if file == RUNTIME else []), str(file)], capture_output=True, text=True, check=True).stdout
        undefined = {line.split()[-1].split("@")[0] for line in names.splitlines() if " U " in line}
        # Templates of LLVM's headers occur in the names of our functions, but nothing needs its library or that of CUDA.
        assert {"dlopen", "pthread_create"} <= undefined
        assert [name for name in undefined if name.startswith(("_ZN4llvm", "_ZNK4llvm", "_ZN4mlir", "_ZNK4mlir", "LLVM", "mlir", "cu"))] == []
    needed = subprocess.run(["readelf", "-d", str(RUNTIME)], capture_output=True, text=True, check=True).stdout
    assert not any(word in needed.lower() for word in ("llvm", "mlir", "libcuda"))
    exported = subprocess.run(["nm", "-D", "--defined-only", str(RUNTIME)], capture_output=True, text=True, check=True).stdout.split("\n")
    names = [line.split()[-1].split("@")[0] for line in exported if " T " in line]
    assert "twArtifactLaunch" in names and all(name.startswith("tw") for name in names)


def build_example(folder):
    """Builds the example's library and header in the folder. Returns what a program links."""
    signature = "*fp32{0}, *fp32{0}, *fp32{0}, *fp32{0}, i32{0}, i32{0}, i32{0}, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32"
    command("build", EXAMPLE / "matmul_bias.py", "--signature", signature.format(":16"), "--signature", signature.format(""), "--target", LEVELS,
            "--grid", "cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)", "-o", folder / "libmatmul_bias.a", "--header", folder / "matmul_bias.h")
    return [folder / "libmatmul_bias.a", LIBRARIES / "libtilewright_rt.a", "-lstdc++", "-lm"]


def test_an_example_in_c(tmp_path):
    libraries = build_example(tmp_path)
    for compiler in ("clang-22", "gcc"):
        subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-O1", f"-I{ROOT / 'include'}", f"-I{tmp_path}", EXAMPLE / "main.c", *libraries,
                        "-o", tmp_path / compiler], check=True)
    for level in ("sse2", "avx2", "avx512"):
        done = subprocess.run([tmp_path / "gcc"], env={**os.environ, "TILEWRIGHT_CPU": level}, capture_output=True, text=True)
        assert done.returncode == 0 and done.stdout.count("right") == 2, done.stdout + done.stderr
    assert subprocess.run([tmp_path / "clang-22"]).returncode == 0


@pytest.mark.skipif(not shutil.which("rustc"), reason="there is no rustc")
def test_an_example_in_rust(tmp_path):
    flags = [word for library in build_example(tmp_path) for word in ("-C", f"link-arg={library}")]
    subprocess.run(["rustc", EXAMPLE / "main.rs", *flags, "-o", tmp_path / "rust"], check=True)
    assert "right" in subprocess.run([tmp_path / "rust"], capture_output=True, text=True, check=True).stdout


def test_launchers_in_cpp_have_overloads(tmp_path):
    signatures = [f"*{element}, *{element}, {scalar}, i32, BLOCK=64, MODE='plain'" for element, scalar in (("fp32", "fp32"), ("fp64", "fp64"))]
    build(tmp_path, "--header", tmp_path / "scale.h", signatures=signatures, out="libscale.a")
    (tmp_path / "main.cpp").write_text("""
#include "scale.h"
#include <cstdio>
int main() {
  float x[100], out[100];
  double y[100], more[100];
  for (int i = 0; i < 100; ++i) x[i] = y[i] = i;
  namespace kernels = tilewright::kernels;
  auto first = kernels::scale(nullptr, 2, 1, 1, x, out, 1.5f, 100), second = kernels::scale(nullptr, 2, 1, 1, y, more, 2.5, 100);
  auto third = kernels::scale(nullptr, -1, 1, 1, x, out, 1.5f, 100);
  std::printf("%d %g %d %g %d %s", bool(first), double(out[99]), bool(second), more[99], int(third.code()), third.text().c_str());
}
""")
    for compiler in ("clang++-22", "g++"):
        subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", tmp_path / "main.cpp", tmp_path / "libscale.a",
                        LIBRARIES / "libtilewright_rt.a", "-o", tmp_path / "main"], check=True)
        done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
        assert done.stdout == "1 148.5 1 247.5 1 kernel 'scale_fp32': extent 0 of the grid is -1\n"


KEYWORDS = """
alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl concept const consteval constexpr constinit
const_cast continue co_await co_return co_yield decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if
inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires return short
signed sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned using virtual
void volatile wchar_t while xor xor_eq restrict typeof typeof_unqual
_Alignas _Alignof _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local _Float16 _BitInt __attribute__ __asm__ __restrict
import module final override
""".split()
LAUNCHER_NAMES = """
options error grid_x grid_y grid_z launch launch_artifact tilewright kernels runtime std Status TwError TwLaunchOptions TwArtifact TwHalf TwBfloat16 TwFloat8
twErrorFree twArtifactLaunch twErrorText code text options_ error_ int_ int32_t int64_t uint8_t int8_t size_t main errno NULL a_b x M BLOCK EPS
""".split()
C_COMPILERS = [("gcc", "c"), ("clang-22", "c"), ("g++", "c++"), ("clang++-22", "c++")]


def compiled_alone(header, extra=""):
    """Compiles a header with each compiler, in C and in C++."""
    for compiler, language in C_COMPILERS:
        done = subprocess.run([compiler, f"-std=gnu++20" if language == "c++" else "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT / 'include'}",
                               "-x", language, "-"], input=f"{extra}\n#include \"{header}\"\n", capture_output=True, text=True)
        assert done.returncode == 0, (compiler, done.stderr[:3000])


def macros_of_the_header():
    """The macros that a parameter's name could meet: those of tilewright/runtime.h, which the header includes, and of its standard headers."""
    names = set()
    for compiler, language in C_COMPILERS:
        listed = subprocess.run([compiler, "-dM", "-E", f"-I{ROOT / 'include'}", "-x", language, "-"], input="#include <tilewright/runtime.h>\n",
                                capture_output=True, text=True, check=True).stdout
        names |= {line.split()[1].split("(")[0] for line in listed.splitlines()}
    return names


def test_parameters_with_names_of_c(tmp_path):
    """Whatever the parameters are called, the header compiles in C and C++: keywords, macros, and the names that the launcher itself has."""
    names = [name for name in dict.fromkeys(KEYWORDS + LAUNCHER_NAMES + sorted(macros_of_the_header())) if not keyword.iskeyword(name)]
    assert len(names) > 1000
    for number in range(0, len(names), 400):
        part = names[number:number + 400]
        source = f"import triton\nimport triton.language as tl\n@triton.jit\ndef launch(out_, {', '.join(part)}):\n    tl.store(out_, 1.0)\n"
        build(tmp_path, "--header", tmp_path / "names.h", source=source, signatures=[", ".join(["*fp32"] + ["i32"] * len(part))], target="cpu:sse2", out="liblaunch.a")
        compiled_alone(tmp_path / "names.h")
        text = (tmp_path / "names.h").read_text()
        declared = re.search(r"int launch\((.*?), TwError", text).group(1)
        for name in ("x", "code", "a_b", "M"):
            assert name not in part or f" {name}," in declared + ","


def test_names_of_launchers(tmp_path):
    refused = [name for name in KEYWORDS if name not in ("import", "module", "final", "override")]
    refused += ["printf", "malloc", "exp", "index", "memcpy", "error", "TwError", "twErrorFree", "tilewright", "std", "main", "errno", "int32_t", "uint_fast8_t", "be16toh", "NULL", "linux"]
    (tmp_path / "scale.py").write_text(SCALE)
    words = ["--signature", SIGNATURES[1], "--target", "cpu:sse2"]
    for name in refused:
        done = command("build", tmp_path / "scale.py", *words, "-o", tmp_path / "lib.a", "--name", name, check=False)
        assert done.returncode == 1 and f"'{name}' is " in done.stderr and "--name" in done.stderr, (name, done.stderr)
        done = command("compile", tmp_path / "scale.py", *words, "--emit", "header", "--name", name, check=False)
        assert done.returncode == 1 and f"'{name}' is " in done.stderr, (name, done.stderr)
    for name in ("import", "module", "final", "override", "_scale", "scale", "options", "runtime", "kernels", "Status", "GEMM", "x"):
        build(tmp_path, "--header", tmp_path / "scale.h", "--name", name, signatures=SIGNATURES[1:], target="cpu:sse2", out="lib.a")
        compiled_alone(tmp_path / "scale.h")
    build(tmp_path, "--header", tmp_path / "scale.h", "--name", "GEMM", signatures=SIGNATURES[1:2], target="cpu:sse2", out="lib.a")
    done = subprocess.run(["gcc", "-fsyntax-only", f"-I{ROOT / 'include'}", "-DGEMM=1", "-x", "c", tmp_path / "scale.h"], capture_output=True, text=True)
    assert "a macro has the name of the kernel GEMM" in done.stderr


def test_texts_that_end_comments(tmp_path):
    texts = ["*/", "/*", "**//", "/*/", "*\\\n/", "??/\n", "\r*\r/", "plain\x00*/", "é */"]
    signatures = [f"*fp32, *fp32, fp32, i32, BLOCK=128, MODE={text!r}" for text in texts]
    build(tmp_path, "--header", tmp_path / "scale.h", signatures=[text for text in signatures if "\\x00" not in text], target="cpu:sse2", out="lib.a")
    compiled_alone(tmp_path / "scale.h")
    build(tmp_path, "--header", tmp_path / "scale.h", signatures=signatures[:1], target="cpu:sse2", out="lib.a")
    compiled_alone(tmp_path / "scale.h")
    for signature in signatures:
        done = command("compile", tmp_path / "scale.py", "--signature", signature, "--target", "cpu:sse2", "--emit", "header")
        (tmp_path / "object.h").write_text(done.stdout)
        compiled_alone(tmp_path / "object.h")


def test_a_shared_library_chooses_a_specialization(tmp_path):
    build(tmp_path, "--grid", "lambda meta: (triton.cdiv(meta['n'], meta['BLOCK']),)")
    runtime()
    scale = ctypes.CDLL(str(tmp_path / "libscale.so")).scale
    x, out = aligned(1000), aligned(1000)
    x[:] = np.arange(1000)
    factor = ctypes.c_float(2.0)
    assert launch(scale, pointer(x), pointer(out), factor, 1000, b"plain") is None
    np.testing.assert_array_equal(out, x * 2)
    assert launch(scale, pointer(x), pointer(out), factor, 992, b"plain", options=Options(threads=1, disjoint=1)) is None
    assert launch(scale, pointer(x[1:]), pointer(out), factor, 10, b"negative") is None
    np.testing.assert_array_equal(out[:10], x[1:11] * -2)
    # Overlapping tensors are right without a promise, because the code that relies on it is not chosen.
    memory = aligned(600)
    memory[:] = np.arange(600)
    expected = memory[:500] * 2
    assert launch(scale, pointer(memory), pointer(memory), factor, 500, b"plain") is None
    np.testing.assert_array_equal(memory[:500], expected)


def test_wrong_launches_are_errors(tmp_path, monkeypatch):
    build(tmp_path, signatures=SIGNATURES[1:], target="cpu:sse2,cuda:sm_80")
    runtime()
    library = ctypes.CDLL(str(tmp_path / "libscale.so"), ctypes.RTLD_GLOBAL)
    x, factor = aligned(64), ctypes.c_float(1)
    grid = [ctypes.c_int64(extent) for extent in (1, 1, 1)]
    good = [*grid, pointer(x), pointer(x), factor, 64]
    code, text = launch(library.scale, *good, b"other")
    assert code == 1 and "no specialization of kernel 'scale'" in text and "MODE = 'other'" in text and "MODE='negative'" in text
    assert launch(library.scale, ctypes.c_int64(-1), *good[1:], b"plain") == (1, "kernel 'scale': extent 0 of the grid is -1\n")
    code, text = launch(library.scale, *good, b"plain", options=Options(threads=-1))
    assert (code, text) == (1, "the number of threads is -1\n")
    for size in (-1, -2**63, 2**63 - 1):
        sizes = (ctypes.c_int64 * 5)(size, 0, 0, 0, 0)
        first = pointer(x) if size < 0 else ctypes.c_void_p(2**64 - 64)
        code, text = launch(library.scale, *grid, first, *good[4:], b"plain", options=Options(bytes=ctypes.addressof(sizes)))
        assert code == 1 and text.startswith(f"kernel 'scale': the size of 'x' is {size} bytes"), text
    wrong = Options()
    wrong.size = 3
    assert launch(library.scale, *good, b"plain", options=wrong)[1] == "the size of a TwLaunchOptions is 3: set it to sizeof(TwLaunchOptions)\n"
    monkeypatch.setenv("TILEWRIGHT_LIBCUDA", str(tmp_path / "nothing.so"))
    code, text = launch(library.scale, *good, b"plain", options=Options(useDevice=1))
    assert code == 11 and "nothing.so" in text
    assert launch(library.scale, *good, b"plain") is None


def test_bad_pointers_are_reported(tmp_path):
    build(tmp_path, "--grid", "cdiv(n, BLOCK)", signatures=SIGNATURES[1:2], target="cpu:sse2")
    runtime()
    scale = ctypes.CDLL(str(tmp_path / "libscale.so")).scale
    x, out, factor = aligned(1000), aligned(1000), ctypes.c_float(2)
    x[:] = 1

    def error(first, second, count=1000, sizes=None):
        memory = (ctypes.c_int64 * 4)(*sizes) if sizes else None
        return launch(scale, first, second, factor, count, options=Options(checkPointers=1, bytes=ctypes.addressof(memory) if memory else None))

    assert error(pointer(x), pointer(out)) is None and (out == 2).all()
    assert error(ctypes.c_void_p(), pointer(out)) == (5, "kernel 'scale' cannot use 'x': it is null\n")
    assert error(ctypes.c_void_p(), ctypes.c_void_p(), 0) is None
    code, text = error(pointer(x), ctypes.c_void_p(4096))
    assert code == 5 and text == "kernel 'scale' cannot use 'out': no memory is mapped at 0x1000\n"
    with open("/dev/zero", "rb") as zeros:
        page = mmap.mmap(zeros.fileno(), 8192, mmap.MAP_PRIVATE, mmap.PROT_READ)
    address = np.frombuffer(page, np.uint8).ctypes.data
    assert error(ctypes.c_void_p(address), pointer(out)) is None
    code, text = error(pointer(x), ctypes.c_void_p(address))
    assert code == 5 and text == f"kernel 'scale' cannot use 'out': the memory at {address:#x} cannot be written, and the kernel writes to it\n"
    assert error(pointer(x), pointer(out), sizes=(4000, 4000, 0, 0)) is None
    code, text = error(pointer(x), pointer(out), sizes=(1 << 46, 4000, 0, 0))
    assert code == 5 and text.startswith("kernel 'scale' cannot use 'x': no memory is mapped at 0x"), text


PLUGIN = "#include \"scale.h\"\n{}\n"
PLUGIN_IN_C = "int plug(const float *x, float *out) { return scale(NULL, x, out, 2, 100, NULL); }"
PLUGIN_IN_CPP = 'extern "C" int plug(const float *x, float *out) { return bool(tilewright::kernels::scale(nullptr, x, out, 2, 100)); }'


@pytest.mark.parametrize("order", ["loaded", "linked"])
def test_libraries_with_kernels_of_one_name(tmp_path, order):
    """Each has an archive with a kernel called scale, and the static runtime library. All symbols are visible to the whole process."""
    plugins = []
    for number, (operation, compiler, text) in enumerate([("*", "gcc", PLUGIN_IN_C), ("+", "g++", PLUGIN_IN_CPP), ("-", "clang++-22", PLUGIN_IN_CPP)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        build(folder, "--grid", "cdiv(n, BLOCK)", "--header", folder / "scale.h", source=SCALE.replace("* factor", f"{operation} factor"),
              signatures=SIGNATURES[1:2], target="cpu:sse2", out="libscale.a")
        source = folder / ("plugin.c" if compiler == "gcc" else "plugin.cpp")
        source.write_text(PLUGIN.format(text))
        language = [] if compiler == "gcc" else ["-std=c++20"]
        plugins.append(folder / f"libplugin{number}.so")
        subprocess.run([compiler, *language, "-shared", "-fPIC", f"-I{ROOT / 'include'}", source, folder / "libscale.a", LIBRARIES / "libtilewright_rt.a",
                        "-lstdc++", "-lm", "-o", plugins[-1]], check=True)
        names = subprocess.run(["nm", "-D", "--defined-only", plugins[-1]], capture_output=True, text=True, check=True).stdout
        assert " scale\n" in names and not re.search(r" (tw[A-Z]|scale_0)", names), names
    (tmp_path / "main.c").write_text('''
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  float x[100], out[100];
  for (int i = 0; i < 100; ++i) x[i] = 5;
  for (int i = 1; i < argc; ++i) {
    void *library = dlopen(argv[i], RTLD_NOW | RTLD_GLOBAL);
    int (*plug)(const float *, float *) = (int (*)(const float *, float *))dlsym(library, "plug");
    int done = plug(x, out);
    printf("%d %g ", done, out[99]);
  }
  return 0;
}
''')
    linked = ["-Wl,--no-as-needed", *plugins] if order == "linked" else []
    subprocess.run(["gcc", tmp_path / "main.c", *linked, "-ldl", "-o", tmp_path / "main"], check=True)
    done = subprocess.run([tmp_path / "main", *plugins], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1 10 1 7 1 3 "), done.stdout + done.stderr


def test_an_artifact_without_code_for_this_cpu(tmp_path):
    build(tmp_path, target="cpu:avx2,cuda:sm_80", out="libscale.so")
    script = f"""
import ctypes, sys
sys.path.insert(0, {str(ROOT / 'tests' / 'python')!r})
import test_build
test_build.runtime()
scale = ctypes.CDLL({str(tmp_path / 'libscale.so')!r}).scale
x = test_build.aligned(16)
print(test_build.launch(scale, *[ctypes.c_int64(1)] * 3, test_build.pointer(x), test_build.pointer(x), ctypes.c_float(1), 16, b"plain"))
"""
    done = subprocess.run([os.sys.executable, "-c", script], env={**os.environ, "TILEWRIGHT_CPU": "sse2"}, capture_output=True, text=True)
    assert "(4, \"kernel 'scale' has no code for this CPU, whose level is sse2; the artifact has code for cpu:avx2, cuda:sm_80\\n\")" in done.stdout, done.stderr


def test_damaged_files_are_errors(tmp_path):
    build(tmp_path)
    file = tmp_path / "libscale.so"
    good = file.read_bytes()
    library, error = opened(file)
    assert error is None
    unknown = ctypes.c_void_p()
    assert runtime().twLibraryFind(library, b"scale", None) and not runtime().twLibraryFind(library, b"other", ctypes.byref(unknown))
    assert taken(unknown) == (2, f"there is no kernel 'other' in '{file}'\n")
    runtime().twLibraryClose(library)
    flipped = bytearray(good)
    flipped[len(good) // 2] ^= 1
    other_machine = bytearray(good)
    other_machine[18] = 183  # AArch64
    cases = {"truncated": (12, good[:-100]), "short": (12, good[:3]), "flipped": (12, bytes(flipped)), "machine": (12, bytes(other_machine)),
             "text": (12, b"hello" * 100)}
    for name, (code, content) in cases.items():
        (tmp_path / name).write_bytes(content)
        library, error = opened(tmp_path / name)
        assert library is None and error[0] == code and name in error[1], error
    assert opened(tmp_path / "machine")[1][1].endswith("it is for another machine: its ELF machine is 183, and this is x86-64\n")
    assert opened(tmp_path / "missing")[1][0] == 13
    os.mkfifo(tmp_path / "pipe")
    assert opened(tmp_path / "pipe")[1] == (13, f"cannot open the artifact '{tmp_path / 'pipe'}': it is not a regular file\n")
    for size in reversed(range(len(good))):
        os.truncate(file, size)
        library, error = opened(file)
        assert library is None and error[0] == 12 and str(file) in error[1], (size, error)


DEVICE = """
#include "matmul_bias.h"
#include "fake_cuda.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static FakeCuda *driver;
static TwLaunchOptions options = TW_LAUNCH_OPTIONS_INIT;

static int launch(uintptr_t a, int32_t m) {
  TwError *error = NULL;
  int done = matmul_bias(&options, (float *)a, (float *)0x20000, (float *)0x30000, (float *)0x40000, m, 64, 64, &error);
  if (!done) printf("%d %s", twErrorCode(error), twErrorText(error));
  twErrorFree(error);
  return done;
}
static void *many(void *unused) {
  for (int i = 0; i < 200; ++i) launch(0x10000, 128);
  return unused;
}
int main(int argc, char **argv) {
  driver = ((FakeCudaAccess)dlsym(dlopen(argv[argc - 1], RTLD_NOW), "fakeCuda"))();
  options.useDevice = 1;
  options.stream = &options;
  driver->parameterCount = 1, driver->parameterBytes[0] = 8;
  if (argc > 2) driver->major[0] = 8;
  if (!launch(0x10000, 128)) return 1;
  printf("loads %d launches %d encodes %d grid %u %u stream %d\\n", driver->loads, driver->launches, driver->encodes, driver->grid[0], driver->grid[1], driver->stream == &options);
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], 0, many, 0);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
  printf("loads %d\\n", driver->loads);
  launch(0x10004, 100);
  printf("loads %d\\n", driver->loads);
  driver->launchStatus = 700;
  launch(0x10000, 128);
  return 0;
}
"""


@pytest.mark.parametrize("machine", ["hopper", "ampere"])
def test_launches_on_a_device(tmp_path, machine):
    """With a driver library that records its calls: the code is loaded once, guards choose it, and failures are errors."""
    fake = BUILD / "tests" / "unit" / "libfake_cuda.so"
    if not fake.exists():
        pytest.skip("the tests in C++ are not built")
    signature = "*fp32{0}, *fp32{0}, *fp32{0}, *fp32{0}, i32{0}, i32{0}, i32{0}, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32"
    command("build", EXAMPLE / "matmul_bias.py", "--signature", signature.format(":16"), "--signature", signature.format(""), "--target", "cuda:sm_80,cuda:sm_90a",
            "--grid", "cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)", "-o", tmp_path / "libmatmul_bias.a", "--header", tmp_path / "matmul_bias.h")
    (tmp_path / "main.c").write_text(DEVICE)
    subprocess.run(["gcc", f"-I{ROOT / 'include'}", f"-I{tmp_path}", f"-I{ROOT / 'tests' / 'unit'}", tmp_path / "main.c", tmp_path / "libmatmul_bias.a",
                    LIBRARIES / "libtilewright_rt.a", "-lstdc++", "-lm", "-o", tmp_path / "main"], check=True)
    done = subprocess.run([tmp_path / "main", *(["old"] if machine == "ampere" else []), fake], env={**os.environ, "TILEWRIGHT_LIBCUDA": str(fake)},
                          capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    first, threads, other, *error = lines
    assert first.startswith("loads 1 launches 1 ") and first.endswith(" grid 2 1 stream 1")
    assert threads == "loads 1" and other == "loads 2"
    assert error[0].startswith("10 CUDA_ERROR_ILLEGAL_ADDRESS")


class Artifact(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("bytes", ctypes.c_void_p), ("byteCount", ctypes.c_size_t), ("entries", ctypes.c_void_p),
                ("entryCount", ctypes.c_size_t), ("state", ctypes.c_void_p)]


def test_damaged_bundles_are_errors(tmp_path):
    build(tmp_path, signatures=SIGNATURES[1:], target="cpu:sse2")
    runtime()
    good = Artifact.in_dll(ctypes.CDLL(str(tmp_path / "libscale.so")), "scale_artifact")
    content = ctypes.string_at(good.bytes, good.byteCount)

    def problem(changed, **fields):
        copy = Artifact(good.size, None, len(changed), good.entries, good.entryCount, None)
        for name, value in fields.items():
            setattr(copy, name, value)
        memory = ctypes.create_string_buffer(changed, len(changed))
        copy.bytes = ctypes.addressof(memory)
        error = ctypes.c_void_p()
        assert not runtime().twArtifactDescribe(ctypes.byref(copy), ctypes.byref(error))
        return taken(error)

    newer = bytearray(content)
    newer[8] = 99
    assert problem(bytes(newer)) == (12, "the artifact cannot be used: its format has version 99, and this runtime library reads version 2\n")
    assert problem(content[:-1]) == (12, "the artifact cannot be used: it is truncated\n")
    assert problem(content[:10]) == (12, "the artifact cannot be used: it does not begin like an artifact\n")
    assert {problem(content[:size]) for size in range(len(content))} == {problem(content[:10]), problem(content[:-1])}
    assert problem(content, entryCount=0) == (12, "the artifact cannot be used: its fields are damaged\n")
    assert problem(content, size=8)[0] == 1
    for at in range(32, len(content), 7):
        changed = bytearray(content)
        changed[at] ^= 0x10
        assert problem(bytes(changed)) == (12, "the artifact cannot be used: its checksum is wrong\n")


def test_the_same_bytes_on_every_host(tmp_path):
    hosts = ["intel sapphirerapids 2097152 314572800 64", "amd znver5 1048576 33554432 8", "amd znver2 524288 16777216 2", ""]
    results = {"level": set(), "native": set()}
    for number, host in enumerate(hosts):
        folder = tmp_path / str(number)
        folder.mkdir()
        environment = {**os.environ, "TILEWRIGHT_TEST_HOST": host} if host else dict(os.environ)
        for target, out, kind in ((LEVELS + ",cpu:avx512-dot,cpu:amx,cuda:sm_90a", "libscale.a", "level"), ("cpu:native", "libnative.a", "native")):
            build(folder, "--grid", "cdiv(n, BLOCK)", source=SCALE.replace("* factor", "/ tl.exp(factor)"), target=target, out=out, env=environment)
            results[kind].add((folder / out).read_bytes())
    assert len(results["level"]) == 1 and len(results["native"]) > 1


def test_bad_command_lines_and_kernels(tmp_path):
    def error(*words, **options):
        done = build(tmp_path, *words, check=False, **options)
        assert done.returncode == 1 and not (tmp_path / "libscale.so").exists()
        return done.stderr

    assert "-o NAME.a or -o NAME.so" in error(out="scale.dll")
    assert "the target 'cpu:avx2' is of x86-64, and 'cpu:neon' of AArch64: a library is for one of them" in error(target="cpu:avx2,cuda:sm_80,cpu:neon")
    assert "no target 'cpu:avx9'" in error(target="cpu:avx9")
    assert "given twice" in error(target="cpu:avx2,cpu:avx2")
    assert "needs --signature" in error(signatures=[])
    assert "names of the kernel's integer parameters, and 'm' is none: they are n" in error("--grid", "cdiv(m, BLOCK)")
    assert "the operators + - * // %" in error("--grid", "n / BLOCK")
    assert "is not a name in C" in error("--name", "a-b")
    assert "--tuned is for kernels with a list of configurations, and 'scale' has none" in error("--tuned")
    assert "device_print" in error(source=SCALE.replace("    tl.store", "    tl.device_print('x', at)\n    tl.store"))
    assert "cannot pass" in error(signatures=["tensordesc<fp32[16]>, *fp32, fp32, i32, BLOCK=128, MODE='plain'"])


def test_a_failed_write_leaves_no_file(tmp_path):
    (tmp_path / "full.a").symlink_to("/dev/full")
    done = build(tmp_path, out="full.a", check=False)
    assert done.returncode == 1 and "No space left on device" in done.stderr

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    folder = tmp_path / "limited"
    folder.mkdir()
    done = build(folder, out="libscale.a", check=False, preexec_fn=limit, env={**os.environ, "TILEWRIGHT_CACHE": "0"})
    assert done.returncode == 1 and "File too large" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["scale.py"]


TUNED = """
import triton
import triton.language as tl

@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def fill(out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, BLOCK, mask=at < n)
"""


def test_tuned_configurations(tmp_path):
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), "TILEWRIGHT_CHECK_TUNING": "0"}
    (tmp_path / "fill.py").write_text(TUNED)
    for n in (100, 100000):
        command("tune", tmp_path / "fill.py", "--grid", "cdiv(n, BLOCK)", "--arg", f"out=empty:fp32[{n}]", "--arg", f"n={n}", env=environment)
    exported = tmp_path / "tuned.json"
    command("tune", "--export", exported, env=environment)
    # The winners are set by hand, so that the test does not depend on measurements: 64 for small sizes, 1024 for large ones.
    content = json.loads(exported.read_text())
    for entry in content["tuned"]:
        wanted = 64 if entry["key"].endswith("n=100") else 1024
        entry["best"] = next(i for i, config in enumerate(entry["configs"]) if f"BLOCK={wanted}," in config["config"])
    exported.write_text(json.dumps(content))
    build_words = ["build", tmp_path / "fill.py", "--signature", "*fp32, i32", "--target", LEVELS, "--grid", "cdiv(n, BLOCK)", "-o", tmp_path / "libfill.so"]
    command(*build_words, "--tuned-file", exported)
    runtime()
    fill = ctypes.CDLL(str(tmp_path / "libfill.so")).fill
    for n, wanted in ((100, 64), (90, 64), (200, 64), (100000, 1024), (60000, 1024), (1, 64)):
        out = np.zeros(n, np.float32)
        assert launch(fill, pointer(out), n) is None
        np.testing.assert_array_equal(out, wanted)
    command(*build_words, "--tuned", env=environment)
    empty = command(*build_words, "--tuned", env={**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "none")}, check=False)
    assert empty.returncode == 1 and "finds no measurements of kernel 'fill'" in empty.stderr


def test_the_library_moves_with_the_runtime_library(tmp_path):
    """A program, the kernels and the runtime library in a folder of their own: nothing else of Tilewright is needed, and no path is fixed."""
    build(tmp_path, "--grid", "cdiv(n, BLOCK)", "--header", tmp_path / "scale.h", signatures=SIGNATURES[1:2], target=LEVELS)
    (tmp_path / "main.c").write_text("""
#include "scale.h"
#include <stdio.h>
int main(void) {
  float x[100], out[100];
  for (int i = 0; i < 100; ++i) x[i] = i;
  TwError *error = NULL;
  if (!scale(NULL, x, out, 2, 100, &error)) return fputs(twErrorText(error), stderr), 1;
  printf("%g", out[99]);
  return 0;
}
""")
    shipped, moved = tmp_path / "shipped", tmp_path / "moved" / "elsewhere"
    shipped.mkdir()
    subprocess.run(["gcc", f"-I{ROOT / 'include'}", tmp_path / "main.c", tmp_path / "libscale.so", f"-L{LIBRARIES}", "-ltilewright_rt", "-Wl,-rpath,$ORIGIN",
                    "-o", shipped / "main"], check=True)
    shutil.copy(tmp_path / "libscale.so", shipped)
    shutil.copy(LIBRARIES / "libtilewright_rt.so.0", shipped)
    moved.parent.mkdir()
    shipped.rename(moved)
    environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
    done = subprocess.run([moved / "main"], capture_output=True, text=True, env=environment, cwd="/")
    assert (done.returncode, done.stdout) == (0, "198"), done.stderr
    needed = subprocess.run(["ldd", moved / "main"], capture_output=True, text=True, check=True, env=environment).stdout
    assert str(moved / "libtilewright_rt.so.0") in needed and str(LIBRARIES) not in needed
    # By name, from a program that only has the runtime library.
    script = f"import ctypes\nctypes.CDLL({str(moved / 'libtilewright_rt.so.0')!r})\nctypes.CDLL({str(moved / 'libscale.so')!r}).scale\n"
    subprocess.run([sys.executable, "-c", script], check=True, env=environment, cwd="/")


def test_grids_of_constants(tmp_path):
    """What a grid computes without the launch becomes a number."""
    grids = ["cdiv(n, [64, 128][BLOCK == 128])", "cdiv(n, BLOCK if BLOCK > 64 else 1)", "lambda meta: (cdiv(meta['n'], {'plain': 128}[meta['MODE']]),)", "cdiv(n, FACTOR * BLOCK)"]
    runtime()
    for number, grid in enumerate(grids):
        (tmp_path / str(number)).mkdir()
        build(tmp_path / str(number), "--grid", grid, source="FACTOR = 1\n" + SCALE, signatures=SIGNATURES[1:2], target="cpu:sse2", out=f"libscale{number}.so")
        scale = ctypes.CDLL(str(tmp_path / str(number) / f"libscale{number}.so")).scale
        x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
        assert launch(scale, pointer(x), pointer(out), ctypes.c_float(3), 1000) is None
        np.testing.assert_array_equal(out, x * 3)
    for grid in ("cdiv(n, [64, 128][n])", "n if n > 3 else 4", "unknown"):
        done = build(tmp_path, "--grid", grid, signatures=SIGNATURES[1:2], target="cpu:sse2", check=False)
        assert done.returncode == 1 and "a grid that is computed without a compiler takes" in done.stderr, done.stderr



def test_ir_text(tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    (tmp_path / "scale.ttir").write_text(command("compile", tmp_path / "scale.py", "--signature", SIGNATURES[1], "--emit", "ttir").stdout)
    command("build", tmp_path / "scale.ttir", "--target", "cpu:sse2", "-o", tmp_path / "libscale.so", "--name", "from_text")
    runtime()
    function = ctypes.CDLL(str(tmp_path / "libscale.so")).from_text
    x = np.arange(100, dtype=np.float32)
    out = np.zeros(100, np.float32)
    assert launch(function, *[ctypes.c_int64(1)] * 3, pointer(x), pointer(out), ctypes.c_float(3), 100) is None
    np.testing.assert_array_equal(out, x * 3)


def test_a_tvm_ffi_function(tmp_path):
    tvm_ffi = pytest.importorskip("tvm_ffi")
    build(tmp_path, "--ffi", "--grid", "cdiv(n, BLOCK)", signatures=SIGNATURES[1:], target=LEVELS)
    runtime()
    module = tvm_ffi.load_module(str(tmp_path / "libscale.so"))
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    tensor = tvm_ffi.from_dlpack
    module.scale(tensor(x), tensor(out), 2.5, 1000, "plain")
    np.testing.assert_array_equal(out, x * 2.5)
    module.scale(tensor(x[100:]), tensor(out), 1, 900, "negative")
    np.testing.assert_array_equal(out[:900], -x[100:])
    with pytest.raises(ValueError, match="argument 'x' is a tensor of fp64, and the kernel takes fp32"):
        module.scale(tensor(x.astype(np.float64)), tensor(out), 2.5, 1000, "plain")
    with pytest.raises(ValueError, match="it takes 5 arguments, and the call gives 2"):
        module.scale(tensor(x), tensor(out))
    with pytest.raises(ValueError, match="argument 'n' must be an int"):
        module.scale(tensor(x), tensor(out), 2.5, 10.5, "plain")
    with pytest.raises(ValueError, match="argument 'n' is 5000000000, which int32 cannot hold"):
        module.scale(tensor(x), tensor(out), 2.5, 5000000000, "plain")
    with pytest.raises(ValueError, match="no specialization of kernel 'scale'"):
        module.scale(tensor(x), tensor(out), 2.5, 10, "other")


RAISE = """
#include <stdio.h>
char raised[1000];
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *text) { snprintf(raised, sizeof raised, "%s: %s", kind, text); }
"""

FFI_CALLS = """
import ctypes, sys

class Any(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("length", ctypes.c_uint32), ("integer", ctypes.c_int64)]

class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("offset", ctypes.c_uint64)]

folder, runtime = sys.argv[1:]
raised = ctypes.c_char * 1000
ffi = ctypes.CDLL(folder + "/libffi_errors.so", ctypes.RTLD_GLOBAL)
ctypes.CDLL(runtime, ctypes.RTLD_GLOBAL)
scale = getattr(ctypes.CDLL(folder + "/libscale.so"), "__tvm_ffi_scale")
data, out = (ctypes.c_float * 4)(1, 2, 3, 4), (ctypes.c_float * 4)()

def call(shape, strides=None, count=4):
    def tensor(memory, shape, strides):
        kept.append((ctypes.c_int64 * len(shape))(*shape))
        kept.append((ctypes.c_int64 * len(shape))(*strides) if strides else None)
        kept.append(Tensor(ctypes.addressof(memory), (1, 0), len(shape), 2, 32, 1, ctypes.addressof(kept[-2]), ctypes.addressof(kept[-1]) if strides else None, 0))
        return Any(7, 0, ctypes.addressof(kept[-1]))
    kept = []
    factor = Any(3, 0, int.from_bytes(bytes(ctypes.c_double(2)), "little"))
    given = (Any * 4)(tensor(data, shape, strides), tensor(out, [4], None), factor, Any(1, 0, count))
    result = Any()
    if scale(None, given, 4, ctypes.byref(result)) == 0:
        return list(out)
    return raised.in_dll(ffi, "raised").value.decode()

huge = 1 << 40
print(call([4]))
print(call([huge, huge]))
print(call([2, 2], [(1 << 63) - 1, 1]))
print(call([4, 2], [1 << 61, 1]))
print(call([1 << 61]))
print(call([huge, huge, 0], count=0))
print(call([huge, huge], [-1, 1], count=4))
print(call([1 << 20, 1 << 20], [huge, 1], count=4))
"""


def test_sizes_of_dlpack_tensors_that_overflow(tmp_path):
    build(tmp_path, "--ffi", "--grid", "cdiv(n, BLOCK)", signatures=SIGNATURES[1:2], target="cpu:sse2")
    (tmp_path / "errors.c").write_text(RAISE)
    subprocess.run(["gcc", "-shared", "-fPIC", tmp_path / "errors.c", "-o", tmp_path / "libffi_errors.so"], check=True)
    done = subprocess.run([sys.executable, "-c", FFI_CALLS, tmp_path, RUNTIME], capture_output=True, text=True, check=True)
    right, overflow = "[2.0, 4.0, 6.0, 8.0]", "ValueError: kernel 'scale': argument 'x' has more bytes than the address space"
    assert done.stdout.splitlines() == [right, overflow, overflow, overflow, overflow, right, right, right], done.stdout


def test_a_cmake_project(tmp_path):
    prefix, source, work = tmp_path / "there", tmp_path / "the $project", tmp_path / "the work"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    shutil.copytree(EXAMPLE, source)
    kernel = source / "matmul_bias.py"
    (source / "constants.py").write_text("ZERO = 0.0\n")
    kernel.write_text(kernel.read_text().replace("import triton\n", "import triton\nfrom constants import ZERO\n", 1).replace("maximum(total, 0.0)", "maximum(total, ZERO)"))

    def ninja(*words):
        return subprocess.run(["ninja", "-C", work, *words], check=True, capture_output=True, text=True).stdout

    configured = subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", work, f"-DCMAKE_PREFIX_PATH={prefix}"], capture_output=True, text=True)
    assert configured.returncode == 0, configured.stderr
    assert " build " in ninja("-v")
    assert subprocess.run([work / "matmul"], capture_output=True, text=True, check=True).stdout.count("right") == 2
    assert "no work to do" in ninja()
    (source / "constants.py").write_text("ZERO = 0.5 - 0.5\n")
    again = ninja("-v")
    assert " build " in again and " -c " not in again  # the header is the same
    assert "no work to do" in ninja()


def test_an_object_as_c_source(tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    words = [tmp_path / "scale.py", "--signature", SIGNATURES[1], "--target", "cpu:sse2", "--name", "scale"]
    command("compile", *words, "--emit", "c", "-o", tmp_path / "scale.c")
    command("compile", *words, "--emit", "header", "-o", tmp_path / "scale.h")
    (tmp_path / "main.c").write_text("""
#include "scale.h"
#include <stdlib.h>
#include <string.h>
int main(void) {
  float x[128], out[128], *tensors[2] = {x, out}, factor = 2;
  uint64_t arguments[4] = {0};
  int32_t grid[3] = {1, 1, 1};
  for (int i = 0; i < 128; ++i) x[i] = i;
  memcpy(arguments, tensors, sizeof tensors);
  memcpy(arguments + 2, &factor, sizeof factor);
  arguments[3] = 128;
  void *scratch = aligned_alloc(64, scale_scratch_bytes + 64);
  memset(scratch, 0, 64);
  scale(arguments, grid, 0, 1, scratch);
  return out[127] != 254;
}
""")
    for compiler in ("gcc", "clang-22"):
        flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
        subprocess.run([compiler, *flags, tmp_path / "main.c", tmp_path / "scale.c", "-o", tmp_path / "main"], check=True)
        subprocess.run([tmp_path / "main"], check=True)
