"""Launch options are checked in the compiler, so every door gives the same answer: a call, a description, every engine."""

import numpy as np
import pytest

import tilewright as triton
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
    with pytest.raises(ValueError, match="num_ctas is 2, but sm_80 has no clusters of blocks"):
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
