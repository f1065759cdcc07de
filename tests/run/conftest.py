"""Every numeric test runs on the interpreter, compiled, simulated and, where there is one, on a GPU; NumPy in float64 judges all."""

import contextlib

import card
import pytest

import tilewright

# What is refused for GPUs, as the error says it, and why a test that meets it is skipped.
REFUSALS = {
    "this operation is not built for GPUs: tt.dot": "products are not built yet",
    "but at least 8 is needed for fp32": "tensor cores take no shorter products, here as upstream",
}

# Tests of what one thread guarantees and many do not.
ONE_THREAD = {
    "test_a_store_does_not_disturb_what_was_loaded_before", "test_reverse_in_place", "test_transpose_in_place",
    "test_row_of_the_result",
}
ONE_THREAD_REASON = "threads of a program read what others of it wrote only behind a barrier, here as upstream"


@pytest.fixture(params=["interpret", "cpu", "simulate"] + (["cuda"] if card.is_there() else []), autouse=True)
def engine(request):
    simulate, on_card = request.param == "simulate", request.param == "cuda"
    if (simulate or on_card) and request.function.__name__ in ONE_THREAD:
        pytest.skip(ONE_THREAD_REASON)
    with tilewright.engine("cpu" if on_card else request.param, check_bounds=simulate):
        with card.engine() if on_card else contextlib.nullcontext():
            yield request.param


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    try:
        return (yield)
    except tilewright.CompilationError as error:
        params = getattr(pyfuncitem, "callspec", None)
        if params is None or params.params.get("engine") not in ("simulate", "cuda"):
            raise
        for text, reason in REFUSALS.items():
            if text in str(error):
                pytest.skip(reason)
        raise
