"""Every numeric test runs on the reference interpreter and on compiled code; NumPy in float64 judges both."""

import card
import pytest

import tilewright


@pytest.fixture(params=["interpret", "cpu"] + (["cuda"] if card.is_there() else []), autouse=True)
def engine(request):
    if request.param == "cuda":
        with tilewright.engine("cpu"), card.engine():
            yield request.param
    else:
        with tilewright.engine(request.param):
            yield request.param
