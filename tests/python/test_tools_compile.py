"""tools.compile and tools.link: kernels as C for a C compiler, in programs without Tilewright."""

import ctypes
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tilewright as triton

KERNELS = '''
import triton
import triton.language as tl
import helper

@triton.jit
def matmul(C, A, B, M, N, K, stride_am, stride_ak, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inner = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(A + rows[:, None] * stride_am + (k + inner)[None, :] * stride_ak, mask=(k + inner)[None, :] < K, other=0.0)
        b = tl.load(B + (k + inner)[:, None] * N + columns[None, :], mask=(k + inner)[:, None] < K, other=0.0)
        total += tl.dot(a, b)
    tl.store(C + rows[:, None] * N + columns[None, :], helper.twice(total))

@triton.jit
def scaled(x, BLOCK: tl.constexpr, factor, big, small, out, shift: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * factor + big.to(tl.float32) + small + shift)

@triton.jit
def counted(x, out, programs, BLOCK: tl.constexpr):
    values = tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))
    tl.atomic_add(out + values, tl.full((BLOCK,), 1, tl.int32))

@triton.jit
def telling(x):
    tl.device_print("x", tl.load(x))
'''
HELPER = "import triton\n\n@triton.jit\ndef twice(x):\n    return x * 2\n"

# The part of the driver's interface that the generated code uses, with a launch that records its arguments.
DRIVER_HEADER = """
typedef struct stream *CUstream;
typedef struct module *CUmodule;
typedef struct function *CUfunction;
typedef unsigned long long CUdeviceptr;
typedef int CUdevice;
typedef enum { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2 } CUresult;
#define CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES 8
CUresult cuCtxGetDevice(CUdevice *device);
CUresult cuModuleLoadData(CUmodule *module, const void *image);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name);
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value);
CUresult cuGetErrorString(CUresult error, const char **text);
CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **args, void **extra);
"""
DRIVER = """
#include <cuda.h>
#include <stdint.h>
#include <string.h>
int64_t told[16];
char entry[64], image[4];
int device, loads;
CUresult cuCtxGetDevice(CUdevice *number) { *number = device; return CUDA_SUCCESS; }
CUresult cuModuleLoadData(CUmodule *module, const void *code) { memcpy(image, code, 4); ++loads; *module = (CUmodule)1; return CUDA_SUCCESS; }
CUresult cuModuleUnload(CUmodule module) { --loads; return CUDA_SUCCESS; }
CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) { strcpy(entry, name); *function = (CUfunction)1; return CUDA_SUCCESS; }
CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) { return CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult error, const char **text) { *text = "an error"; return CUDA_SUCCESS; }
CUresult cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **args, void **extra) {
  int64_t values[] = {x, y, z, bx, *(int64_t *)args[0], *(int64_t *)args[1], *(int32_t *)args[3], *(int32_t *)args[6]};
  memcpy(told, values, sizeof values);
  return CUDA_SUCCESS;
}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "kernels.py").write_text(KERNELS)
    (tmp_path / "helper.py").write_text(HELPER)
    return tmp_path


def tool(folder, name, *arguments, fails=""):
    done = subprocess.run([sys.executable, "-m", "tilewright", "-m", f"triton.tools.{name}", *arguments], cwd=folder, capture_output=True, text=True)
    assert (fails in done.stderr and done.returncode) if fails else done.returncode == 0, done.stderr


def compiled(folder, kernel, signature, grid, *options, fails=""):
    tool(folder, "compile", "kernels.py", "-n", kernel, "-s", signature, "-g", grid, "-on", kernel, *options, fails=fails)


def linked(folder, kernel, *options):
    tool(folder, "link", *(path.name for path in folder.glob(f"{kernel}.*.h")), "-o", "all")
    compiler = shutil.which("cc") or shutil.which("clang-22")
    subprocess.run([compiler, "-O1", "-std=gnu99", "-Wall", "-Wextra", "-Wpedantic", "-Wno-unused-parameter", "-Werror", "-fPIC", "-shared", *options, *map(str, folder.glob("*.c")), "-o", "all.so", "-lm"], cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "all.so"))


def address(array):
    return ctypes.c_void_p(array.ctypes.data)


def aligned(array):
    """A copy of the array at an address that is a multiple of 64."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    moved = memory[start:start + array.nbytes].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


@pytest.mark.parametrize("options", [[], ["-fopenmp"]])
def test_matmul_on_a_cpu(folder, options):
    for block in (16, 32):
        for hint in (":16", ""):
            compiled(folder, "matmul", f"*fp32:16, *fp16:16, *fp16:16, i32, i32, i32, i32{hint}, i32:1, {block}", f"M/{block}, N/{block}, 1", "-t", "cpu:avx2:1")
    library = linked(folder, "matmul", *options)
    assert library.matmul_get_num_algos() == 2
    library.load_matmul()
    rng = np.random.default_rng(0)
    for k in (96, 40):  # a multiple of 16, and another stride of rows
        a, b = (aligned(rng.standard_normal(shape).astype(np.float16)) for shape in ((64, k), (k, 96)))
        for algorithm in (0, 1):
            c = aligned(np.zeros((64, 96), np.float32))
            assert library.matmul(None, address(c), address(a), address(b), 64, 96, k, k, 1, algorithm) == 0
            np.testing.assert_allclose(c, 2 * (a.astype(np.float32) @ b.astype(np.float32)), rtol=1e-5, atol=1e-4)
    c[...] = 0
    assert library.matmul_default(None, address(c), address(a), address(b), 64, 96, k, k, 2) == 1 and not c.any()  # no variant has that stride
    assert library.matmul_default(None, address(c), address(a), address(b), 0, 96, k, k, 1) == 0 and not c.any()  # no programs
    assert library.matmul(None, address(c), address(a), address(b), 64, 96, k, k, 1, 2) == 1  # there is no such algorithm
    library.unload_matmul()


def test_launches_remember_nothing(folder):
    """The second launch uses the first one's scratch memory, with other numbers at the same addresses."""
    compiled(folder, "matmul", "*fp32:16, *fp16:16, *fp16:16, i32, i32, i32, i32:16, i32:1, 32", "M/32, N/32, 1", "-t", "cpu:avx2:1")
    library = linked(folder, "matmul")
    rng = np.random.default_rng(0)
    a, b, c = aligned(rng.standard_normal((32, 64)).astype(np.float16)), aligned(np.zeros((64, 32), np.float16)), aligned(np.zeros((32, 32), np.float32))
    for _ in range(4):
        b[...] = rng.standard_normal(b.shape)
        assert library.matmul_default(None, address(c), address(a), address(b), 32, 32, 64, 64, 1) == 0
        np.testing.assert_allclose(c, 2 * (a.astype(np.float32) @ b.astype(np.float32)), rtol=1e-5, atol=1e-4)


# New memory is filled with ones, and `dirty` collects the first words of the scratch memory that a kernel gets.
WATCH = """
#include <stdint.h>
#include <string.h>
#include <malloc.h>
int64_t dirty;
void *full(size_t alignment, size_t size) { return memset(memalign(alignment, size), 1, size); }
void real(const uint64_t *, const int32_t *, int64_t, int64_t, void *) __asm__("@NAME@_programs");
void watched(const uint64_t *arguments, const int32_t *grid, int64_t first, int64_t last, int64_t *scratch) {
  dirty |= scratch[0] | scratch[1];
  real(arguments, grid, first, last, scratch);
}
"""


def test_threads_that_add_to_the_same_places(folder):
    """A flag in scratch memory tells whether a launch runs alone, so that additions may be plain ones. Here it must not be set."""
    compiled(folder, "counted", "*i32, *i32, i32, 1024", "programs, 1, 1", "-t", "cpu:avx2:1")
    name = next(folder.glob("counted.*.c")).name.removesuffix(".c").replace(".", "_")
    (folder / "watch.c").write_text(WATCH.replace("@NAME@", name))
    library = linked(folder, "counted", "-fopenmp", "-Daligned_alloc=full", f"-D{name}_programs=watched")
    x, counts = np.arange(1 << 18, dtype=np.int32) % 4, np.zeros(4, np.int32)
    assert library.counted_default(None, address(x), address(counts), x.size // 1024) == 0
    assert counts.tolist() == [1 << 16] * 4
    assert ctypes.c_int64.in_dll(library, "dirty").value == 0


def test_parameters_of_other_types(folder):
    compiled(folder, "scaled", "*fp32, 64, fp32, i64:16, i8, *fp32:16, 0.5", "2, 1, 1", "-t", "cpu:avx2:1")
    library = linked(folder, "scaled")
    x, out = np.arange(128, dtype=np.float32), aligned(np.zeros(128, np.float32))
    arguments = ctypes.c_float(1.5), ctypes.c_int64(-1 << 20), ctypes.c_int8(-3)
    assert library.scaled_default(None, address(x), *arguments, address(out)) == 0
    np.testing.assert_array_equal(out, x * np.float32(1.5) + np.float32(-(1 << 20)) - 3 + np.float32(0.5))
    assert library.scaled_default(None, address(x), ctypes.c_float(1.5), ctypes.c_int64(5), ctypes.c_int8(-3), address(out)) == 1


def test_launch_on_a_gpu(folder):
    (folder / "cuda.h").write_text(DRIVER_HEADER)
    compiled(folder, "matmul", "*fp32:16, *fp16:16, *fp16:16, i32, i32, i32, i32:16, i32:1, 64", "M/64, N/64, 1", "-t", "cuda:90:32", "-w", "4")
    (folder / "driver.c").write_text(DRIVER)
    library = linked(folder, "matmul", "-I.")
    result = library.matmul_default(None, ctypes.c_uint64(1 << 40), ctypes.c_uint64(1 << 41), ctypes.c_uint64(1 << 42), 128, 192, 256, 272, 1)
    assert result == 0
    told = list((ctypes.c_int64 * 8).in_dll(library, "told"))
    assert told[:3] == [2, 3, 1] and told[3] % 128 == 0 and told[4:] == [1 << 40, 1 << 41, 128, 272]
    assert (ctypes.c_char * 64).in_dll(library, "entry").value == b"matmul"
    assert bytes((ctypes.c_char * 4).in_dll(library, "image")) in (b"\x7fELF", b"//\n/")
    # The code is loaded once for each device.
    device, loads = ctypes.c_int.in_dll(library, "device"), ctypes.c_int.in_dll(library, "loads")
    for number, expected in ((0, 1), (3, 2), (0, 2), (3, 2), (63, 3)):
        device.value = number
        library.load_matmul()
        assert loads.value == expected
    library.unload_matmul()
    assert loads.value == 2
    device.value = 64
    assert library.matmul_default(None, ctypes.c_uint64(0), ctypes.c_uint64(0), ctypes.c_uint64(0), 128, 192, 256, 272, 1) == 1


def test_what_is_refused(folder):
    compiled(folder, "scaled", "*fp32, 64, fp32, i64, i8, *fp32:8, 0.5", "2, 1, 1", fails="the hint 8 has no meaning")
    compiled(folder, "scaled", "*fp32, 64, fp16, i64, i8, *fp32, 0.5", "2, 1, 1", fails="a parameter of type 'fp16' has no type in C")
    compiled(folder, "scaled", "*fp32, 64, fp32, i64, i8, *fp32, 0.5", "2, 1, 1", "-t", "hip:gfx942:64", fails="there is no C code for the target")
    compiled(folder, "scaled", "*fp32, 64, fp32, i64, i8, *fp32, 0.5", "2, 1, 1", "-t", "cpu:mmx:1", fails="there is no CPU level 'mmx'")
    compiled(folder, "scaled", "*fp32, 64, fp32, i64, i8, *fp32, 0.5", "2", fails="the grid has three axes")
    compiled(folder, "telling", "*fp32", "1, 1, 1", "-t", "cpu:avx2:1", fails="tl.device_print and tl.device_assert need the library")


def test_names_that_c_does_not_allow(folder):
    source = (folder / "kernels.py").read_text()
    names = ("int", "register", "linux", "memcpy", "tt_stream", "TT_SUCCESS", "_Bool", "__x", "int32_t", "algo_id", "tt_sizes", "QKV", "code", "function")
    (folder / "kernels.py").write_text(source + f"\n@triton.jit\ndef named(out, {', '.join(names)}):\n    tl.store(out + tl.program_id(0), {' + '.join(names)})\n")
    compiled(folder, "named", "*i32" + ", i32" * len(names), "int - linux / register, QKV / QKV, 1", "-t", "cpu:avx2:1")
    library = linked(folder, "named")
    out, values = np.zeros(6, np.int32), range(5, 5 + len(names))
    assert library.named_default(None, address(out), *values) == 0
    assert out.tolist() == [sum(values)] * 4 + [0, 0]  # 5 - 7 // 6 programs
    (folder / "cuda.h").write_text(DRIVER_HEADER)
    compiled(folder, "named", "*i32" + ", i32" * len(names), "int, QKV, 1", "-t", "cuda:80:32", "-on", "on_gpu")
    subprocess.run(["gcc", "-Wall", "-Werror", "-I.", "-fsyntax-only", next(folder.glob("on_gpu.*.c"))], cwd=folder, check=True)


def test_variants_that_do_not_belong_together(folder):
    compiled(folder, "scaled", "*fp32, 64, fp32, i64, i8, *fp32, 0.5", "2, 1, 1", "-t", "cpu:avx2:1")
    compiled(folder, "scaled", "*fp32, 64, fp32, i32, i8, *fp32, 0.5", "2, 1, 1", "-t", "cpu:avx2:1")
    tool(folder, "link", *(path.name for path in folder.glob("scaled.*.h")), "-o", "all", fails="LinkerError")


TUNED = '''
import torch_that_is_not_installed as torch
from torch_that_is_not_installed.nn import functional as F
import triton
import triton.language as tl

if torch.cuda.is_available():
    raise RuntimeError("a module that is not there has no GPU")

class Layer(torch.nn.Module):
    def forward(self, x):
        return F.relu(x)

@triton.autotune(configs=[triton.Config({"BLOCK": block}) for block in (64, 128)], key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def activated(x, out, n, MODE: tl.constexpr, EVEN: tl.constexpr, BLOCK: tl.constexpr, SLOPE: tl.constexpr = 0.5):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    v = tl.load(x + at) if EVEN else tl.load(x + at, mask=mask, other=0.0)
    if MODE == "relu, leaky":
        v = tl.where(v > 0, v, v * SLOPE)
    elif MODE == "relu; leaky":
        v = tl.maximum(v, 0.0)
    elif MODE is None:
        v = -v
    tl.store(out + at, v, mask=mask)

@torch.no_grad()
def layer(x: torch.Tensor, dtype=torch.float16):
    return x

needs_content = torch.get_number()

@triton.jit
def refused(x):
    tl.store(x, needs_content)
'''


def test_tuned_kernels_texts_and_absent_modules(folder):
    """Of an autotuned kernel the signature says all constants; a comma in a text separates nothing; variants with other texts are other algorithms."""
    (folder / "kernels.py").write_text(TUNED)
    signature = "*fp32:16, *fp32:16, i32, {}, {}, 64"
    modes = ("'relu, leaky'", "'relu; leaky'", "None")
    for mode in modes:
        compiled(folder, "activated", signature.format(mode, "False"), "(n + 63) / 64, 1, 1", "-t", "cpu:avx2:1")
    library = linked(folder, "activated")
    assert library.activated_get_num_algos() == 3
    x, out = aligned(np.linspace(-2, 2, 100, dtype=np.float32)), aligned(np.zeros(100, np.float32))
    found = []
    for algorithm in range(3):
        assert library.activated(None, address(x), address(out), 100, algorithm) == 0
        found.append(out.tobytes())
    wanted = [np.where(x > 0, x, x / 2), np.maximum(x, 0), -x]
    assert sorted(found) == sorted(values.astype(np.float32).tobytes() for values in wanted)


def test_what_an_absent_module_cannot_do(folder):
    (folder / "kernels.py").write_text(TUNED)
    compiled(folder, "refused", "*fp32", "1, 1, 1", "-t", "cpu:avx2:1", fails="needs_content")
    compiled(folder, "nothing", "*fp32", "1, 1, 1", "-t", "cpu:avx2:1", fails="there are activated, refused")
    compiled(folder, "activated", "*fp32, *fp32, i32, 'x'", "1, 1, 1", "-t", "cpu:avx2:1", fails="says nothing about 'EVEN'")
    compiled(folder, "activated", "*fp32,, i32, 'x', 1, 64", "1, 1, 1", "-t", "cpu:avx2:1", fails="says nothing about 'out'")
    (folder / "kernels.py").write_text("import helper_that_fails\n" + KERNELS)
    (folder / "helper_that_fails.py").write_text("import helper.inside\n")
    compiled(folder, "scaled", "*fp32, 64, fp32, i64, i8, *fp32, 0.5", "2, 1, 1", "-t", "cpu:avx2:1", fails="helper.inside")


def test_the_command_takes_the_same_files(folder):
    """`tilewright compile` reads the file and does not run it."""
    (folder / "kernels.py").write_text(TUNED)
    command = pathlib.Path(triton.__file__).absolute().parent.parent.parent / "bin" / "tilewright"
    done = subprocess.run([os.environ.get("TILEWRIGHT_COMMAND", str(command)), "compile", "kernels.py:activated", "--emit", "obj", "-o", "a.o", "--signature",
                           "*fp32, *fp32, i32, MODE='relu, leaky', EVEN=False, BLOCK=64"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
