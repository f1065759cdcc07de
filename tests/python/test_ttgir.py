"""`asm["ttgir"]`: Triton's text of our final tiles. What the reader of .ttgir files reads, it reads back as the same kernel."""

import json
import pathlib
import re

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.backends.compiler import GPUTarget
from tilewright.compiler import ASTSource
from tilewright.compiler.ttgir import _FORMS, fuse_stores
from tilewright.compiler.ttgir_layouts import _as_blocked, _blocked, distributed, shared

# Operations that Triton does not have. `init_barriers` is printed as several of Triton's, and the others end the passes before this text.
OWN = {"read_cluster", "loop_variant_zero", "clc_program", "tensor_alloc", "tensor_free", "tensor_scale", "tcgen05_wait", "fma_dot"}
SAME = {"convert_layout", "warp_specialize", "warp_yield", "warp_return"}
OTHERS = {"init_barriers", "descriptor_load", "descriptor_store"}


@triton.jit
def rows(x, y, out, n, B: tl.constexpr):
    i = tl.arange(0, B)
    row = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=-float("inf"))
    powers = tl.exp(row - tl.max(row, 0))
    repeated = tl.load(y + i[:, None] + tl.arange(0, 4)[None, :] * 0, mask=(i < n)[:, None], other=0.0)
    tl.store(out + tl.program_id(0) * n + i, powers / tl.sum(powers, 0) + tl.sum(repeated, 1), mask=i < n)


@triton.jit
def product(x, y, z):
    i = tl.arange(0, 64)
    at = i[:, None] * 64 + i[None, :]
    tl.store(z + at, tl.dot(tl.load(x + at), tl.load(y + at)))


@triton.jit
def matmul(x, y, z, K, SIZE: tl.constexpr):
    i = tl.arange(0, SIZE)
    total = tl.zeros((SIZE, SIZE), tl.float32)
    for k in range(0, K, 64):
        j = k + tl.arange(0, 64)
        total = tl.dot(tl.load(x + i[:, None] * K + j[None, :]), tl.load(y + j[:, None] * SIZE + i[None, :]), total)
    tl.store(z + i[:, None] * SIZE + i[None, :], total)


@triton.jit
def scaled(x, sx, y, sy, z, SIZE: tl.constexpr, K: tl.constexpr):
    i, k, s = tl.arange(0, SIZE), tl.arange(0, K), tl.arange(0, K // 32)
    tiles = tl.load(x + i[:, None] * K + k[None, :]), tl.load(y + k[:, None] * SIZE + i[None, :])
    scales = tl.load(sx + i[:, None] * (K // 32) + s[None, :]), tl.load(sy + i[:, None] * (K // 32) + s[None, :])
    tl.store(z + i[:, None] * SIZE + i[None, :], tl.dot_scaled(tiles[0], scales[0], "e4m3", tiles[1], scales[1], "e4m3"))


def compiled(kernel, types, capability, constants={}, divisible=False):
    attributes = {(at,): [["tt.divisibility", 16]] for at in range(len(types))} if divisible else {}
    source = ASTSource(kernel, dict(zip(kernel.arg_names, types)), constants, attributes)
    return triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})


def own_and_theirs(*arguments, **options):
    kernel = compiled(*arguments, **options)
    return kernel._handle.stage("ttgir"), kernel.asm["ttgir"]


def check_values(text):
    """Every value that is used is defined by an earlier line, or is an argument."""
    defined = set()
    for line in text.splitlines():
        left, _, right = line.partition(" = ") if re.match(r"\s*%", line) else ("", "", line)
        defined |= set(re.findall(r"(%[\w]+): ", right)) | set(re.findall(r"[( ](%[\w]+) = ", right))
        used = set(re.findall(r"%\w+", right))
        assert used <= defined, (line, used - defined)
        defined |= set(re.findall(r"%\w+", left))


def test_each_operation_has_its_form():
    dialect = (pathlib.Path(__file__).resolve().parents[2] / "src/gpu/ttg/ttg.td").read_text()
    operations = set(re.findall(r'TTG(?:Op|Effect)<"(\w+)"', dialect))
    forms = {kind for kind, *_ in _FORMS}
    assert operations == forms | OWN | SAME | OTHERS
    assert not forms & (OWN | SAME | OTHERS)


@pytest.mark.parametrize("capability", [75, 80, 90, 100, 120])
def test_read_back(capability, tmp_path):
    _, text = own_and_theirs(rows, ["*fp32", "*fp32", "*fp32", "i32", "constexpr"], capability, {"B": 128})
    check_values(text)
    path = tmp_path / "rows.ttgir"
    path.write_text(text)
    assert triton.compile(str(path), target=GPUTarget("cuda", capability, 32)).asm["ptx"]
    rng = np.random.default_rng(capability)
    x, y = rng.random((2, 100), np.float32), rng.random(100, np.float32)
    out = np.empty_like(x)
    triton.compile(str(path))[(2, 1, 1)](x, y, out, 100)
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, powers / powers.sum(1, keepdims=True) + 4 * y, rtol=1e-6)


@pytest.mark.parametrize("capability", [75, 80, 90, 120])
def test_a_dot_read_back(capability, tmp_path):
    _, text = own_and_theirs(product, ["*fp16", "*fp16", "*fp32"], capability)
    check_values(text)
    assert ("ttng.warp_group_dot " if capability == 90 else "tt.dot ") in text
    path = tmp_path / "product.ttgir"
    path.write_text(text)
    rng = np.random.default_rng(capability)
    x, y = (rng.random((64, 64)).astype(np.float16) for _ in range(2))
    out = np.empty((64, 64), np.float32)
    triton.compile(str(path))[(1, 1, 1)](x, y, out)
    np.testing.assert_allclose(out, x.astype(np.float32) @ y.astype(np.float32), rtol=1e-5)


# Our operation and Triton's, as often. Barriers and buffers have operations of their own in between.
PAIRS = [("mma_async", "ttng.warp_group_dot"), ("mma_async_wait", "ttng.warp_group_dot_wait"), ("tcgen05_mma", "ttng.tc_gen5_mma"),
         ("tcgen05_commit", "ttng.tc_gen5_commit"), ("tma_load", "ttng.async_tma_copy_global_to_local"), ("tma_store", "ttng.async_tma_copy_local_to_global"),
         ("copy_async", "ttg.async_copy_global_to_local"), ("copy_wait", "ttg.async_wait"), ("barrier_wait", "ttng.wait_barrier"),
         ("barrier_expect", "ttng.barrier_expect"), ("barrier_arrive", "ttng.arrive_barrier"), ("tensor_load", "ttng.tmem_load"),
         ("tensor_store", "ttng.tmem_store"), ("tensor_tile", "ttng.tmem_alloc"), ("load_shared", "ttg.local_load"), ("warp_specialize", "ttg.warp_specialize"),
         ("fence_async", "ttng.fence_async_shared"), ("convert_layout", "ttg.convert_layout")]


@pytest.mark.parametrize("capability, needed", [
    (80, ["ttg.async_copy_global_to_local ", "ttg.async_wait {num = ", "ttg.local_load "]),
    (90, ["ttng.warp_group_dot ", "ttng.async_tma_copy_global_to_local ", "ttng.wait_barrier ", "isAsync = true", "#ttg.nvmma_shared<{swizzlingByteWidth = 128, "]),
    (100, ["ttng.tc_gen5_mma ", "ttng.tmem_alloc ", "ttng.tmem_load ", "ttg.warp_specialize", "ttng.tc_gen5_commit ",
           "#ttng.tensor_memory_encoding<blockM = 128, blockN = 128, colStride = 1>"])])
def test_nothing_is_added_or_lost(capability, needed):
    own, text = own_and_theirs(matmul, ["*fp16", "*fp16", "*fp32", "i32", "constexpr"], capability, {"SIZE": 128}, divisible=True)
    check_values(text)
    count = lambda name, where: len(re.findall(rf"(?m)^\s*(?:%[^=]* = )?{re.escape(name)}\b(?! read)", where))
    for ours, theirs in PAIRS:
        assert count(f"ttg.{ours}", own) == count(theirs, text), (ours, theirs)
    assert own.count("scf.for") == text.count("scf.for") and own.count("tt.load") == text.count("tt.load")
    for part in needed:
        assert part in text, part
    assert f'"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = 4 : i32, ttg.shared = ' in text and f'ttg.target = "cuda:{capability}"' in text
    assert not re.search(r"#ttg\.(layout|shared|config)<|!ttg\.(buffer|barriers)<", text)


def test_block_scales_and_operands():
    _, text = own_and_theirs(scaled, ["*u8", "*u8", "*u8", "*u8", "*fp32", "constexpr", "constexpr"], 100, {"SIZE": 128, "K": 64})
    check_values(text)
    assert re.search(r"ttng\.tc_gen5_mma_scaled (%\w+, ){7}lhs = e4m3|ttng\.tc_gen5_mma_scaled (%\w+, ){6}%\w+ lhs = e4m3 rhs = e4m3", text)
    _, text = own_and_theirs(product, ["*fp16", "*fp16", "*fp32"], 100)
    # Both operands: tiles that are stored once, before the MMA reads them.
    stored = re.findall(r"%\w+ = ttg\.local_alloc %\w+ \{allocation\.offset = \d+ : i32\} : \(tensor<64x64xf16, #\w+>\) -> "
                        r"!ttg\.memdesc<64x64xf16, #shared, #smem, mutable>", text)
    assert len(stored) == 2, text
    assert "ttg.local_store" not in text


MEMORY = "!ttg.memdesc<8xf32, #shared, #smem, mutable>"


@pytest.mark.parametrize("body, joined", [
    (["  %b = ttg.alloc : M", "  ttg.store_shared %x, %b : T, M", "  %v = ttg.load_shared %b : M -> T"], True),
    (["  %b = ttg.alloc : M", "  scf.for %i {", "    ttg.store_shared %x, %b : T, M", "    %v = ttg.load_shared %b : M -> T", "  }"], True),
    (["  %b = ttg.alloc : M", "  scf.for %i {", "    ttg.store_shared %x, %b : T, M", "  }", "  %v = ttg.load_shared %b : M -> T"], False),
    (["  %b = ttg.alloc : M", "  ttg.store_shared %x, %b : T, M", "  ttg.store_shared %y, %b : T, M"], False),
    (["  %b = ttg.alloc : M", "  %u = ttg.view %b : M -> M", "  ttg.store_shared %x, %b : T, M"], False),
    (["  %b = ttg.alloc : M", "  %v = ttg.load_shared %b : M -> T", "  ttg.store_shared %x, %b : T, M"], False)])
def test_a_store_is_part_of_the_allocation(body, joined):
    text = "\n".join([*body, "}"]).replace("M", MEMORY).replace(" T", " tensor<8xf32, #blocked>")
    assert (f"%b = ttg.local_alloc %x : (tensor<8xf32, #blocked>) -> {MEMORY}" in fuse_stores(text)) == joined
    assert ("ttg.alloc" in fuse_stores(text)) != joined


def test_layouts_by_triton_names():
    shapes = [([64, 64], [1, 8], [4, 8], [4, 1], [1, 0]), ([64, 64], [8, 1], [8, 4], [1, 4], [0, 1]), ([256], [2], [32], [4], [0]),
              ([16, 8, 32], [1, 1, 4], [2, 2, 8], [4, 1, 1], [2, 1, 0])]
    for shape, *parameters in shapes:
        bases = _blocked(shape, *parameters)
        assert _blocked(shape, *_as_blocked(shape, *bases)) == bases
        assert distributed(shape, *map(json.dumps, bases))[0] == "blocked"
    rotated = "[[0, 1], [1, 1]]", "[[2, 0], [4, 0], [8, 0], [16, 0], [32, 0]]", "[]"
    assert distributed([64, 4], *rotated) == ("linear", "#ttg.linear<{{register = {}, lane = {}, warp = {}, block = []}}>".format(*rotated))
    chunks = "[[0, 1], [0, 2], [0, 4], [0, 8], [0, 16], [0, 32], [1, 8], [2, 16], [4, 32], [8, 0]]"
    assert shared([16, 64], chunks, 16) == "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>"
    transposed = json.dumps([basis[::-1] for basis in json.loads(chunks)])
    assert shared([64, 16], transposed, 16) == "#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = true, elementBitWidth = 16}>"
    assert shared([4, 8], "[[0, 1], [0, 2], [0, 4], [1, 0], [2, 0]]", 32) == "#ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>"
    other = "[[0, 1], [1, 2], [1, 0]]"
    assert shared([2, 4], other, 32) == f"#ttg.shared_linear<{{offset = {other}}}, alignment = 128>"


def test_stages_of_a_simulated_kernel():
    """A launch on the simulator has the stages of its GPU."""
    x, y = (np.ones((64, 64), np.float16) for _ in range(2))
    with triton.engine("simulate", target="cuda:sm_100a"):
        kernel = product[(1,)](x, y, np.empty((64, 64), np.float32))
    assert list(kernel.asm) == ["source", "ttir", "ttgir", "llir", "ptx"]
    assert "ttng.tc_gen5_mma " in kernel.asm["ttgir"] and 'ttg.target = "cuda:100"' in kernel.asm["ttgir"]
    assert ".target sm_100a" in kernel.asm["ptx"] and "tcgen05.mma" in kernel.asm["ptx"]
    assert "tt.dot" in kernel.asm["ttir"] and kernel.asm.get("cubin") is None
