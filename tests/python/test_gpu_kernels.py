"""Kernels of the examples for GPUs that have not been at hand: assembled by ptxas, and right on the simulator, at five sizes each.

test_block_scaled_kernels.py does the same for matmuls with descriptors: persistent ones, and those of scaled numbers."""

import importlib.util
import itertools
import os
import pathlib
import sys

import pytest
import tilewright as triton
import tilewright.language
from test_tcgen05 import device

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples"
sys.path.append(str(FOLDER.parent / "tests" / "run"))

from assembled import assemble  # noqa: E402
MATMULS = [(128, 128, 64), (256, 192, 128), (300, 200, 136), (129, 257, 72), (64, 512, 264)]
SCALED = [(128, 128, 128), (256, 128, 512), (300, 200, 160), (129, 257, 96), (64, 256, 1024)]
ATTENTION = [(1, 1, 128, 64), (1, 2, 256, 64), (2, 1, 200, 64), (1, 1, 77, 32), (1, 1, 384, 128)]
GROUPS = [((128,), 128, 64), ((100, 0, 37), 128, 128), ((5, 130, 64), 72, 104), ((0, 3), 40, 72), ((64, 64, 64), 256, 136)]
SPLIT = [(16, 128, 512), (16, 256, 1024), (3, 72, 1000), (20, 136, 520), (64, 128, 2048)]

# The sizes, the arguments of get_inputs after them, those of the kernel after these, and the terms of a sum (0: the last extent).
KERNELS = {
    "03_matmul_basic": (MATMULS, ("fp16",), (), 0),
    "04_matmul_grouped": (MATMULS, ("fp16",), (), 0),
    "05_matmul_block_pointers": (MATMULS, ("fp16",), (), 0),
    "06_matmul_autotuned": (MATMULS, ("fp16",), (), 0),
    "07_attention": (ATTENTION, ("fp16",), (False,), 1),
    "10_int8_matmul": (MATMULS, (), (), 1),
    "12_scaled_matmul": (SCALED, (), (), 0),
    "13_attention_backward": (ATTENTION, ("fp16",), (), 4096),
    "14_split_k_matmul": (SPLIT, ("fp16",), (), 0),
    "15_grouped_matmul": (GROUPS, ("fp16",), (), 0),
    "16_fp8_matmul": (SCALED, (), (), 0),
}
CASES = [
    pytest.param(name, number, target, id=f"{name}-{'x'.join(map(str, KERNELS[name][0][number]))}-{target}")
    for name, number, target in itertools.product(KERNELS, range(5), ("sm_100a", "sm_103a", "sm_120a"))
]


def load(name, monkeypatch):
    """Imports an example as `python -m tilewright` does: its `triton` is this package."""
    monkeypatch.setitem(sys.modules, "triton", triton)
    monkeypatch.setitem(sys.modules, "triton.language", tilewright.language)
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location("example_" + name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name, number, target", CASES)
def test_kernel(name, number, target, monkeypatch):
    """With one configuration of the tuner for each size, one after the other."""
    module = load(name, monkeypatch)
    sizes, more, options, terms = KERNELS[name]
    for kernel in (value for value in vars(module).values() if hasattr(value, "configs")):
        kernel.configs = [kernel.configs[number % len(kernel.configs)]]
        kernel.cache.clear()
    inputs = [*module.get_inputs(*sizes[number], *more), *options]
    case = module.common.Case(str(sizes[number]), more[0] if more else "fp32", inputs, terms=terms or sizes[number][-1])
    if not os.environ.get("TILEWRIGHT_TESTS_ON_GPU"):
        assemble(monkeypatch, f"cuda:{target}")
    with device(target):
        results = module.common.run(name, module.kernel_fn, module.reference_fn, [case], quick=True)
    assert all(result.ok for result in results), "\n".join(result.line() for result in results)
