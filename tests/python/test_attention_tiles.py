"""The attention example measures tiles of 256 rows on GPUs with tensor memory alone."""

import sys
import types

import pytest
from test_gpu_kernels import load


@pytest.mark.parametrize("capability, rows", [((10, 0), 256), ((10, 3), 256), ((11, 0), 256), ((12, 0), 128), ((9, 0), 128), (None, 128)])
def test_tiles_by_gpu(capability, rows, monkeypatch):
    example = load("07_attention", monkeypatch)
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(cuda=types.SimpleNamespace(get_device_capability=lambda device: capability)))
    array = types.SimpleNamespace(device=types.SimpleNamespace(type="cuda" if capability else "cpu"))
    kept = example.worth_measuring(example.get_autotune_configs(), {"q_ptr": array})
    assert max(config.kwargs["BLOCK_M"] for config in kept) == rows and len(kept) == (10 if rows == 256 else 8)
