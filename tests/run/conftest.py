"""Every numeric test runs on the reference interpreter, as CPU code and as simulated GPU code, and on a GPU if there is one; NumPy in
float64 gives the expected results.

    TRITON_DEBUG=1 make test TEST_FLAGS="--only run"             each kernel with its assertions, and with checks for overflow
    TILEWRIGHT_DEBUG_INFO=1 make test TEST_FLAGS="--only run"    each kernel with the lines and variables for debuggers
"""

import gpu_device
import pytest

import tilewright


def pytest_configure(config):
    config.addinivalue_line("markers", "without_debug: integers wrap around on purpose, or programs wait for others: TRITON_DEBUG=1 is without effect")
    config.addinivalue_line("markers", "unchecked: reaches beyond its arrays, in memory that is its own, stores one value twice, or multiplies what no load defined by zeros, on purpose")


@pytest.fixture(autouse=True)
def no_debug(request, monkeypatch):
    if request.node.get_closest_marker("without_debug"):
        monkeypatch.setattr(tilewright.knobs.runtime, "debug", False)


@pytest.fixture(params=["interpret", "cpu", "simulate"] + (["cuda"] if gpu_device.is_there() else []), autouse=True)
def engine(request):
    if request.param == "cuda":
        with tilewright.engine("cpu"), gpu_device.engine():
            yield request.param
    else:
        checked = request.param != "cpu" and not request.node.get_closest_marker("unchecked")
        with tilewright.engine(request.param, check_bounds=checked):
            yield request.param
