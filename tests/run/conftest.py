"""Every numeric test runs on the reference interpreter, as CPU code and as simulated GPU code, and on a GPU if there is one; NumPy in
float64 gives the expected results."""

import card
import pytest

import tilewright


def pytest_configure(config):
    config.addinivalue_line("markers", "unchecked: reaches beyond its arrays, in memory that is its own, stores one value twice, or multiplies what no load defined by zeros, on purpose")


@pytest.fixture(params=["interpret", "cpu", "simulate"] + (["cuda"] if card.is_there() else []), autouse=True)
def engine(request):
    if request.param == "cuda":
        with tilewright.engine("cpu"), card.engine():
            yield request.param
    else:
        checked = request.param != "cpu" and not request.node.get_closest_marker("unchecked")
        with tilewright.engine(request.param, check_bounds=checked):
            yield request.param
