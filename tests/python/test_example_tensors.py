"""The examples' wrappers accept PyTorch tensors as well as NumPy arrays."""

import importlib.util
import pathlib
import sys

import numpy as np
import pytest

import tilewright
import tilewright.language

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples"


def test_all_examples_with_tensors(monkeypatch):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed (tools/setup.sh --torch)")
    monkeypatch.setitem(sys.modules, "triton", tilewright)
    monkeypatch.setitem(sys.modules, "triton.language", tilewright.language)
    monkeypatch.syspath_prepend(str(FOLDER))
    for path in sorted(FOLDER.glob("[0-9][0-9]_*.py")):
        spec = importlib.util.spec_from_file_location("tensors_" + path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for kernel in [value for value in vars(module).values() if hasattr(value, "configs")]:
            kernel.configs = kernel.configs[:1]
        case = list(module.cases(True))[1]
        tensors = [torch.from_numpy(arg) if isinstance(arg, np.ndarray) else arg for arg in case.args]
        results = module.common.as_tuple(module.kernel_fn(*tensors, **case.options))
        assert all(isinstance(result, torch.Tensor) for result in results), path.stem
        expected = module.common.as_tuple(module.reference_fn(*case.args, **case.options))
        errors = [module.common.worst_error(result.numpy(), right, case.dtype, case.terms) for result, right in zip(results, expected)]
        assert max(errors) <= 1, path.stem
