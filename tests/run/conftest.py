"""Every numeric test runs on the reference interpreter, as CPU code and as simulated GPU code, and on a GPU if there is one; NumPy in
float64 gives the expected results.

    TRITON_DEBUG=1 make test TEST_FLAGS="--only run"             each kernel with its assertions, and with checks for overflow
    TILEWRIGHT_DEBUG_INFO=1 make test TEST_FLAGS="--only run"    each kernel with the lines and variables for debuggers

    make test TEST_FLAGS="--only arm"                            a sample on emulated ARM CPUs (arm_device.py)

With `--sample 20`, as in `make check`, a fifth of the cases of each file runs, each case on one engine.
With `--gpu-target cuda:sm_75`, only the simulator runs, on code for this GPU, and ptxas assembles each kernel.
"""

import collections
import itertools

import arm_device
import gpu_device
import pytest
from assembled import assemble

import tilewright


# With --gpu-target: files and tests that need what the default GPU has and others lack, and the error messages that say so.
MAY_BE_REFUSED = {
    "has no clusters of CTAs": {
        "test_clusters", "test_examples.test_blocks_of_a_cluster_split_k", "test_any_size.test_tiled_matmul",
        "test_any_size.test_tiles_of_two_ctas_store_only_inside",
        "test_warp_specialization.test_blocks_bring_rows_of_each_box_and_branch_alike", "test_warp_specialization.test_peers_do_not_copy_over_a_result",
        "test_warp_specialization.test_two_blocks_fill_their_slots_together",
    },
    "out of resource: shared memory": {
        "test_any_size.test_matmul", "test_any_size.test_tiled_matmul", "test_compiled.test_scratch_beyond_what_an_offset_constant_holds",
        "test_computed_operands.test_two_buffers_do_not_fit", "test_dot.test_shapes", "test_examples.test_example",
        "test_scaled_dot.test_both_operands_made_in_a_loop", "test_scaled_warp_specialization", "test_sort.test_a_long_line",
        "test_warp_specialization.test_sums_in_memory",
    },
}


def pytest_addoption(parser):
    parser.addoption("--sample", type=int, metavar="PERCENT", help="run this part of each file's cases, and each of them on one engine")
    parser.addoption("--gpu-target", metavar="cuda:NAME", help="simulate code for this GPU, and run no other engine")
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
        # The emulated process prints nothing, and does not have this process's memory at its addresses.
        kept = [item for item in kept if hasattr(item, "callspec") and item.callspec.params.get("engine") == "cpu"
                and item.originalname != "test_pointers_as_conditions" and item.path.name != "test_print.py"]
    if config.getoption("--gpu-target"):
        kept = [item for item in kept if getattr(item, "callspec", None) and item.callspec.params.get("engine") == "simulate"]
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """A launch that the target refuses for a reason of MAY_BE_REFUSED is as good as right numbers."""
    try:
        return (yield)
    except (tilewright.OutOfResources, ValueError) as error:
        names = {item.path.stem, f"{item.path.stem}.{item.originalname}"}
        if not item.config.getoption("--gpu-target") or not any(reason in str(error) and names & tests for reason, tests in MAY_BE_REFUSED.items()):
            raise


@pytest.fixture(params=["interpret", "cpu", "simulate"] + (["cuda"] if gpu_device.is_there() else []), autouse=True)
def engine(request, monkeypatch):
    if level := request.config.getoption("--arm"):
        with tilewright.engine("cpu"), arm_device.engine(level):
            yield request.param
    elif request.param == "cuda":
        with tilewright.engine("cpu"), gpu_device.engine():
            yield request.param
    else:
        checked = request.param != "cpu" and not request.node.get_closest_marker("unchecked")
        target = request.config.getoption("--gpu-target") if request.param == "simulate" else None
        if target:
            assemble(monkeypatch, target)
        with tilewright.engine(request.param, check_bounds=checked, target=target):
            yield request.param
