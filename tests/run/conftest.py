"""Every numeric test runs on the reference interpreter, as CPU code and as simulated GPU code, and on a GPU if there is one; NumPy in
float64 gives the expected results.

    TRITON_DEBUG=1 make test TEST_FLAGS="--only run"             each kernel with its assertions, and with checks for overflow
    TILEWRIGHT_DEBUG_INFO=1 make test TEST_FLAGS="--only run"    each kernel with the lines and variables for debuggers

    make test TEST_FLAGS="--only arm"                            a sample on emulated ARM CPUs (arm_device.py)

With `--sample 20`, as in `make check`, a fifth of the cases of each file runs, each case on one engine.
"""

import collections
import itertools

import arm_device
import gpu_device
import pytest

import tilewright


def pytest_addoption(parser):
    parser.addoption("--sample", type=int, metavar="PERCENT", help="run this part of each file's cases, and each of them on one engine")
    parser.addoption("--arm", metavar="LEVEL", help="run the CPU engine's code of this level under qemu-aarch64, and no other engine")


def sample(items, percent):
    """The same items at each call: cases at equal distances, at least one of each file, and the engines alternate."""
    files = collections.defaultdict(lambda: collections.defaultdict(dict))
    for item in items:
        function, _, values = item.nodeid.rstrip("]").partition("[")
        engine = item.callspec.params.get("engine") if values else None
        files[item.path][function, *(value for value in values.split("-") if value != engine)][engine] = item
    engines = itertools.count()
    for cases in files.values():
        cases = list(cases.values())
        count = -(-len(cases) * percent // 100)
        for i in range(count):
            case = list(cases[i * len(cases) // count].values())
            yield case[next(engines) % len(case)]


def pytest_collection_modifyitems(config, items):
    kept = list(items)
    if config.getoption("--arm"):
        # The emulated process has no text of failed assertions and prints nothing.
        kept = [item for item in kept if hasattr(item, "callspec") and item.callspec.params.get("engine") == "cpu"
                and "assertion" not in item.name and item.path.name != "test_print.py"]
    if percent := config.getoption("--sample"):
        kept = list(sample(kept, percent))
    if len(kept) < len(items):
        config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
        items[:] = kept


def pytest_configure(config):
    config.addinivalue_line("markers", "without_debug: integers wrap around on purpose, or programs wait for others: TRITON_DEBUG=1 is without effect")
    config.addinivalue_line("markers", "unchecked: reaches beyond its arrays, in memory that is its own, stores one value twice, or multiplies what no load defined by zeros, on purpose")


@pytest.fixture(autouse=True)
def no_debug(request, monkeypatch):
    if request.node.get_closest_marker("without_debug"):
        monkeypatch.setattr(tilewright.knobs.runtime, "debug", False)


@pytest.fixture(params=["interpret", "cpu", "simulate"] + (["cuda"] if gpu_device.is_there() else []), autouse=True)
def engine(request):
    if level := request.config.getoption("--arm"):
        with tilewright.engine("cpu"), arm_device.engine(level):
            yield request.param
    elif request.param == "cuda":
        with tilewright.engine("cpu"), gpu_device.engine():
            yield request.param
    else:
        checked = request.param != "cpu" and not request.node.get_closest_marker("unchecked")
        with tilewright.engine(request.param, check_bounds=checked):
            yield request.param
