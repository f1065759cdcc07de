"""Every numeric test runs on the reference interpreter, on compiled code and on simulated GPU code; NumPy in float64 judges all."""

import pytest

import tilewright


@pytest.fixture(params=["interpret", "cpu", "simulate"], autouse=True)
def engine(request):
    with tilewright.engine(request.param, check_bounds=request.param == "simulate"):
        yield request.param
