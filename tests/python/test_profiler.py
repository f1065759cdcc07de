"""triton.profiler: scopes, kernels, metrics, and the files that are written."""

import json
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import tilewright as triton
import tilewright.language as tl
import tilewright.profiler as proton
from tilewright.profiler import viewer


def told(grid, kernel, args):
    return {"name": f"fill[{args['n']}]", "bytes": 4 * args["n"], "flops32": 10 * args["n"], "other": 3}


@triton.jit(launch_metadata=told)
def fill(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, at, mask=at < n)


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    yield
    runtime = triton.knobs.runtime
    assert not (runtime.launch_enter_hook or runtime.launch_exit_hook or runtime.kernel_load_end_hook or runtime.kernel_unload_hook)


def launch(count=64):
    fill[(1,)](np.zeros(count, np.int32), count, BLOCK=64)


def child(node, name):
    return next(c for c in node["children"] if c["frame"]["name"] == name)


def test_a_tree_of_scopes_and_kernels():
    proton.start("profile", hook="triton")
    for _ in range(2):
        with proton.scope("outer", {"flops32": 5}):
            launch()
            with proton.scope("inner"):
                launch()
                launch(32)
    proton.deactivate()
    launch()
    proton.activate()
    launch(16)
    proton.finalize()
    tree, devices = json.load(open("profile.hatchet"))
    assert devices["CPU"]["0"]["num_sms"] >= 1
    outer = child(tree, "outer")
    assert outer["metrics"]["flops32"] == 10
    kernel = child(outer, "fill[64]")["metrics"]
    assert kernel["count"] == 2 and kernel["bytes"] == 2 * 256 and kernel["flops32"] == 1280 and kernel["time (ns)"] > 0
    assert "other" not in kernel
    inner = child(outer, "inner")
    assert [c["frame"]["name"] for c in inner["children"]] == ["fill[64]", "fill[32]"]
    assert child(tree, "fill[16]")["metrics"]["count"] == 1 and len(tree["children"]) == 2  # no launch while the profile was paused


def test_without_the_hook_kernels_have_their_own_names():
    number = proton.start("profile")
    launch()
    tree, _ = proton.data.get(number)
    assert child(tree, "fill")["metrics"]["count"] == 1 and "bytes" not in child(tree, "fill")["metrics"]
    proton.data.clear(number)
    assert proton.data.get(number)[0]["children"] == []
    proton.finalize(number)
    with pytest.raises(ValueError, match="Session has not been initialized"):
        proton.data.get(number)


def test_a_trace_and_callers():
    proton.start("profile", data="trace", context="python")
    with proton.cpu_timed_scope("timed"):
        launch()
    proton.finalize()
    events = json.load(open("profile.chrome_trace"))["traceEvents"]
    assert [(e["name"], e["cat"], e["ph"]) for e in events] == [("fill", "kernel", "X"), ("timed", "scope", "X")]
    assert events[1]["ts"] <= events[0]["ts"] and events[0]["dur"] <= events[1]["dur"]


def test_callers_are_frames():
    number = proton.start("profile", context="python")
    launch()
    node, names = proton.data.get(number)[0], []
    while node["children"]:
        node = node["children"][-1]
        names.append(node["frame"]["name"])
    assert names[-1] == "fill" and names[-2].endswith("@launch") and names[-3].endswith("@test_callers_are_frames")
    proton.finalize()


def test_decorators_and_open_scopes():
    @proton.scope("decorated")
    def work():
        launch()

    @proton.profile(name="whole")
    def program():
        work()
        proton.enter_scope("open", metrics={"bytes": 8})
        launch()
        proton.exit_scope("open")

    program()
    tree, _ = json.load(open("whole.hatchet"))
    assert child(child(tree, "decorated"), "fill")["metrics"]["count"] == 1 and child(tree, "open")["metrics"]["bytes"] == 8
    with pytest.raises(RuntimeError, match="no open scope"):
        proton.exit_scope()


def test_what_cannot_be():
    for options, message in (({"data": "list"}, "data is one of"), ({"context": "all"}, "context is one of")):
        with pytest.raises(ValueError, match=message):
            proton.start("profile", **options)
    with pytest.raises(NotImplementedError, match="inside of kernels"):
        proton.start("profile", backend="instrumentation")
    with pytest.raises(ValueError, match="cpu_time is what this scope measures"):
        proton.cpu_timed_scope("x", {"cpu_time": 1})
    with triton.knobs.proton.scope():
        triton.knobs.proton.disable = True
        assert proton.start("profile") is None


def test_own_hooks():
    seen = []

    class Mine(proton.hooks.Hook):
        def enter(self, metadata):
            seen.append(metadata.get()["name"])

        def deactivate(self):
            seen.append("pause")

    proton.start("profile", hook=Mine())
    launch()
    proton.finalize()
    launch()
    assert seen == ["fill[64]", "pause"]


def test_the_viewer(capsys):
    proton.start("profile", hook="triton")
    with proton.scope("part"):
        launch()
    launch(32)
    proton.finalize()
    tree, metrics = viewer.parse(["time/us", "gbyte/s", "tflop32/s", "count", "time/%"], "profile.hatchet")
    viewer.print_tree(tree, metrics)
    shown = capsys.readouterr().out.splitlines()
    assert shown[0].split() == metrics and shown[1].endswith("ROOT") and "100.000" in shown[1]
    assert shown[2].startswith("├─ ") and shown[3].startswith("│  └─ ") and shown[4].startswith("└─ ") and "fill[32]" in shown[4]
    part, _ = viewer.parse("count", "profile.hatchet", include=r"fill\[64\]")
    assert [node.name for node in part] == ["ROOT", "part", "fill[64]"]
    rest, _ = viewer.parse("count", "profile.hatchet", exclude="part")
    assert [node.name for node in rest] == ["ROOT", "fill[32]"]
    with pytest.raises(RuntimeError, match="the profile has no metric nothing"):
        viewer.parse("nothing", "profile.hatchet")
    done = subprocess.run([sys.executable, "-m", "tilewright", "-m", "triton.profiler.viewer", "-l", "profile.hatchet"], capture_output=True,
                          text=True, timeout=60, check=True)
    assert "- bytes" in done.stdout and "- time" in done.stdout


class FakeEvent:
    """An event of a GPU whose work takes a microsecond between events. An event that a graph has captured has no time, as on a GPU."""

    clock = 0
    captures = False
    is_idle = False  # whether the device has finished all earlier work

    def __init__(self, enable_timing):
        self.at = None

    def record(self):
        FakeEvent.clock += 1
        self.at = None if FakeEvent.captures else FakeEvent.clock

    def query(self):
        return FakeEvent.is_idle

    def synchronize(self):
        if self.at is None:
            raise RuntimeError("invalid argument")

    def elapsed_time(self, other):
        return (other.at - self.at) / 1e3


class FakeDevice:
    Event = FakeEvent

    @staticmethod
    def is_current_stream_capturing():
        return FakeEvent.captures


def test_what_an_idle_device_waits_for_is_not_its_work(monkeypatch):
    monkeypatch.setattr(FakeEvent, "is_idle", True)
    monkeypatch.setattr(FakeEvent, "elapsed_time", lambda self, other: 50.0)  # milliseconds, 40 of which the host took to load the code
    now = iter((0, 0, 40_000_000))
    monkeypatch.setattr(proton.clock.time, "perf_counter_ns", lambda: next(now))
    span = proton.clock.EventSpan(FakeDevice)
    span.end()
    assert span.nanoseconds() == 10_000_000
    monkeypatch.setattr(FakeEvent, "is_idle", False)  # the device was busy, so the host's time is not included
    monkeypatch.setattr(proton.clock.time, "perf_counter_ns", lambda: 0)
    span = proton.clock.EventSpan(FakeDevice)
    span.end()
    assert span.nanoseconds() == 50_000_000


class FakeRecords:
    """Stands for _core's activities: times by mark, as a test has set them."""

    def __init__(self, monkeypatch, why=None):
        self.why, self.times, self.open, self.users, self.last = why, {}, [], 0, 0
        for name in ("start_activities", "stop_activities", "enter_activity", "leave_activity", "activity_times"):
            monkeypatch.setattr(proton.clock._core, name, getattr(self, name))

    def start_activities(self):
        self.users += self.why is None
        return self.why

    def stop_activities(self):
        self.users -= 1

    def enter_activity(self):
        self.last += 1
        self.open.append(self.last)
        return self.last

    def leave_activity(self, mark):
        assert self.open.pop() == mark

    def activity_times(self, mark, device):
        return self.times.pop(mark, None)


@pytest.fixture
def on_fake_device(monkeypatch):
    monkeypatch.setattr(proton.clock, "on_device", lambda: True)
    monkeypatch.setattr(type(triton.runtime.driver.active), "get_device_interface", lambda self: FakeDevice)


def test_kernels_have_the_times_of_their_records(monkeypatch, on_fake_device):
    records = FakeRecords(monkeypatch)
    number = proton.start("profile", data="trace")
    with proton.scope("outer"):  # the scope has mark 1, the launches 2 and 3; 700 are of other libraries
        launch()
        launch()
    records.times = {2: (5000, 5300, 300, 1), 3: (6000, 6500, 400, 2), 1: (7000, 7700, 700, 1)}
    session = proton.session.end(number)
    tree, _ = session.database()
    outer = child(tree, "outer")
    assert outer["metrics"]["time (ns)"] == 700 and child(outer, "fill")["metrics"] == {"time (ns)": 700, "count": 2}
    begun = [event["ts"] for event in session.trace()["traceEvents"] if event["name"] == "fill"]
    assert begun == [5.0, 6.0]  # microseconds at which the GPU's work began, and not the call
    assert records.users == 0 and not records.open


def test_a_call_lasts_from_its_first_kernel_to_its_last(monkeypatch, on_fake_device):
    records = FakeRecords(monkeypatch)
    span = proton.clock.call_span(FakeDevice)
    span.end()
    records.times = {1: (5000, 5900, 300, 2)}
    assert span.extent() == 900 and span.nanoseconds() == 300
    proton.clock.recorder.stop()


def test_two_profilers_are_told_of(monkeypatch, on_fake_device):
    records = FakeRecords(monkeypatch)
    monkeypatch.setattr(proton.clock, "_torch_profiles", lambda: True)
    with pytest.warns(RuntimeWarning, match="it sees nothing of the GPU"):
        proton.clock.span().end()
    proton.clock.recorder.stop()
    records.why = "another profiler has CUPTI"  # it came first and gets all records
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        proton.clock.span().end()
    proton.clock.recorder.stop()


def test_events_stand_in_for_records(monkeypatch, on_fake_device):
    """Events are used if CUPTI is not available, and if another profiler takes it while we record."""
    for why in ("another profiler has CUPTI", None):
        records = FakeRecords(monkeypatch, why)
        span = proton.clock.span()
        span.end()
        assert span.nanoseconds() == span.extent() == 1000 and proton.clock.recorder.why == why
        proton.clock.recorder.stop()
        assert records.users == 0


def test_work_that_a_graph_captures_has_no_time(monkeypatch):
    monkeypatch.setattr(proton.clock, "on_device", lambda: True)
    monkeypatch.setattr(type(triton.runtime.driver.active), "get_device_interface", lambda self: FakeDevice)
    proton.start("profile")
    for captures in (False, True):
        FakeEvent.captures = captures
        with proton.scope("captured" if captures else "run"):
            launch()
    FakeEvent.captures = False
    proton.finalize()
    tree, _ = json.load(open("profile.hatchet"))
    assert child(child(tree, "run"), "fill")["metrics"]["time (ns)"] == 1000
    captured = child(child(tree, "captured"), "fill")["metrics"]
    assert captured["count"] == 1 and captured["time (ns)"] == 0


def test_metrics_of_scopes():
    """Properties are set, not added up; marks are not part of a name; lists are added by elements; a metric keeps its type."""
    proton.start("profile")
    for _ in range(2):
        with proton.scope("part", {"size (pty)": 3.0, "own (exc)": 1, "times": [1.0, 2.0], "flops8": 2, "bytes": np.float64(8)}):
            pass
    with pytest.raises(ValueError, match=r"Metric value type mismatch for valueId 0 \(own\): current=int64_t, new=double"):
        proton.enter_scope("part", metrics={"own (exc)": 1.0})
    assert proton.context.depth() == 0  # the scope was not entered
    proton.finalize()
    tree, _ = json.load(open("profile.hatchet"))
    metrics = child(tree, "part")["metrics"]
    assert metrics == {"size": 3.0, "own": 2, "times": [2.0, 4.0], "flops8": 4.0, "bytes": 16} and isinstance(metrics["bytes"], int)
    assert tree["metrics"] == {}


def test_states_stand_inside_of_scopes():
    number = proton.start("profile")
    with proton.scope("outer"), proton.state("loading"):
        with proton.scope("inner"):
            assert proton.context.depth(number) == 2
            launch()
    launch()
    tree, _ = proton.data.get(number)
    assert child(child(child(child(tree, "outer"), "inner"), "loading"), "fill")["metrics"]["count"] == 1
    assert child(tree, "fill")["metrics"]["count"] == 1
    proton.finalize()
    assert proton.context.depth(number) is None


def test_phases():
    number = proton.start("profile")
    launch()
    assert proton.data.advance_phase(number) == 1
    launch()
    launch()
    assert not proton.data.is_phase_complete(number, 1)
    assert proton.data.advance_phase(number) == 2
    proton.deactivate(number, flushing=True)
    assert proton.data.is_phase_complete(number, 1) and not proton.data.is_phase_complete(number, 2)
    assert child(proton.data.get(number, 1)[0], "fill")["metrics"]["count"] == 2 and proton.data.get(number, 2)[0]["children"] == []
    proton.data.clear(number, phase=0)
    proton.finalize()
    assert child(json.load(open("profile.hatchet"))[0], "fill")["metrics"]["count"] == 2


def test_messagepack():
    number = proton.start("profile")
    with proton.scope("é", {"a": -2, "b": 0.5}):
        pass
    tree = proton.data.get_msgpack(number)
    proton.finalize()
    assert tree.startswith(b"\xdd\0\0\0\2\xdf\0\0\0\3\xdb\0\0\0\5frame\xdf")
    assert b"\xdb\0\0\0\2\xc3\xa9" in tree
    assert b"\xdb\0\0\0\1a\xd3" + (-2).to_bytes(8, "big", signed=True) + b"\xdb\0\0\0\1b\xcb\x3f\xe0\0\0\0\0\0\0" in tree


def test_the_triton_hook_is_one_of_all_profiles():
    manager, hook = proton.hooks.HookManager, proton.hooks.LaunchHook()
    first, second = proton.start("first", hook="triton"), proton.start("second", hook="triton")
    assert manager.active_hooks == [hook] and manager.session_hooks == {first: {hook: True}, second: {hook: True}}
    proton.deactivate(first)
    assert manager.active_hooks == [hook] and manager.session_hooks[first] == {hook: False}
    proton.finalize()
    assert manager.active_hooks == [] and manager.session_hooks == {}
    with pytest.raises(NotImplementedError, match="from inside of kernels"):
        proton.hooks.InstrumentationHook("")


SCRIPT = """
import sys
import numpy as np
import triton, triton.language as tl
import triton.profiler as proton

@triton.jit
def fill(x_ptr):
    tl.store(x_ptr + tl.arange(0, 8), 1)

def test_fill():
    assert proton.start("another") is None  # the command profiles
    with proton.scope("part"):
        fill[(1,)](np.zeros(8, np.int32))

if __name__ == "__main__":
    test_fill()
    sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("target, status", [(["script.py", "3"], 3), (["pytest", "-q", "script.py"], 0)])
def test_the_command(target, status):
    open("script.py", "w").write(SCRIPT)
    done = subprocess.run([sys.executable, "-m", "tilewright", "-m", "triton.profiler.proton", "-n", "told", "-k", "triton", *target], capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert child(child(json.load(open("told.hatchet"))[0], "part"), "fill")["metrics"]["count"] == 1


@triton.jit
def slow_and_quick_kernel(out_ptr, n):
    total = 0.0
    for i in range(n):
        total = tl.sin(total + i)
    tl.store(out_ptr, total)


def test_kernels_of_a_call_measured_by_a_profile():
    """The host's time between launches does not count, and both launches do."""
    out = np.zeros(1, np.float32)

    def call(n):
        slow_and_quick_kernel[(1,)](out, n)
        time.sleep(0.01)
        slow_and_quick_kernel[(1,)](out, 1)

    measure = lambda n: triton.testing.do_bench_proton(lambda: call(n), warmup=1, rep=100, return_mode="min")
    short, long = measure(1), measure(50000)
    assert 0 < short < 5 and long > 2 * short
    assert len(triton.testing.do_bench_proton(lambda: call(1), warmup=1, rep=60, quantiles=[0.2, 0.5, 0.8])) == 3
    with pytest.raises(RuntimeError, match="has no kernel"):
        triton.testing.do_bench_proton(lambda: None, warmup=1, rep=1)
