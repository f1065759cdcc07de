"""Host code that generators such as PyTorch's Inductor write: it compiles from descriptions, in other processes too, and launches by
`run`. The first half needs no PyTorch; the second one runs torch.compile if it is installed."""

import copy
import importlib.util
import os
import pathlib
import pickle
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright import _utils
from tilewright.backends import backends
from tilewright.backends import driver as driver_module
from tilewright.backends.compiler import GPUTarget
from tilewright.compiler import ASTSource, CompiledKernel, make_backend


@triton.jit
def scale_rows(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    at = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    mask = at < xnumel
    tl.store(out_ptr0 + at, tl.load(in_ptr0 + at, mask) * 2, mask)


def compiled(**options):
    source = ASTSource(scale_rows, {"in_ptr0": "*fp32", "out_ptr0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"}, {"XBLOCK": 64},
                       {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]]})
    return triton.compile(source, target=GPUTarget("cpu", "", 32), options=options)


def run(kernel, x, count):
    """Launches as generated code does."""
    out = np.zeros_like(x)
    kernel.run(-(count // -64), 1, 1, 0, kernel.function, kernel.packed_metadata, None, triton.knobs.runtime.launch_enter_hook,
               triton.knobs.runtime.launch_exit_hook, x, out, count, 64)
    return out


X = np.arange(200, dtype=np.float32)


def test_the_machines_by_name():
    assert set(backends) == {"cpu", "nvidia"}
    cpu = backends["cpu"]
    assert isinstance(triton.runtime.driver.active, cpu.driver) and cpu.driver.is_active()
    assert cpu.compiler.supports_target(GPUTarget("cpu", "avx2", 1)) and not cpu.compiler.supports_target(GPUTarget("cuda", 90, 32))
    options = make_backend(GPUTarget("cuda", 90, 32)).parse_options({"num_warps": 8, "debug": None, "unknown": 3})
    assert (options.num_warps, options.num_stages, options.debug, options.warp_size) == (8, 3, False, 32)
    with pytest.raises(RuntimeError, match="0 compatible backends"):
        make_backend(GPUTarget("hip", "gfx942", 64))


def test_a_forked_worker_knows_of_the_gpu_that_pytorch_has_counted(monkeypatch):
    """CUDA tells a forked process nothing, but torch.cuda keeps its earlier count. If CUDA answers, its answer counts."""
    driver = backends["nvidia"].driver
    monkeypatch.setattr(driver, "_found", False)
    monkeypatch.setattr(driver_module, "_torch_cuda", lambda: None)
    monkeypatch.setattr(driver_module._core, "cuda_device_count", lambda: 0)
    assert not driver.is_active()
    monkeypatch.setattr(driver_module, "_torch_cuda", object)
    assert driver.is_active()
    monkeypatch.setattr(driver, "_found", False)
    monkeypatch.setattr(driver_module._core, "cuda_device_count", lambda: 1)

    def too_old(number):
        raise RuntimeError

    monkeypatch.setattr(driver_module._core, "cuda_device", too_old)
    assert not driver.is_active()


def test_a_forked_worker_asks_pytorch_for_no_device(monkeypatch):
    """Its parent has used CUDA, so PyTorch refuses to initialize CUDA again; the worker compiles for the GPU that its parent names."""

    class Cuda:
        _is_in_bad_fork = staticmethod(lambda: True)

        @staticmethod
        def current_device():
            raise RuntimeError("Cannot re-initialize CUDA in forked subprocess")

    driver = backends["nvidia"].driver
    monkeypatch.setattr(driver, "_found", True)
    monkeypatch.setattr(driver_module, "_torch_cuda", lambda: Cuda)
    monkeypatch.delenv("TRITON_CPU_BACKEND", raising=False)
    monkeypatch.delenv("TRITON_DEFAULT_BACKEND", raising=False)
    config = type(triton.runtime.driver)()
    try:
        assert isinstance(config.active, driver)
        source = ASTSource(scale_rows, {"in_ptr0": "*fp32", "out_ptr0": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"}, {"XBLOCK": 64})
        kernel = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 2})
        assert ".target sm_90a" in kernel.asm["ptx"]
    finally:
        triton.runtime.driver.reset_active()


def test_private_names_that_generated_helpers_import():
    from tilewright.language.standard import _log2

    @triton.jit
    def bits(out, N: tl.constexpr):
        n: tl.constexpr = _log2(N)
        tl.store(out, n)

    out = np.zeros(1, np.int32)
    for length, expected in ((1, 0), (2, 1), (64, 6), (96, 6)):
        bits[(1,)](out, length)
        assert out[0] == expected
    with pytest.raises(ImportError):
        from tilewright.language.standard import _log3  # noqa: F401

    @triton.jit
    def packed(out, x, TYPE: tl.constexpr):
        TYPE = tl.core._unwrap_if_constexpr(TYPE)
        width: tl.constexpr = TYPE.primitive_bitwidth
        tl.store(out, (tl.core._unwrap_if_constexpr(x) + 1).to(TYPE).to(tl.int32) << width)

    packed[(1,)](out, 6, tl.uint8)
    assert out[0] == 7 << 8


def test_the_fields_of_a_compiled_kernel():
    kernel = compiled(num_warps=2)
    assert kernel.src.fn is scale_rows and kernel.src.constants == {(3,): 64} and kernel.metadata.num_warps == 2
    assert kernel.module is None and kernel.function is None
    kernel._init_handles()
    assert kernel.module is not None and kernel.function is not None
    assert kernel.metadata.shared > 0 and kernel.n_regs > 0 and kernel.n_spills == 0
    assert bytes.fromhex(kernel.hash) and kernel.metadata.hash == kernel.hash and kernel.metadata._asdict()["target"].backend == "cpu"
    np.testing.assert_array_equal(run(kernel, X, 150), np.where(X < 150, X * 2, 0))


def test_what_the_description_promises_is_checked():
    kernel = compiled()
    shifted = np.zeros(201, np.float32)[1:]
    with pytest.raises(ValueError, match="'in_ptr0'.*is a multiple of 16"):
        run(kernel, shifted, 10)


def test_a_kernel_goes_to_another_process(tmp_path):
    """Its dict is pickled, as PyTorch's compile workers do, and its function is not."""
    kernel = compiled()
    fn = kernel.src.fn
    kept = fn.fn, fn.__globals__, fn.repr, fn._hash_lock if hasattr(fn, "_hash_lock") else None
    fn.fn = fn.__globals__ = None
    fn.repr = None
    try:
        state = {**kernel.__dict__, "metadata": kernel.metadata._asdict(), "module": None, "function": None, "run": None}
        (tmp_path / "state").write_bytes(pickle.dumps(state))
    finally:
        fn.fn, fn.__globals__, fn.repr = kept[:3]
    (tmp_path / "script.py").write_text(textwrap.dedent("""
        import pickle
        import numpy as np
        import tilewright
        tilewright.install()  # a class that was met as triton's keeps that name
        from tilewright.compiler import CompiledKernel
        kernel = CompiledKernel.__new__(CompiledKernel)
        kernel.__dict__.update(pickle.load(open("state", "rb")))
        x = np.arange(200, dtype=np.float32)
        out = np.zeros_like(x)
        kernel._init_handles()
        kernel.run(4, 1, 1, 0, kernel.function, kernel.packed_metadata, None, [], [], x, out, 200, 64)
        print((out == 2 * x).all(), kernel.src.fn.arg_names, kernel.hash, "tt.func" in kernel.asm["ttir"], kernel.src.fn.cache_key)
    """))
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["True", "['in_ptr0',", "'out_ptr0',", "'xnumel',", "'XBLOCK']", kernel.hash, "True", fn.cache_key]


def test_a_pickled_kernel_is_the_same():
    kernel = compiled()
    again = pickle.loads(pickle.dumps(kernel._handle))
    assert again.description == kernel._handle.description and again.key == kernel._handle.key
    out = np.zeros_like(X)
    again.launch((4,), None, X, out, 200, 64)
    np.testing.assert_array_equal(out, 2 * X)
    assert pickle.loads(pickle.dumps(scale_rows)) is scale_rows and copy.deepcopy(scale_rows) is scale_rows
    damaged = list(kernel._handle.__reduce__()[1])
    damaged[0] = damaged[0][:40]
    with pytest.raises(ValueError, match="pickled by another version, or damaged"):
        kernel._handle.__reduce__()[0](*damaged)


def test_the_cache_serves_descriptions():
    assert not compiled().from_cache and compiled().from_cache
    assert not compiled(num_warps=8).from_cache


@triton.jit
def add_small(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 4)
    tl.store(out_ptr + at, tl.load(x_ptr + at) + tl.load(y_ptr + at))


@pytest.mark.parametrize("engine", ["cpu", "interpret"])
def test_overflow_is_checked_unless_it_may_happen(engine):
    """Code generators ask for device_assert, but not for overflow checks, because their arithmetic relies on overflow."""
    x, out = np.full(4, 200, np.uint8), np.zeros(4, np.uint8)
    with triton.engine(engine):
        with pytest.raises((RuntimeError, triton.InterpreterError), match="int8 overflow detected for operation add"):
            add_small[(1,)](x, x, out, debug=True)
        add_small[(1,)](x, x, out, debug=True, sanitize_overflow=False)
    assert (out == (400 & 255)).all()
    source = ASTSource(add_small, {"x_ptr": "*u8", "y_ptr": "*u8", "out_ptr": "*u8"})
    kernel = triton.compile(source, options={"debug": True, "sanitize_overflow": False})
    assert kernel.metadata.sanitize_overflow is False and "overflow" not in kernel.asm["ttir"]
    assert "overflow" in triton.compile(source, options={"debug": True}).asm["ttir"]


@triton.jit
def write_one(ptr, offset):
    tl.store(ptr + offset, 1.0)


@triton.jit
def many_ways(desc, x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tile = tl.load(x_ptr + at[None, :])
    for i in range(2, n):
        write_one(out_ptr, i)
    desc.store([0, 0], tile + tl.sum(tile.reshape(BLOCK)))


def operations(**constants):
    """(the module of many_ways, its operations)."""
    signature = {"desc": "tensordesc<fp32[1, 16]>", "x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    backend = make_backend(GPUTarget("cpu", "", 1))
    context = triton._C.libtriton.ir.context()
    triton._C.libtriton.ir.load_dialects(context)
    backend.load_dialects(context)
    options = backend.parse_options({})
    module = ASTSource(many_ways, signature, {"BLOCK": 16, **constants}).make_ir(
        backend.target, options, backend.get_codegen_implementation(options), backend.get_module_map(), context)
    seen = []
    module.walk(seen.append)
    assert module.verify() and "@many_ways" in str(module) and seen[-1].get_name() == "builtin.module"
    return seen


def test_operations_can_be_walked_over():
    seen = operations()
    named = {op.get_name(): op for op in seen}
    assert {"tt.descriptor_store", "tt.load", "tt.reshape", "tt.expand_dims", "scf.for"} <= named.keys()
    row = named["tt.expand_dims"].get_result(0)
    assert row.get_shape() == [1, 16] and named["tt.reshape"].get_result(0).get_shape() == [16]
    assert named["tt.make_range"].get_int_attr("end") == 16 and named["tt.make_range"].get_str_attr("end") is None
    assert 2 in [op.get_constant_value() for op in seen if op.get_name() == "arith.constant"]
    first = next(op for op in seen if op.get_name() == "tt.func")
    assert "many_ways" in first.get_str_attr("sym_name") and first.get_block().get_parent() is not None
    called = {op.get_flat_symbol_ref_attr("callee") for op in seen if op.get_name() == "tt.call"}
    assert called <= {op.get_str_attr("sym_name") for op in seen if op.get_name() == "tt.func"} and len(called) >= 2
    # An operation comes after those in its regions, and each operand is another operation's result or a block's argument.
    loop, body = named["scf.for"], named["scf.yield"].get_block()
    assert body.get_parent().id() == loop.get_region(0).id() and seen.index(named["scf.yield"]) < seen.index(loop)
    made = {op.get_result(i).id() for op in seen for i in range(op.get_num_results())}
    given = {op.get_block().get_argument(i).id() for op in seen if op.get_block() for i in range(op.get_block().get_num_arguments())}
    assert all(op.get_operand(i).id() in made | given for op in seen for i in range(op.get_num_operands()))


def test_a_descriptor_is_an_address_with_sizes_and_strides():
    """Programs that count a kernel's arguments rely on that."""
    seen = operations()
    made = next(op for op in seen if op.get_name() == "tt.make_tensor_descriptor")
    arguments = [made.get_block().get_argument(i).id() for i in range(made.get_block().get_num_arguments())]
    assert len(arguments) == 5 + 3 and made.get_operand(0).id() == arguments[0]
    store = next(op for op in seen if op.get_name() == "tt.descriptor_store")
    assert store.get_operand(0).id() == made.get_result(0).id()


def test_what_constants_leave_out_is_among_the_operations():
    """A program that asks to which arguments a kernel may write passes arbitrary numbers for unknown ones."""
    assert any(op.get_name() == "scf.for" for op in operations(n=2))


def test_what_an_argument_is_specialized_for():
    specialize, base = triton.runtime.jit.native_specialize_impl, make_backend(GPUTarget("cpu", "", 1))
    desc = triton.tools.tensor_descriptor.TensorDescriptor.from_tensor(np.zeros((4, 32), np.float32), [2, 16])
    cases = [((16,), ("i32", "D")), ((3,), ("i32", "")), ((1,), ("constexpr", 1)), ((1, False, False), ("i32", None)), ((True,), ("i1", None)),
             ((2.5,), ("fp32", None)), ((None,), ("constexpr", None)), (((16, 1),), (("i32", "constexpr"), ("D", 1))),
             ((desc,), ("tensordesc<fp32[2, 16]>", None))]
    for arguments, expected in cases:
        assert specialize(base, *arguments) == expected
    types, properties = zip(*[specialize(base, value) for value in (16, (3, 32), None)])
    paths = _utils.find_paths_if(properties, lambda path, member: isinstance(member, str))
    assert paths == [(0,), (1, 0), (1, 1)] and [_utils.get_iterable_path(properties, path) for path in paths] == ["D", "", "D"]
    assert types == ("i32", ("i32", "i32"), "constexpr")


# ---- with PyTorch

PROGRAMS = """
import torch, torch.nn as nn, torch.nn.functional as F
import torch._inductor.config as config
from torch._inductor import metrics
config.cpu_backend = "triton"
config.compile_threads = THREADS
config.force_disable_caches = True
torch.manual_seed(0)

class Block(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(width), nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
    def forward(self, x):
        return x + self.inner(self.norm(x))

def tensors(x):
    return [x] if isinstance(x, torch.Tensor) else [t for part in x for t in tensors(part)]

programs = {
    "pointwise": (lambda x, y: F.gelu(x) + y.sin(), (torch.randn(1000), torch.randn(1000))),
    "softmax": (lambda x: x.softmax(-1), (torch.randn(32, 300),)),
    "reductions": (lambda x: (x.amax(-1), x.argmax(-1), x.sum(0), torch.var_mean(x, -1)), (torch.randn(50, 133),)),
    "integers": (lambda a: (a + a, a // 3, a * 300), (torch.randint(0, 255, (1000,), dtype=torch.uint8),)),
    "indices": (lambda x, i: x[i] + 1, (torch.randn(50, 30), torch.randint(0, 50, (77,)))),
    "cross_entropy": (F.cross_entropy, (torch.randn(64, 100), torch.randint(0, 100, (64,)))),
}
for name, (function, arguments) in programs.items():
    metrics.reset()
    torch._dynamo.reset()
    want, got = tensors(function(*arguments)), tensors(torch.compile(function)(*arguments))
    for a, b in zip(got, want):
        torch.testing.assert_close(a, b)
    assert metrics.generated_kernel_count > 0, name
from triton._C.libtriton import nvidia  # what benchmarks compare kernels with
a, b, c, d = torch.randn(8, 16), torch.randn(4, 16), torch.randn(8, 4), torch.empty(8, 4)
nvidia.cublas.CublasLt(None).gemm(a, b, c, d, 2.0, 0.5)
torch.testing.assert_close(d, 2 * (a @ b.T) + 0.5 * c)
nvidia.cublas.CublasLt(None).matmul(a, b, d)
torch.testing.assert_close(d, a @ b.T)
torch._dynamo.reset()
model = Block()
fast = torch.compile(model)
x = torch.randn(8, 32)
model(x).pow(2).sum().backward()
want = [p.grad.clone() for p in model.parameters()]
model.zero_grad()
fast(x).pow(2).sum().backward()
for p, gradient in zip(model.parameters(), want):
    torch.testing.assert_close(p.grad, gradient, rtol=1e-4, atol=1e-4)
print("right")
"""


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
@pytest.mark.parametrize("threads", [1, 2], ids=["here", "in workers"])
def test_torch_compile(tmp_path, threads):
    (tmp_path / "script.py").write_text(PROGRAMS.replace("THREADS", str(threads)))
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}
    done = subprocess.run([sys.executable, "-m", "tilewright", "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True,
                          timeout=600)
    assert done.returncode == 0 and done.stdout.split() == ["right"], done.stderr[-3000:]


KERNELS = """
import torch, triton, triton.language as tl
import torch._inductor.config as config
from torch._higher_order_ops.triton_kernel_wrap import identify_mutated_tensors
config.cpu_backend = "triton"
config.compile_threads = 1
config.force_disable_caches = True

from triton.language.extra.libdevice import fast_dividef as quotient
FACTOR: tl.constexpr = tl.constexpr(4)
NAME: tl.constexpr = tl.constexpr("halved")

@triton.jit
def both(value, ptr):
    if NAME == "halved":
        value = quotient(value, 2.0)
    return value * FACTOR, ptr

@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value, where = both(tl.load(x + at, at < n), out)
    tl.store(where + at, value, at < n)

@triton.jit
def stepping(x, out, n, BLOCK: tl.constexpr):
    at = out + tl.arange(0, BLOCK)
    for i in range(3, n):
        if tl.program_id(0) == 0:
            tl.store(at, tl.load(x + tl.arange(0, BLOCK)))
        at += BLOCK

@triton.jit
def chosen(x, out, which, BLOCK: tl.constexpr):
    if tl.load(which) > 0:
        p, q = x, out + 1
    else:
        p, q = x + 1, out
    tl.atomic_add(q + tl.arange(0, BLOCK), tl.load(p + tl.arange(0, BLOCK)))

@triton.jit
def blocks(x, out, rows, columns, BLOCK: tl.constexpr):
    a = tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    b = tl.make_block_ptr(out, (rows, columns), (columns, 1), (0, 0), (BLOCK, BLOCK), (1, 0))
    i = 0
    while i < rows:
        tl.store(b, tl.load(a))
        a, b, i = tl.advance(a, (BLOCK, 0)), tl.advance(b, (BLOCK, 0)), i + BLOCK

t = torch.randn(64, 64)
numbers = {"n": 2, "rows": 64, "columns": 64, "which": t, "BLOCK": 16}
for kernel in (doubled, stepping, chosen, blocks):
    given = {name: numbers.get(name, t) for name in kernel.arg_names}
    assert identify_mutated_tensors(kernel, given, {}) == ["out"], kernel

def program(x):
    y = x.sin()
    out = torch.empty_like(y)
    doubled[lambda meta: (triton.cdiv(y.numel(), meta["BLOCK"]),)](y, out, y.numel(), BLOCK=64)
    return (out + x).relu(), y

x = torch.randn(1000, requires_grad=True)  # a leaf: what is written to must not be it
for dynamic in (False, True):
    torch._dynamo.reset()
    for a, b in zip(torch.compile(program, fullgraph=True, dynamic=dynamic)(x), ((2 * x.sin() + x).relu(), x.sin())):
        torch.testing.assert_close(a, b)

tuned = triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})], key=["n"])(doubled)

def with_tuning(x):
    out = torch.zeros_like(x)
    tuned[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out + 1

x = torch.randn(16, 16)
torch.testing.assert_close(torch.compile(with_tuning, fullgraph=True)(x), 2 * x + 1)
print("right")
"""


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="needs PyTorch")
def test_torch_compile_knows_what_kernels_write_to(tmp_path):
    (tmp_path / "script.py").write_text(KERNELS)
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor")}
    done = subprocess.run([sys.executable, "-m", "tilewright", "script.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and done.stdout.split() == ["right"] and "identify_mutated_tensors" not in done.stderr, done.stderr[-3000:]
