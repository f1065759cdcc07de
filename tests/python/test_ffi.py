"""The TVM-FFI entry of a built library: from C and Rust, which need no library of TVM-FFI, and from JAX and PyTorch, if they
are installed."""

import shutil
import subprocess
import sys

import pytest

from test_build import LIBRARIES, ROOT, SIGNATURES, build, runtime

PROGRAMS = ROOT / "tests" / "python" / "cpp"
EXPECTED = ["0 wrong", "ValueError: kernel 'scale': argument 'x' is a tensor of fp64, and the kernel takes fp32",
            "ValueError: kernel 'scale': argument 'n' is 5000000000, which int32 cannot hold"]
C_FLAGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-rdynamic"]
COMPILERS = {"gcc": ["ffi_caller.c", *C_FLAGS], "clang-22": ["ffi_caller.c", *C_FLAGS], "rustc": ["ffi_caller.rs", "-C", "link-args=-rdynamic"]}


def printed(folder, compiler, source, *flags, **environment):
    """The lines that a program prints, which calls the built kernel `scale`."""
    build(folder, "--ffi", "--grid", "cdiv(n, BLOCK)", signatures=SIGNATURES[1:2], target="cpu:sse2,cpu:avx2")
    shutil.copy(LIBRARIES / "libtilewright_rt.so.0", folder)
    link = ["-L", folder, "-lscale"] if compiler == "rustc" else [folder / "libscale.so"]
    subprocess.run([compiler, PROGRAMS / source, *flags, *link, "-o", folder / "program"], check=True)
    done = subprocess.run([folder / "program"], capture_output=True, text=True, env={"LD_LIBRARY_PATH": str(folder), **environment})
    assert done.returncode == 0, done
    return done.stdout.splitlines()


@pytest.mark.parametrize("compiler", COMPILERS)
def test_programs(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    assert printed(tmp_path, compiler, *COMPILERS[compiler]) == EXPECTED


def test_bad_pointers(tmp_path):
    """A tensor with elements has memory. TILEWRIGHT_CHECK_POINTERS=1 also checks that the memory is mapped, and writable."""
    lines = printed(tmp_path, "gcc", "ffi_pointers.c", *C_FLAGS, TILEWRIGHT_CHECK_POINTERS="1")
    assert lines[:7] + lines[8:] == [
        "ValueError: kernel 'scale': the call gives 4 arguments, whose address is null",
        "ValueError: kernel 'scale': argument 'x' is a tensor whose address is null",
        "ValueError: kernel 'scale': argument 'x' is a tensor of rank 1 without a shape",
        "ValueError: kernel 'scale': argument 'x' is a tensor with elements, and the address of its memory is null",
        "RuntimeError: kernel 'scale' cannot use 'x': it is null",
        "RuntimeError: kernel 'scale' cannot use 'x': it is null",
        "RuntimeError: kernel 'scale' cannot use 'x': no memory is mapped at 0x1000",
        "launched", "launched", "launched"], lines
    assert lines[7].startswith("RuntimeError: kernel 'scale' cannot use 'out': the memory at"), lines


HALVES = """import triton
import triton.language as tl

@triton.jit
def scale(x, out, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)
"""


def test_tensors_of_pytorch(tmp_path):
    torch, tvm_ffi = pytest.importorskip("torch"), pytest.importorskip("tvm_ffi")
    types = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    build(tmp_path, "--ffi", "--grid", "cdiv(n, BLOCK)", source=HALVES, signatures=[f"*{name}, *{name}, fp32, i32, BLOCK=128" for name in types], target="cpu:sse2,cpu:avx2")
    runtime()
    module = tvm_ffi.load_module(str(tmp_path / "libscale.so"))
    for name, dtype in types.items():
        x, out = torch.randn(1000).to(dtype), torch.zeros(1000, dtype=dtype)
        module[f"scale_{name}"](x, out, 2.5, 1000)
        torch.testing.assert_close(out, (x.float() * 2.5).to(dtype), rtol=0, atol=0)
    with pytest.raises(ValueError, match="argument 'x' is a tensor of fp32, and the kernel takes bf16"):
        module["scale_bf16"](torch.ones(8), torch.zeros(8), 1.0, 8)


JAX = """import jax
import jax.numpy as jnp
import jax_tvm_ffi
import tvm_ffi

module = tvm_ffi.load_module("./libscale.so")
x = jax.random.normal(jax.random.key(0), (1000,))

def scale(name, x):
    return jax.ffi.ffi_call(name, jax.ShapeDtypeStruct(x.shape, x.dtype))(x, factor=2.5, n=x.size)

for name, dtype in ("scale_fp32", jnp.float32), ("scale_fp16", jnp.float16), ("scale_bf16", jnp.bfloat16):
    jax_tvm_ffi.register_ffi_target(name, module[name], ["args", "rets", "attrs.factor", "attrs.n"], platform="cpu")
    tile = x.astype(dtype)
    result = jax.jit(scale, static_argnums=0)(name, tile)
    assert result.dtype == dtype and (result == (tile.astype(jnp.float32) * 2.5).astype(dtype)).all(), name
try:
    scale("scale_bf16", x)
except jax.errors.JaxRuntimeError as error:
    print(error)
"""


def test_arrays_of_jax(tmp_path):
    pytest.importorskip("jax_tvm_ffi")
    types = ["fp32", "fp16", "bf16"]
    build(tmp_path, "--ffi", "--grid", "cdiv(n, BLOCK)", source=HALVES, signatures=[f"*{name}, *{name}, fp32, i32, BLOCK=128" for name in types], target="cpu:sse2,cpu:avx2")
    shutil.copy(LIBRARIES / "libtilewright_rt.so.0", tmp_path)
    (tmp_path / "with_jax.py").write_text(JAX)
    done = subprocess.run([sys.executable, "with_jax.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "argument 'x' is a tensor of fp32, and the kernel takes bf16" in done.stdout, done


def test_the_script_for_gpus(tmp_path):
    """tests/gpu/device/ffi.py, with arrays of NumPy."""
    done = subprocess.run([sys.executable, ROOT / "tests" / "gpu" / "device" / "ffi.py", "--cpu"], capture_output=True, text=True)
    assert done.returncode == 0 and "numpy, C: right" in done.stdout, done
