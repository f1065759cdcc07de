#!/usr/bin/env python3
"""Calls a kernel that was built ahead of time through its TVM-FFI entry, with arrays on the GPU.

    python tests/gpu/device/ffi.py [LIBRARY] [--cpu]

The arrays are CuPy's or PyTorch's, whichever is installed, or else memory of the CUDA driver. The entry is called by the C convention, and with
tvm_ffi, if that is installed. LIBRARY is the result of `--build`, which needs the compiler and no GPU: the files of its folder can be copied to a
machine with a GPU. Without LIBRARY, the kernel is built first. --cpu does the same with NumPy arrays, to test this script.
"""

import argparse
import ctypes
import importlib
import pathlib
import shutil
import subprocess
import sys
import tempfile

KERNEL = """import triton
import triton.language as tl

@triton.jit
def scale(x, out, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)
"""
COUNT = 100003


def build(folder):
    """The library, for H200, other GPUs from sm_80 on, and CPUs, next to the runtime library."""
    import tilewright
    package = pathlib.Path(tilewright.__file__).absolute().parent
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "scale.py").write_text(KERNEL)
    runtime = subprocess.run([sys.executable, "-m", "tilewright", "--runtime"], check=True, capture_output=True, text=True).stdout.strip()
    command = [package.parents[1] / "bin" / "tilewright"] if (package.parents[1] / "bin" / "tilewright").exists() else [sys.executable, "-m", "tilewright"]
    subprocess.run([*command, "build", folder / "scale.py", "--target", "cpu:sse2,cpu:avx2,cuda:sm_80,cuda:sm_90a", "--grid", "cdiv(n, BLOCK)",
                    "--signature", "*fp32, *fp32, fp32, i32, BLOCK=1024", "--ffi", "-o", folder / "libscale.so"], check=True)
    shutil.copy(runtime, folder)
    return folder / "libscale.so"


class Tensor(ctypes.Structure):
    """DLTensor of dlpack.h."""
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("id", ctypes.c_int32), ("rank", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("offset", ctypes.c_uint64)]


class Value(ctypes.Union):
    _fields_ = [("integer", ctypes.c_int64), ("floating", ctypes.c_double), ("pointer", ctypes.c_void_p)]


class Any(ctypes.Structure):
    """TVMFFIAny of tvm/ffi/c_api.h."""
    _fields_ = [("type", ctypes.c_int32), ("length", ctypes.c_uint32), ("value", Value)]


def tensor_of(capsule):
    """The address of the DLTensor at the beginning of a DLManagedTensor. The capsule must live as long."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return pointer(capsule, b"dltensor")


def call(entry, x, out, factor, n):
    """The result of the entry: 0, or -1 after an error. Tensors are addresses of DLTensor."""
    given = (Any * 4)(Any(7, 0, Value(pointer=x)), Any(7, 0, Value(pointer=out)), Any(3, 0, Value(floating=factor)), Any(1, 0, Value(integer=n)))
    result = Any()
    return entry(None, given, 4, ctypes.byref(result))


class Driver:
    """Arrays in memory of the CUDA driver, without a library of arrays."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self.check(self.cuda.cuInit(0))
        self.check(self.cuda.cuDeviceGet(ctypes.byref(device), 0))
        self.check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
        self.check(self.cuda.cuCtxSetCurrent(context))

    @staticmethod
    def check(status):
        assert status == 0, f"the CUDA driver returns {status}"

    def tensor(self, values):
        content = (ctypes.c_float * len(values))(*values)
        memory, shape = ctypes.c_uint64(), (ctypes.c_int64 * 1)(len(values))
        self.check(self.cuda.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(ctypes.sizeof(content))))
        self.check(self.cuda.cuMemcpyHtoD_v2(memory, content, ctypes.c_size_t(ctypes.sizeof(content))))
        tensor = Tensor(memory.value, 2, 0, 1, 2, 32, 1, shape, None, 0)
        tensor.keep = shape
        return tensor

    def values(self, tensor):
        content = (ctypes.c_float * tensor.shape[0])()
        self.check(self.cuda.cuCtxSynchronize())
        self.check(self.cuda.cuMemcpyDtoH_v2(content, ctypes.c_uint64(tensor.data), ctypes.c_size_t(ctypes.sizeof(content))))
        return list(content)


def check(name, values):
    values = list(values)
    assert len(values) == COUNT and all(value == 2.5 * (i % 1000) for i, value in enumerate(values)), f"{name}: wrong"
    print(f"{name}: right", flush=True)


def installed(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"{name}: not installed", flush=True)
        return None


def arrays(cpu):
    """name -> (x, an array of zeros, a function that returns a list of an array) of the libraries that are installed."""
    if cpu:
        numpy = importlib.import_module("numpy")
        return {"numpy": (numpy.arange(COUNT, dtype="float32") % 1000, numpy.zeros(COUNT, "float32"), lambda array: array.tolist())}
    found = {}
    if cupy := installed("cupy"):
        found["cupy"] = (cupy.arange(COUNT, dtype="float32") % 1000, cupy.zeros(COUNT, "float32"), lambda array: cupy.asnumpy(array).tolist())
    if torch := installed("torch"):
        found["torch"] = (torch.arange(COUNT, dtype=torch.float32, device="cuda") % 1000, torch.zeros(COUNT, device="cuda"), lambda array: array.tolist())
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", nargs="?")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--build", metavar="FOLDER", help="only build the library, in this folder")
    options = parser.parse_args()
    if options.build:
        print(build(pathlib.Path(options.build).absolute()))
        return
    with tempfile.TemporaryDirectory() as folder:
        library = pathlib.Path(options.library).absolute() if options.library else build(pathlib.Path(folder))
        entry = getattr(ctypes.CDLL(str(library)), "__tvm_ffi_scale")
        if not options.cpu:
            driver = Driver()
            x, out = driver.tensor([float(i % 1000) for i in range(COUNT)]), driver.tensor([0.0] * COUNT)
            assert call(entry, ctypes.addressof(x), ctypes.addressof(out), 2.5, COUNT) == 0
            check("memory of the driver", driver.values(out))
        tvm_ffi = installed("tvm_ffi")
        for name, (x, out, as_list) in arrays(options.cpu).items():
            capsules = [x.__dlpack__(), out.__dlpack__()]
            assert call(entry, *map(tensor_of, capsules), 2.5, COUNT) == 0
            check(f"{name}, C", as_list(out))
            out[:] = 0
            if tvm_ffi:
                module = tvm_ffi.load_module(str(library))
                module.scale(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(out), 2.5, COUNT)
                check(f"{name}, tvm_ffi", as_list(out))
                try:
                    module.scale(tvm_ffi.from_dlpack(x.astype("float64") if hasattr(x, "astype") else x.double()), tvm_ffi.from_dlpack(out), 2.5, COUNT)
                    sys.exit(f"{name}: no error for fp64")
                except ValueError as error:
                    assert "argument 'x' is a tensor of fp64, and the kernel takes fp32" in str(error)


if __name__ == "__main__":
    main()
