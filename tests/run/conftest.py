"""Every numeric test runs on the reference interpreter and on compiled code; NumPy in float64 judges both."""

import pytest

import tilewright


@pytest.fixture(params=["interpret", "cpu"], autouse=True)
def engine(request):
    with tilewright.engine(request.param):
        yield request.param
