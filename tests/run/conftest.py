"""Every numeric test runs on the reference interpreter, on compiled code and on simulated GPU code, and on a GPU where there is one; NumPy in
float64 judges all."""

import card
import pytest

import tilewright

ONE_THREAD_REASON = "threads of a program read what others of it wrote only behind a barrier, here as upstream"


def pytest_configure(config):
    config.addinivalue_line("markers", "one_thread: of what one thread guarantees and many do not; not run on GPUs")


@pytest.fixture(params=["interpret", "cpu", "simulate"] + (["cuda"] if card.is_there() else []), autouse=True)
def engine(request):
    on_gpu = request.param in ("simulate", "cuda")
    if on_gpu and request.node.get_closest_marker("one_thread"):
        pytest.skip(ONE_THREAD_REASON)
    if request.param == "cuda":
        with tilewright.engine("cpu"), card.engine():
            yield request.param
    else:
        with tilewright.engine(request.param, check_bounds=request.param != "cpu"):
            yield request.param
