"""What an installed wheel does without any other package: import, the command, errors, C and C++, in one process with another LLVM.

Run by tools/wheel_test.py, in a folder outside of the checkout. A file smoke_PACKAGE.py is for environments that have PACKAGE.
"""

import array
import glob
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest

import tilewright as triton
import tilewright.language as tl

SCALE = """import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)
"""

C_PROGRAM = r"""
#include "tilewright/c.h"
#include <stdio.h>
int main(int count, char **words) {
  TwError *error = 0;
  TwModule *module = twModuleFromFile(words[count - 1], &error);
  TwKernel *kernel = module ? twKernelFind(module, "scale_kernel", &error) : 0;
  float x[100], out[100];
  for (int i = 0; i < 100; ++i) x[i] = i;
  TwArgument arguments[] = {{.name = 0, .kind = TW_POINTER, .type = TW_F32, .value.pointer = x},
                            {.name = 0, .kind = TW_POINTER, .type = TW_F32, .value.pointer = out},
                            {.name = 0, .kind = TW_INT, .value.integer = 100},
                            {.name = 0, .kind = TW_FLOAT, .value.floating = 3.0},
                            {.name = 0, .kind = TW_INT, .value.integer = 64}};
  TwGrid grid = {{2, 1, 1}, 1};
  if (!kernel || !twLaunch(kernel, &grid, 0, 0, arguments, 5, 0, &error)) {
    puts(twErrorText(error));
    return 1;
  }
  printf("%s %g %g\n", twVersion(), out[99], out[63]);
  return 0;
}
"""


@triton.jit
def fill(x_ptr, n, value, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, value, mask=i < n)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=120, **options)


def command():
    return pathlib.Path(sysconfig.get_path("scripts")) / "tilewright"


def test_it_is_the_installed_package():
    package = pathlib.Path(triton.__file__).parent
    assert package.parent == pathlib.Path(sysconfig.get_path("purelib")) or package.parent == pathlib.Path(sysconfig.get_path("platlib"))
    assert triton.__version__ == importlib.metadata.version("tilewright")
    assert importlib.metadata.requires("tilewright") is None or all("extra ==" in row for row in importlib.metadata.requires("tilewright"))


def test_its_metadata_lists_what_is_linked_in():
    files = importlib.metadata.files("tilewright")
    bill = json.loads(next(file for file in files if file.name == "tilewright.cdx.json").read_text())
    versions = {component["name"]: component.get("version") for component in bill["components"]}
    assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["version"] == triton.__version__
    assert versions["LLVM"].startswith("22.") and versions["MLIR"] == versions["LLVM"] and versions["zlib"] and versions["nanobind"]
    texts = {file.stem for file in files if "licenses/third_party" in str(file)}
    assert texts == set(versions), (texts, versions)


def test_a_kernel():
    x = array.array("i", [0] * 1000)
    fill[(4,)](x, 1000, 7, BLOCK=256)
    assert list(x) == [7] * 1000


def test_an_error_names_the_line(tmp_path):
    (tmp_path / "wrong.py").write_text(SCALE.replace("* factor", "* factors"))
    done = run(command(), "compile", tmp_path / "wrong.py", "--kernel", "scale_kernel", "--signature", "*fp32,*fp32,i32,fp32,64")
    assert done.returncode == 1 and "wrong.py:8:" in done.stderr and "factors" in done.stderr and "^" in done.stderr, done.stderr


def test_the_command(tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    done = run(command(), "info")
    assert done.returncode == 0 and f"tilewright  {triton.__version__} " in done.stdout, done.stdout + done.stderr
    done = run(command(), "run", tmp_path / "scale.py", "--grid", "cdiv(n, BLOCK)", "--arg", "x_ptr=ones:f32[5]", "--arg", "out_ptr=empty:f32[5]",
               "--arg", "n=5", "--arg", "factor=3.0", "--arg", "BLOCK=8", "--print", "out_ptr")
    assert done.returncode == 0 and done.stdout.count("3") >= 5, done.stdout + done.stderr
    for target, text in (("cuda:sm_90a", ".target sm_90a"), ("cpu:avx512", "zmm")):
        stage = "ptx" if target.startswith("cuda") else "asm"
        done = run(command(), "compile", tmp_path / "scale.py", "--signature", "*fp32,*fp32,i32,fp32,1024", "--target", target, "--emit", stage)
        assert done.returncode == 0 and text in done.stdout, done.stderr


def test_import_triton(tmp_path):
    (tmp_path / "program.py").write_text("import triton, tilewright\nprint(triton.__version__, triton.cdiv(5, 2), triton.jit is tilewright.jit)")
    done = run(sys.executable, "-m", "tilewright", "program.py", cwd=tmp_path)
    assert done.stdout.split()[1:] == ["3", "True"] and done.stdout.startswith("3."), done.stdout + done.stderr


def test_its_headers_and_its_library_serve_c(tmp_path):
    compiler = shutil.which("cc") or shutil.which("clang-22")
    (tmp_path / "scale.py").write_text(SCALE)
    (tmp_path / "host.c").write_text(C_PROGRAM)
    include, library = (run(sys.executable, "-m", "tilewright", option).stdout.strip() for option in ("--include", "--library"))
    done = run(compiler, "-std=c11", tmp_path / "host.c", "-I", include, library, f"-Wl,-rpath,{os.path.dirname(library)}", "-o", tmp_path / "host")
    assert done.returncode == 0, done.stderr
    done = run(tmp_path / "host", tmp_path / "scale.py")
    assert done.stdout.split() == [triton.__version__, "297", "189"], done.stdout + done.stderr


def test_a_kernel_ahead_of_time(tmp_path):
    """The library that the command builds needs the package's runtime library, and no compiler."""
    compiler = shutil.which("cc") or shutil.which("clang-22")
    (tmp_path / "scale.py").write_text(SCALE)
    (tmp_path / "host.c").write_text('#include "scale.h"\n#include <stdio.h>\nint main(void) {\n  float x[100], out[100];\n  for (int i = 0; i < 100; ++i) x[i] = i;\n'
                                     '  int done = scale_kernel(0, x, out, 100, 3, 0);\n  printf("%d %g", done, out[99]);\n}\n')
    done = run(command(), "build", tmp_path / "scale.py", "--signature", "*fp32, *fp32, i32, fp32, BLOCK=64", "--grid", "cdiv(n, BLOCK)", "--target", "cpu:sse2,cpu:avx2",
               "-o", tmp_path / "libscale.a", "--header", tmp_path / "scale.h")
    assert done.returncode == 0, done.stderr
    include, runtime = (run(sys.executable, "-m", "tilewright", option).stdout.strip() for option in ("--include", "--runtime"))
    done = run(compiler, "-std=c11", tmp_path / "host.c", "-I", include, tmp_path / "libscale.a", runtime, f"-Wl,-rpath,{os.path.dirname(runtime)}", "-o", tmp_path / "host")
    assert done.returncode == 0, done.stderr
    assert run(tmp_path / "host").stdout == "1 297"


def test_cmake_finds_it(tmp_path):
    (tmp_path / "scale.py").write_text(SCALE)
    (tmp_path / "host.c").write_text(C_PROGRAM)
    (tmp_path / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.20)\nproject(host C)\nfind_package(tilewright REQUIRED)\n"
                                             "add_executable(host host.c)\ntarget_link_libraries(host PRIVATE Tilewright::tilewright)\n")
    folder = run(sys.executable, "-m", "tilewright", "--cmake").stdout.strip()
    for step in (["-S", tmp_path, "-B", tmp_path / "build", f"-Dtilewright_DIR={folder}"], ["--build", tmp_path / "build"]):
        done = run("cmake", *step)
        assert done.returncode == 0, done.stdout + done.stderr
    assert run(tmp_path / "build" / "host", tmp_path / "scale.py").stdout.split()[1:] == ["297", "189"]


def test_another_llvm_in_the_process():
    others = sorted(glob.glob("/usr/lib/llvm-*/lib/libLLVM*.so*") + glob.glob("/usr/lib/x86_64-linux-gnu/libLLVM*.so*"))
    assert others, "install libllvm22, which this test loads first"
    program = f"import ctypes; ctypes.CDLL({others[-1]!r}, ctypes.RTLD_GLOBAL)\nimport smoke_base\nsmoke_base.test_a_kernel()\nprint('done')"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.path.dirname(os.path.abspath(__file__)), os.environ.get("PYTHONPATH", "")]), "TILEWRIGHT_CACHE": "0"}
    done = run(sys.executable, "-c", program, env=environment)
    assert done.stdout == "done\n", done.stderr


def test_what_needs_a_package_names_it(tmp_path):
    """NumPy is optional, and each function that needs it says so."""
    if importlib.util.find_spec("numpy"):
        assert triton.testing.assert_close is not None
        return
    with pytest.raises(ImportError, match="numpy"):
        triton.testing.assert_close([1.0], [1.0])
