"""Every numeric test runs on the reference interpreter, on compiled code and on simulated GPU code; NumPy in float64 judges all."""

import pytest

import tilewright

# Tests of what one thread guarantees and many do not.
ONE_THREAD = {
    "test_a_store_does_not_disturb_what_was_loaded_before", "test_reverse_in_place", "test_transpose_in_place",
    "test_row_of_the_result", "test_a_transposition_within_memory",
}
ONE_THREAD_REASON = "threads of a program read what others of it wrote only behind a barrier, here as upstream"


@pytest.fixture(params=["interpret", "cpu", "simulate"], autouse=True)
def engine(request):
    simulate = request.param == "simulate"
    if simulate and request.function.__name__ in ONE_THREAD:
        pytest.skip(ONE_THREAD_REASON)
    with tilewright.engine(request.param, check_bounds=simulate):
        yield request.param
