"""Every numeric test runs on the reference interpreter, on compiled code and on simulated GPU code, and on a GPU where there is one; NumPy in
float64 judges all."""

import card
import pytest

import tilewright

@pytest.fixture(params=["interpret", "cpu", "simulate"] + (["cuda"] if card.is_there() else []), autouse=True)
def engine(request):
    if request.param == "cuda":
        with tilewright.engine("cpu"), card.engine():
            yield request.param
    else:
        with tilewright.engine(request.param, check_bounds=request.param != "cpu"):
            yield request.param
