"""The runtime for GPUs, tested without a GPU: the messages where there is no driver, and the calls that a driver gets.

The driver of these tests is the C file that the unit tests use (tests/unit/fake_cuda.c): it gives the answers that tests set, and runs nothing.
"""

import json
import pathlib
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilewright as triton
from tilewright import _core

PRELUDE = """
import ctypes
import numpy as np
import tilewright as triton
import tilewright.language as tl
from tilewright.tools.tensor_descriptor import TensorDescriptor
from types import SimpleNamespace

class Tensor:
    def __init__(self, address, device=0):
        self.dtype, self.device, self.address = "torch.float32", SimpleNamespace(type="cuda", index=device), address
    def data_ptr(self):
        return self.address

class Array:
    def __init__(self, address, stream):
        self.__cuda_array_interface__ = {"data": (address, False), "typestr": "<f4", "shape": (16,), "version": 3, "stream": stream}

@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)

@triton.jit
def product(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + at, tl.dot(tl.load(a_ptr + at), tl.load(b_ptr + at)))

@triton.jit
def rows_times_columns(a_desc, b_desc, out_ptr, K):
    acc = tl.zeros((128, 128), tl.float32)
    for k in range(0, K, 64):
        acc = tl.dot(a_desc.load([0, k]), b_desc.load([k, 0]), acc)
    tl.store(out_ptr + tl.arange(0, 128)[:, None] * 128 + tl.arange(0, 128)[None, :], acc)

def half(address, rows, columns, box, stride=None):
    tensor = Tensor(address)
    tensor.dtype = "torch.float16"
    return TensorDescriptor(tensor, [rows, columns], [stride or columns, 1], box)

@triton.jit
def nothing(n):
    pass

def refused(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__ + ":", str(error).splitlines()[0])
"""

# The head of the struct in fake_cuda.h: version, deviceCount, initStatus, major[2], minor[2], registers, localBytes, staticShared,
# maxThreads.
ANSWERS = """
fake = ctypes.CDLL({library!r})
fake.fakeCuda.restype = ctypes.POINTER(ctypes.c_int)
answers = fake.fakeCuda()
for index, value in enumerate([13000, 2, 0, 9, 9, 0, 0, 40, 0, 0, 1024]):
    answers[index] = value
"""


def fake_library():
    """The path of the fake driver, next to the package in the build folder."""
    for folder in pathlib.Path(_core.__file__).resolve().parents:
        found = list((folder / "tests" / "unit").glob("libfake_cuda.*"))
        if found:
            return str(found[0])
    pytest.skip("the unit tests, and with them the fake driver, are not built")


def run(program, tmp_path, monkeypatch, library, answers=""):
    script = tmp_path / "program.py"
    script.write_text(PRELUDE + answers + textwrap.dedent(program))
    monkeypatch.setenv("TILEWRIGHT_LIBCUDA", library)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_cuda_missing(tmp_path, monkeypatch):
    output = run("""
        print(triton.runtime.driver.active.get_current_target().backend)
        try:
            scale[(1,)](Tensor(4096), Tensor(8192), 16, BLOCK=16)
        except RuntimeError as error:
            print(error)
        x = np.ones(16, np.float32)
        scale[(1,)](x, x, 16, BLOCK=16)
        print(x.sum())
    """, tmp_path, monkeypatch, "/nonexistent/libcuda.so.1")
    assert output.startswith("cpu\n") and output.endswith("32.0\n")
    assert "cannot use the NVIDIA driver" in output and "/nonexistent" in output and "install the driver" in output


def test_devices(tmp_path, monkeypatch):
    library = fake_library()
    output = run("""
        active = triton.runtime.driver.active
        print(active.get_current_target(), active.utils.get_device_properties(0)["multiprocessor_count"])
        for arguments in ((Tensor(4096), Tensor(8192, 1)), (Tensor(4096), np.ones(16, np.float32))):
            try:
                scale[(1,)](*arguments, 16, BLOCK=16)
            except ValueError as error:
                print(error)
        with triton.engine("interpret"):
            try:
                scale[(1,)](Tensor(4096), Tensor(8192), 16, BLOCK=16)
            except ValueError as error:
                print(error)
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    lines = output.splitlines()
    assert lines[0] == "GPUTarget(backend='cuda', arch=90, warp_size=32) 132"
    assert lines[1].startswith("kernel 'scale': 'x_ptr' is on CUDA device 0, but 'out_ptr' is on CUDA device 1")
    assert lines[2].startswith("kernel 'scale': 'x_ptr' is on CUDA device 0, but 'out_ptr' is on the CPU")
    assert "x_ptr" in lines[3] and "interpret engine" in lines[3]


def test_kernels_without_tensors(tmp_path, monkeypatch):
    """They run on a GPU if there is one."""
    library = fake_library()
    program = "print(nothing[(1,)](3).metadata.target.backend)"
    assert run(program, tmp_path, monkeypatch, library, ANSWERS.format(library=library)) == "cuda\n"
    monkeypatch.setenv("TRITON_DEFAULT_BACKEND", "cpu")
    assert run(program, tmp_path, monkeypatch, library, ANSWERS.format(library=library)) == "cpu\n"
    monkeypatch.delenv("TRITON_DEFAULT_BACKEND")
    assert run(program, tmp_path, monkeypatch, "/nonexistent/libcuda.so.1") == "cpu\n"


def test_launches(tmp_path, monkeypatch):
    library = fake_library()
    output = run("""
        kernel = scale[(3,)](Tensor(4096), Tensor(8192), 40, BLOCK=16)
        assert kernel.from_cache or 0 < kernel.assemble_seconds < kernel.compile_seconds
        again = scale[(5,)](Array(4096, 7), Array(8192, 7), 40, BLOCK=16)
        print(kernel is again, kernel.n_regs, kernel.metadata.num_warps, kernel.metadata.target.arch, "ptx" in kernel.asm)
        print(".target sm_90a" in kernel.asm["ptx"], "tt.func" in kernel.asm["ttir"], "asm" in kernel.asm)
        kernel[(2,)](Tensor(4096), Tensor(8192), 40, 16, stream=9)
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    assert output.splitlines() == ["True 40 4 90 True", "True True False"]


def test_other_versions_print_nothing_again(tmp_path, monkeypatch):
    library = fake_library()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    output = run("""
        @triton.jit
        def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
            x = tl.load(x_ptr + tl.arange(0, BLOCK))
            tl.static_print("copied:", x)
            tl.store(out_ptr + tl.arange(0, BLOCK), x)

        copy[(1,)](Tensor(4096), Tensor(4160), BLOCK=128)  # they overlap: a version is compiled that does not rely on it
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    assert output == "copied: fp32[constexpr[128]]\n"


def test_ptx_in_place_of_the_compilers(tmp_path, monkeypatch):
    library = fake_library()
    output = run("""
        import pathlib
        x, out = Tensor(4096), Tensor(8192)
        own = scale[(1,)](x, out, 16, BLOCK=16).asm["ptx"]
        path = pathlib.Path(__file__).with_name("given.ptx")

        def given(text):
            path.write_text(text)
            return scale[(1,)](x, out, 16, BLOCK=16, ir_override=path)

        for text in (own + "// changed by hand", own.replace(".entry scale(", ".entry other(")):
            print(given(text).asm["ptx"] == text != own)
        more = own.replace(".param .u32 scale_param_2", ".param .u32 scale_param_2, .param .u64 scratch")
        print(more != own and given(more).metadata.num_warps)
        refused(lambda: given(own.replace(".param .u32 scale_param_2", ".param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d")))
        refused(lambda: given(own + own))
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    lines = output.splitlines()
    assert lines[:3] == ["True", "True", "4"]
    assert "'scale' has 6 parameters, but the launch passes 3" in lines[3] and "exactly one kernel" in lines[4]


def test_memory_without_a_tensor_library(tmp_path, monkeypatch):
    """The driver tells in which memory an object lies that has an address, but no device."""
    library = fake_library()
    output = run("""
        from tilewright._C.libtriton import nvidia

        class Pointer:
            dtype = tl.float32
            def __init__(self, address):
                self.address = address
            def data_ptr(self):
                return self.address

        address = nvidia.device_malloc(64)
        nvidia.copy_host_to_device(address, bytes(64))
        print(len(nvidia.copy_device_to_host(address, 64)))
        print(scale[(1,)](Pointer(address), Pointer(address), 16, BLOCK=16).metadata.target.backend)
        host = np.ones(16, np.float32)
        print(scale[(1,)](Pointer(host.ctypes.data), Pointer(host.ctypes.data), 16, BLOCK=16).metadata.target.backend, host.sum())
        nvidia.synchronize()
        nvidia.device_free(address)
        refused(lambda: nvidia.device_malloc(0))
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    lines = output.splitlines()
    assert lines[:3] == ["64", "cuda", "cpu 32.0"] and "allocation" in lines[3]


def test_a_warm_launch_is_one_call_of_the_driver(tmp_path, monkeypatch):
    library = fake_library()
    output = run("""
        def calls(launch):
            launch()
            before = fake.fakeCudaCalls()
            for _ in range(10):
                launch()
            return (fake.fakeCudaCalls() - before) / 10

        x, out = Tensor(4096), Tensor(8192)
        print(calls(lambda: scale[(3,)](x, out, 40, BLOCK=16)))
        print(calls(lambda: scale[lambda meta: (triton.cdiv(40, meta["BLOCK"]),)](x, out, 40, BLOCK=16, num_warps=8)))
        print(calls(lambda: scale[(3,)](x, out, 40, BLOCK=16, launch_pdl=True)))
        a, b = half(4096, 128, 512, [128, 64]), half(8192, 512, 128, [64, 128])
        print(calls(lambda: rows_times_columns[(1,)](a, b, out, 512)))
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    assert output.split() == ["1.0"] * 4


def test_a_dry_run_leaves_the_launch_nothing_to_compile(tmp_path, monkeypatch):
    """The tuner's dry run: these tensors may overlap, so the launch runs another version than the one for its types."""
    library = fake_library()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    output = run("""
        from tilewright.runtime.jit import DRY_RUN

        def calls(launch):
            before = fake.fakeCudaCalls()
            launch()
            return fake.fakeCudaCalls() - before

        for ahead, num_warps in ((True, 4), (DRY_RUN, 8)):
            call = dict(BLOCK=16, num_warps=num_warps)
            scale.run(Tensor(4096), Tensor(4160), 40, grid=(3,), warmup=ahead, **call)
            print(calls(lambda: scale[(3,)](Tensor(4096), Tensor(4160), 40, **call)) > 1)
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    assert output.split() == ["True", "False"]


def test_what_does_not_fit(tmp_path, monkeypatch):
    library = fake_library()
    output = run("""
        x, out = Tensor(4096), Tensor(8192)
        refused(lambda: scale[(1,)](x, out, 16, BLOCK=16, num_warps=64))
        refused(lambda: product[(1,)](x, x, out, N=512))
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    threads, shared = output.splitlines()
    assert threads.startswith("OutOfResources: out of resource: threads, Required: 2048, Hardware limit: 1024")
    assert shared.startswith("OutOfResources: out of resource: shared memory, Required: ") and "Hardware limit: 232448" in shared


def test_tensors_that_no_map_can_be_made_for(tmp_path, monkeypatch):
    """Such tensors get a version of their own."""
    library = fake_library()
    output = run("""
        def launch(address, stride):
            a, b = half(4096, 128, 512, [128, 64]), half(address, 512, 128, [64, 128], stride)
            print(":16" in rows_times_columns[(1,)](a, b, Tensor(16384), 512).signature.split(", ")[1])

        launch(8192, 128)
        launch(8196, 128)
        launch(8192, 132)
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    assert output.split() == ["True", "False", "False"]


@pytest.mark.parametrize("answers, message", [
    ("answers[0] = 12030", "the NVIDIA driver is too old: it supports CUDA 12.3, but at least 12.4 is needed"),
    ("answers[0] = 11080", "it supports CUDA 11.8, but at least 12.0 is needed"),
    ("answers[3], answers[5] = 7, 0", "Fake H100 (device 0) has compute capability 7.0, which the compiler does not support"),
    ("answers[1] = 0", "cannot use CUDA device 0: this machine has none"),
    ("import os; os.environ['TILEWRIGHT_GPU_TARGET'] = 'sm_91'", "TILEWRIGHT_GPU_TARGET is 'sm_91', whose code Fake H100 does not run"),
])
def test_devices_that_cannot_be_used(tmp_path, monkeypatch, answers, message):
    library = fake_library()
    output = run("refused(lambda: scale[(1,)](Tensor(4096), Tensor(8192), 16, BLOCK=16))", tmp_path, monkeypatch, library,
                 ANSWERS.format(library=library) + answers + "\n")
    assert message in output


def test_code_for_an_older_device(tmp_path, monkeypatch):
    library = fake_library()
    monkeypatch.setenv("TILEWRIGHT_GPU_TARGET", "sm_80")
    output = run("""
        kernel = scale[(1,)](Tensor(4096), Tensor(8192), 16, BLOCK=16)
        print(kernel.metadata.target.arch, ".target sm_80" in kernel.asm["ptx"])
    """, tmp_path, monkeypatch, library, ANSWERS.format(library=library))
    assert output.split() == ["80", "True"]


def test_out_of_resources_says_how_much():
    error = triton.OutOfResources(300000, 232448, "shared memory")
    assert str(error).startswith("out of resource: shared memory, Required: 300000, Hardware limit: 232448")
    copy = pickle.loads(pickle.dumps(error))
    assert (copy.required, copy.limit, copy.name) == (300000, 232448, "shared memory")


def test_targets_are_named():
    source = triton.compiler.ASTSource(fn=kernel_for_compile, signature={"x_ptr": "*fp32"})
    with pytest.raises(ValueError, match="no GPU target '70': there are sm_75, sm_80"):
        triton.compile(source, target=triton.backends.compiler.GPUTarget("cuda", 70, 32))


@triton.jit
def kernel_for_compile(x_ptr):
    triton.language.store(x_ptr, 1.0)


COMMAND = pathlib.Path(_core.__file__).resolve().parents[2] / "bin" / "tilewright"
TUNED = """
import triton
import triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": block}, num_warps=4) for block in (256, 512)], key=["n"])
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)
"""


@pytest.mark.skipif(not COMMAND.exists(), reason="the command is not next to this package, which is not in a build folder")
def test_commands_on_a_device(tmp_path, monkeypatch):
    """`run` and `tune` with --device: tensors are copied to the GPU, the code is for it, and its clock measures."""
    path = tmp_path / "tuned.py"
    path.write_text(TUNED)
    monkeypatch.setenv("TILEWRIGHT_LIBCUDA", fake_library())
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    words = ["--grid", "cdiv(n, BLOCK)", "--arg", "x_ptr=arange:f32[1000]", "--arg", "out_ptr=zeros:f32[1000]", "--arg", "n=1000"]

    def command(name, *more):
        done = subprocess.run([COMMAND, name, path, *words, *more], capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    status, found, _ = command("tune", "--device", "cuda:0")
    assert status == 0 and "double_kernel (x_ptr=*fp32, out_ptr=*fp32, n=1000) on cuda Fake H100 sm_90a" in found
    assert "2.500 ms  BLOCK=256" in found
    status, found, _ = command("tune", "--device", "cuda", "--space", "BLOCK=128,1024 num_warps=2,4")
    assert status == 0 and 'triton.Config({"BLOCK": ' in found and "BLOCK=1024, num_warps=2" in found
    status, found, said = command("run", "--device", "cuda", "--time", "--json")
    assert status == 0 and json.loads(found)["time"]["device"] == "Fake H100" and "chosen: BLOCK=" in said
    status, found, _ = command("run", "--device", "cuda", "--time")
    assert "time: median 2.500 ms (20% 2.500 ms, 80% 2.500 ms) on Fake H100" in found
    for device, message in (("gpu", "--device is cpu, cuda or cuda:N, and not 'gpu'"), ("cuda:x", "and not 'cuda:x'"),
                            ("cuda:5", "cannot use CUDA device 5")):
        status, _, said = command("run", "--device", device)
        assert status == 1 and message in said
    status, _, said = command("run", "--device", "cuda", "--interpret")
    assert status == 1 and "--device cuda runs compiled code on the GPU, and --interpret runs none there" in said
