"""The compiler checks launch options, so every interface gives the same answer: a call, a description, every engine."""

import re

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
from tilewright.backends.compiler import GPUTarget
from tilewright.compiler import ASTSource
from tilewright.runtime.errors import OutOfResources

WRONG = [
    ({"num_warps": 0}, "num_warps must be a power of 2, not 0"),
    ({"num_warps": 3}, "num_warps must be a power of 2, not 3"),
    ({"num_warps": -4}, "num_warps must be a power of 2, not -4"),
    ({"num_ctas": 0}, "num_ctas must be a power of 2 from 1 to 16, not 0"),
    ({"num_ctas": 3}, "num_ctas must be a power of 2 from 1 to 16, not 3"),
    ({"num_ctas": -2}, "num_ctas must be a power of 2 from 1 to 16, not -2"),
    ({"num_ctas": 32}, "num_ctas must be a power of 2 from 1 to 16, not 32"),
    ({"num_stages": -1}, "num_stages must be from 0 to 65536, not -1"),
    ({"maxnreg": 0}, "maxnreg must be from 1 to 65536, not 0"),
]


def described(scale, target, **options):
    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": "constexpr"}
    return triton.compile(ASTSource(scale, signature, {"BLOCK": 64}), target=target, options=options)


@pytest.mark.parametrize("options, message", WRONG)
@pytest.mark.parametrize("engine", ["cpu", "interpret", "simulate"])
def test_calls(scale, numbers, engine, options, message):
    with triton.engine(engine), pytest.raises(ValueError, match=message):
        scale[(4,)](numbers, numbers.copy(), 200, 2.0, **options)


def test_what_upstream_asserts_is_an_assertion_error(scale, numbers):
    with pytest.raises(AssertionError, match="num_warps must be a power of 2"):
        scale.warmup(numbers, numbers.copy(), 200, 2.0, num_warps=3, grid=(1,))


@pytest.mark.parametrize("options, message", WRONG)
@pytest.mark.parametrize("target", [GPUTarget("cpu", "", 1), GPUTarget("cuda", 90, 32)])
def test_descriptions(scale, target, options, message):
    with pytest.raises(ValueError, match=message):
        described(scale, target, **options)


def test_only_gpus_run_out_of_threads_and_clusters(scale, numbers):
    with pytest.raises(OutOfResources, match="threads, Required: 2048, Hardware limit: 1024"):
        described(scale, GPUTarget("cuda", 90, 32), num_warps=64)
    with pytest.raises(ValueError, match="num_ctas is 2, but sm_80 has no clusters of CTAs"):
        described(scale, GPUTarget("cuda", 80, 32), num_ctas=2)
    out = np.zeros_like(numbers)
    scale[(4,)](numbers, out, 200, 2.0, num_warps=64, num_ctas=2)
    np.testing.assert_array_equal(out, numbers * np.float32(2))


@pytest.mark.parametrize("engine", ["cpu", "simulate"])
def test_no_stages_are_one_stage(scale, numbers, engine):
    out = np.zeros_like(numbers)
    with triton.engine(engine):
        scale[(4,)](numbers, out, 200, 2.0, num_stages=0)
    np.testing.assert_array_equal(out, numbers * np.float32(2))


def test_configurations():
    assert triton.Config({}, num_stages=0).num_stages == 0


@triton.jit
def line(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) * factor + 1.0, mask=offs < n)


def target_of(kernel):
    return re.search(r"\.target (\w+)", kernel.asm["ptx"])[1]


@pytest.mark.parametrize("arch, target", [("sm80", "sm_80"), ("sm90", "sm_90a"), ("sm90a", "sm_90a"), ("sm_90", "sm_90"), ("sm100", "sm_100a")])
def test_code_for_another_gpu(arch, target, numbers):
    out = np.zeros_like(numbers)
    made = line.warmup(numbers, out, 200, 2.0, BLOCK=64, grid=(4,), arch=arch)
    assert target_of(made) == target and f"cuda:{made.metadata.target.arch}" in made.asm["ttgir"]
    assert made.metadata.arch == f"sm{made.metadata.target.arch}" and not out.any()
    source = ASTSource(line, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": "constexpr"}, {"BLOCK": 64})
    assert target_of(triton.compile(source, options={"arch": arch})) == target
    # A CPU runs its own code, whatever the options say about GPUs.
    assert "ptx" not in line[(4,)](numbers, out, 200, 2.0, BLOCK=64, arch=arch).asm
    np.testing.assert_allclose(out, numbers * np.float32(2) + 1, rtol=1e-6)


def test_no_such_gpu(numbers):
    for arch in ("sm70", "gfx942", "sm"):
        with pytest.raises(ValueError, match=f"there is no GPU target '{arch}': there are sm_75, sm_80, "):
            line.warmup(numbers, numbers, 200, 2.0, BLOCK=64, grid=(4,), arch=arch)


def test_the_setting_of_another_gpu(numbers):
    source = ASTSource(line, {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "factor": "fp32", "BLOCK": "constexpr"}, {"BLOCK": 64})
    out = np.zeros_like(numbers)
    line[(4,)](numbers, out, 200, 2.0, BLOCK=64)
    with triton.knobs.runtime.scope():
        triton.knobs.runtime.override_arch = "sm80"
        assert target_of(line.warmup(numbers, out, 200, 2.0, BLOCK=64, grid=(4,))) == "sm_80"
        assert target_of(line.warmup(numbers, out, 200, 2.0, BLOCK=64, grid=(4,), arch="sm90")) == "sm_90a"
        assert target_of(triton.compile(source, target=GPUTarget("cuda", 90, 32))) == "sm_80"
        assert "ptx" not in triton.compile(source, target=GPUTarget("cpu", "", 1)).asm
        line[(4,)](numbers + 1, out, 200, 2.0, BLOCK=64)
    np.testing.assert_allclose(out, numbers * np.float32(2) + 3, rtol=1e-6)
    assert "ptx" not in line.warmup(numbers, out, 200, 2.0, BLOCK=64, grid=(4,)).asm


def test_the_setting_of_fused_multiplications(numbers):
    with triton.knobs.language.scope():
        triton.knobs.language.default_fp_fusion = False
        plain = line.warmup(numbers, numbers, 201, 2.0, BLOCK=64, grid=(4,), arch="sm90")
        fused = line.warmup(numbers, numbers, 201, 2.0, BLOCK=64, grid=(4,), arch="sm90", enable_fp_fusion=True)
    assert "fma.rn.f32" not in plain.asm["ptx"] and "fma.rn.f32" in fused.asm["ptx"]
    assert not plain.metadata.enable_fp_fusion and fused.metadata.enable_fp_fusion


def test_the_setting_that_forbids_fused_multiplications(numbers, monkeypatch):
    monkeypatch.setenv("TRITON_FORCE_DISABLE_FP_FUSION", "1")
    language = triton.knobs.language
    assert not language.fp_fusion_enabled(None) and not language.fp_fusion_enabled(True)
    plain = line.warmup(numbers, numbers, 203, 2.0, BLOCK=64, grid=(4,), arch="sm90", enable_fp_fusion=True)
    assert "fma.rn.f32" not in plain.asm["ptx"] and not plain.metadata.enable_fp_fusion
    monkeypatch.delenv("TRITON_FORCE_DISABLE_FP_FUSION")
    assert language.fp_fusion_enabled(None) and not language.fp_fusion_enabled(False)


def test_options_of_newer_releases_are_taken(numbers):
    out, expected = np.zeros_like(numbers), np.zeros_like(numbers)
    line[(4,)](numbers, out, 200, 2.0, BLOCK=64, sched4reg=True, clc=False, min_shared_mem=1024)
    line[(4,)](numbers, expected, 200, 2.0, BLOCK=64)
    np.testing.assert_array_equal(out, expected)
    assert out.any()


@triton.jit
def square(a_ptr, out_ptr, WAY: tl.constexpr):
    offs = tl.arange(0, 16)
    a = tl.load(a_ptr + offs[:, None] * 16 + offs[None, :])
    if WAY == "named":
        c = tl.dot(a, a, input_precision="ieee")
    elif WAY == "allowed":
        c = tl.dot(a, a, allow_tf32=False)
    else:
        c = tl.dot(a, a)
    tl.store(out_ptr + offs[:, None] * 16 + offs[None, :], c)


def test_the_setting_of_dot_precision():
    a, out = np.eye(16, dtype=np.float32), np.zeros((16, 16), np.float32)
    with triton.knobs.language.scope():
        triton.knobs.language.fp32_default = "tf32x3"
        for way, found in (("none", "tf32x3"), ("allowed", "tf32x3"), ("named", "tt.dot %")):
            made = square.warmup(a, out, WAY=way, grid=(1,), arch="sm90")
            product = next(text for text in made.asm["ttir"].splitlines() if "tt.dot " in text)
            assert found in product and ("inputPrecision" in product) == (way != "named")
        triton.knobs.language.fp32_default = "half"
        with pytest.raises(triton.CompilationError, match="'half' .*TRITON_F32_DEFAULT"):
            square[(1,)](a, out, WAY="none")
    square[(1,)](a, out, WAY="none")
    np.testing.assert_array_equal(out, a)
