"""Every numeric test runs on the reference interpreter, on compiled code and on simulated GPU code, and on a GPU where there is one; NumPy in
float64 judges all."""

import card
import pytest

import tilewright

# Tests of what one thread guarantees and many do not.
ONE_THREAD = {
    "test_a_store_does_not_disturb_what_was_loaded_before", "test_reverse_in_place", "test_transpose_in_place",
    "test_a_transposition_within_memory", "test_row_of_the_result", "test_views_that_overlap", "test_rows_of_views_that_overlap",
    "test_same_offsets_of_elements_of_another_size", "test_loaded_indices_in_memory_that_is_stored_to", "test_what_takes_long_to_compute",
    "test_elements_at_one_address", "test_diagonals_at_one_address",
}
ONE_THREAD_REASON = "threads of a program read what others of it wrote only behind a barrier, here as upstream"


@pytest.fixture(params=["interpret", "cpu", "simulate"] + (["cuda"] if card.is_there() else []), autouse=True)
def engine(request):
    on_gpu = request.param in ("simulate", "cuda")
    if on_gpu and request.function.__name__ in ONE_THREAD:
        pytest.skip(ONE_THREAD_REASON)
    if request.param == "cuda":
        with tilewright.engine("cpu"), card.engine():
            yield request.param
    else:
        with tilewright.engine(request.param, check_bounds=request.param == "simulate"):
            yield request.param
