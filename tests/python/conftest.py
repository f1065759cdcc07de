"""Fixtures for the tests of the Python package: a separate cache folder, and a small kernel."""

import os
import pathlib
import signal

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl

# A shell's background jobs ignore SIGINT, and so would the programs that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr = 64):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    # Programs that tests start find the same package from any folder.
    package = str(pathlib.Path(triton.__file__).absolute().parent.parent)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])))


@pytest.fixture
def scale():
    return scale_kernel


@pytest.fixture
def numbers():
    return np.random.default_rng(0).standard_normal(200).astype(np.float32)
