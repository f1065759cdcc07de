"""Every example runs unchanged on small sizes and is checked; and it refuses the inputs that it claims to refuse."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import tilewright
import tilewright.language
from checks import ON_GPU, TF32

folder = pathlib.Path(__file__).resolve().parents[2] / "examples"
examples = sorted(path.stem for path in folder.glob("[0-9][0-9]_*.py"))


@pytest.fixture
def load(monkeypatch, engine):
    """Imports an example as `python -m tilewright` does: its `triton` is this package."""
    monkeypatch.setitem(sys.modules, "triton", tilewright)
    monkeypatch.setitem(sys.modules, "triton.language", tilewright.language)
    monkeypatch.syspath_prepend(str(folder))

    def load_example(name):
        spec = importlib.util.spec_from_file_location("example_" + name, folder / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        for kernel in tuned_kernels(module):
            kernel.configs = kernel.configs[:1]
        if engine in ON_GPU and ("matmul" in name or "attention" in name):
            monkeypatch.setitem(module.common.TOLERANCE, "fp32", TF32)
        return module

    return load_example


def tuned_kernels(module):
    return [value for value in vars(module).values() if hasattr(value, "configs")]


@pytest.mark.parametrize("name", examples)
def test_example(name, load, engine):
    """All configurations must be right, and not only the fastest; the interpreter runs only the first one."""
    module = load(name)
    configs = module.get_autotune_configs()[: None if engine == "cpu" else 1] if hasattr(module, "get_autotune_configs") else [None]
    for config in configs:
        for kernel in tuned_kernels(module):
            kernel.configs = [config or kernel.configs[0]]
            kernel.cache.clear()
        wrong = [result.line() for result in module.run(quick=True) if not result.ok]
        assert not wrong, f"with {config}:\n" + "\n".join(wrong)
    assert module.kernel_fn and module.reference_fn and module.get_inputs()


def test_rows_wider_than_a_block(load):
    with pytest.raises(ValueError, match="at most 131072"):
        load("02_fused_softmax").softmax(np.zeros((1, 131073), np.float32))


def test_inner_sizes_that_differ(load):
    for name in ("03_matmul_basic", "04_matmul_grouped", "05_matmul_block_pointers", "06_matmul_autotuned"):
        with pytest.raises(ValueError, match="inner sizes differ"):
            load(name).matmul(np.zeros((2, 3), np.float32), np.zeros((2, 3), np.float32))


@pytest.mark.parametrize("threads", [2, 64])
def test_attention_backward_by_heads_and_by_blocks(threads, load, monkeypatch):
    """A program owns a head if there are heads for all threads of a CPU, and otherwise a block of keys, or of queries. Each gives the
    same bits in every run."""
    module = load("13_attention_backward")
    monkeypatch.setattr(module.common, "launch_threads", lambda: threads)
    for causal in (False, True):
        inputs = module.get_inputs(1, 2, 150, 16, causal=causal)
        assert module.owns_heads(inputs[0]) == (threads == 2)
        results = [module.attention_backward(*inputs) for _ in range(2)]
        for first, second, expected in zip(*results, module.reference_fn(*inputs)):
            assert module.common.worst_error(first, expected, "fp32", module.TERMS) <= 1
            assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("M, N", [(40, 32), (32, 35), (37, 40), (80, 5), (20, 40), (40, 20)])
def test_few_rows_and_columns_next_to_whole_tiles(M, N, load):
    module = load("06_matmul_autotuned")
    a, b = (np.random.default_rng(0).integers(-3, 4, shape).astype(np.float16) for shape in ((M, 72), (72, N)))
    out = np.full((M, N), np.nan, np.float16)
    tile = {"BLOCK_M": 32, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 8, "EVEN_K": False, "EDGE": 16, "LONG": 32}
    kernel = module.tuned_matmul_kernel.fn.fn  # without the tuner and the choice of edges
    kernel[lambda meta: (module.tiles_of(M, N, meta),)](a, b, out, M, N, 72, 72, 1, N, 1, N, 1, ACTIVATION="", **tile)
    assert np.array_equal(out, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))


@pytest.mark.parametrize("M, N", [(24, 64), (40, 32), (61, 70)])
def test_tiles_multiplied_as_transposed(M, N, load):
    module = load("06_matmul_autotuned")
    a, b = (np.random.default_rng(0).integers(-3, 4, shape).astype(np.float16) for shape in ((M, 72), (72, N)))
    out = np.full((M, N), np.nan, np.float16)
    tile = {"BLOCK_M": 24, "BLOCK_N": 32, "BLOCK_K": 32, "GROUP_M": 2, "EVEN_K": False, "TRANSPOSED": 1}
    kernel = module.tuned_matmul_kernel.fn.fn
    kernel[lambda meta: (module.tiles_of(M, N, {"EDGE": 0, "LONG": 256, "EXTRA_N": 0, **meta}),)](
        a, b, out, M, N, 72, 72, 1, N, 1, N, 1, ACTIVATION="leaky_relu", **tile)
    c = a.astype(np.float32) @ b.astype(np.float32)
    assert np.array_equal(out, np.where(c >= 0, c, np.float32(0.01) * c).astype(np.float16))


def test_tiles_worth_measuring(load, monkeypatch):
    """Uneven tiles are measured only on GPUs, and small tiles at the edges only if few rows or columns are left."""
    module = load("06_matmul_autotuned")
    configs = module.get_autotune_configs()

    def measured(size):
        left = module.worth_measuring(configs, {"M": size, "N": size, "c_ptr": None})
        uneven = any(config.kwargs["EXTRA_N"] or config.kwargs["BLOCK_N"] & (config.kwargs["BLOCK_N"] - 1) for config in left)
        return uneven, any(config.kwargs["EDGE"] for config in left)

    assert measured(4104) == (False, False)
    monkeypatch.setattr(module.common, "is_on_gpu", lambda array: True)
    assert [measured(size) for size in (4104, 4096, 1000, 500)] == [(True, True), (True, False), (True, False), (False, False)]


def test_blocks_of_a_cluster_split_k(load, monkeypatch, engine):
    module = load("14_split_k_matmul")
    monkeypatch.setattr(module.common, "has_clusters", lambda array: True)
    for M, K, N in ((3, 1000, 70), (20, 515, 130), (16, 4096, 100)):
        a, b = module.get_inputs(M, N, K, "fp16")
        np.testing.assert_allclose(module.split_k_matmul(a, b), module.reference_fn(a, b), rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("columns", [1, 2, 1000, 4096])
def test_softmax_of_large_and_infinite_values(columns, load):
    softmax = load("02_fused_softmax")
    x = np.random.default_rng(0).standard_normal((3, columns), np.float32) * 50
    x[:, columns // 2 + 1 :] = -np.inf
    np.testing.assert_allclose(softmax.softmax(x), softmax.reference_fn(x), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("length", [1, 31, 64, 65, 200])
def test_attention_lengths(length, causal, load, engine):
    attention = load("07_attention")
    q, k, v = attention.get_inputs(1, 2, length, 32)
    q, k = q * 4, k * 4  # the scores are far apart, so that the running maximum changes
    out = attention.attention(q, k.transpose(0, 1, 3, 2).copy().transpose(0, 1, 3, 2), v, causal)
    tolerance = 20 * TF32 if engine in ON_GPU else 2e-5  # scores are up to a hundred, and their absolute error is the weights' relative error
    np.testing.assert_allclose(out, attention.reference_fn(q, k, v, causal), rtol=tolerance, atol=tolerance)


def test_layer_norm_keeps_digits_of_a_large_mean(load):
    layer_norm = load("09_layer_norm")
    x, weight, bias = layer_norm.get_inputs(4, 1000)
    y, mean, rstd = layer_norm.layer_norm(x + 100, weight, bias)
    expected = layer_norm.reference_fn(x + 100, weight, bias)
    np.testing.assert_allclose(rstd, expected[2], rtol=1e-4)
    np.testing.assert_allclose(y, expected[0], rtol=1e-3, atol=1e-3)
