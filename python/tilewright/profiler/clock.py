"""What a piece of work took: by the CPU's clock, by CUPTI's records of a GPU's kernels, or by events around them."""

import sys
import threading
import time
import warnings

from .. import _core
from ..runtime.driver import driver


class HostSpan:
    """Work that is over when its call returns."""

    def __init__(self):
        self.begin = self._end = time.perf_counter_ns()

    def end(self):
        self._end = time.perf_counter_ns()

    def nanoseconds(self):
        return self._end - self.begin

    def own(self):
        return None


class EventSpan:
    """Work in the current stream of a GPU. Its time is known when the GPU is done with it.

    Where the GPU has nothing else to do, the first event is over before the work is queued, and what lies between the two is mostly the
    host's: a call that loads code for the first time takes as long as many kernels. So that part is left out.
    """

    def __init__(self, device):
        self.begin = time.perf_counter_ns()
        self._events = [device.Event(enable_timing=True), device.Event(enable_timing=True)]
        self._events[0].record()
        self._queued = time.perf_counter_ns()
        self._waited = 0  # nanoseconds that the GPU had nothing to do

    def end(self):
        if self._events[0].query():
            self._waited = time.perf_counter_ns() - self._queued
        self._events[1].record()

    def nanoseconds(self):
        self._events[1].synchronize()
        whole = int(self._events[0].elapsed_time(self._events[1]) * 1e6)
        return max(whole - self._waited, min(whole, 1000))

    def extent(self):
        """From the first kernel's begin to the last one's end."""
        return self.nanoseconds()

    def own(self):
        """Nanoseconds of what no other span inside of this one has measured; None where the clock does not tell."""
        return None


class KernelSpan(EventSpan):
    """Work that CUPTI has a record of: what the kernels took, and nothing around them. Events stand in where there is none, because
    another profiler has begun meanwhile."""

    def __init__(self, device):
        super().__init__(device)
        self._mark = _core.enter_activity()
        self._times = None

    def end(self):
        _core.leave_activity(self._mark)
        super().end()

    def _recorded(self):
        """(begin, end, nanoseconds of all kernels, how many), or ()."""
        if self._times is None:
            self._times = _core.activity_times(self._mark, driver.active.get_current_device()) or ()
            if self._times:
                self.begin = self._times[0]
        return self._times

    def nanoseconds(self):
        recorded = self._recorded()
        return recorded[2] if recorded else super().nanoseconds()

    def extent(self):
        recorded = self._recorded()
        return recorded[1] - recorded[0] if recorded else super().nanoseconds()


class ScopeSpan(EventSpan):
    """All that happens in a stream between two places of a program, pauses included."""

    def end(self):
        self._events[1].record()


class RecordedScope(ScopeSpan):
    """The same where CUPTI records: it also tells what ran in the scope beside our launches and inner scopes, which have their own marks."""

    def __init__(self, device):
        super().__init__(device)
        self._mark = _core.enter_activity()
        self._own = None

    def end(self):
        _core.leave_activity(self._mark)
        super().end()

    def own(self):
        if self._own is None:
            recorded = _core.activity_times(self._mark, driver.active.get_current_device())
            self._own = recorded[2] if recorded else 0
        return self._own


class CapturedSpan:
    """Work that goes into a graph in place of running: it takes no time now, and its replays are not seen."""

    def __init__(self):
        self.begin = time.perf_counter_ns()

    def end(self):
        pass

    def nanoseconds(self):
        return 0

    def own(self):
        return 0


class Recorder:
    """CUPTI, from the first span of a GPU on until nobody measures any more. why: it cannot be had."""

    def __init__(self):
        self._lock = threading.Lock()
        self._is_on = None
        self.why = None

    def is_on(self):
        with self._lock:
            if self._is_on is None:
                self.why = _core.start_activities()
                self._is_on = self.why is None
            return self._is_on

    def stop(self):
        """Times of spans that were asked for are kept."""
        with self._lock:
            if self._is_on:
                _core.stop_activities()
            self._is_on = None


recorder = Recorder()


def _torch_profiles():
    torch = sys.modules.get("torch")
    return torch is not None and torch.autograd._profiler_enabled()


def _device_span(device, recorded, by_events):
    """In the current stream of a GPU. device: what PyTorch has for it."""
    captures = getattr(device, "is_current_stream_capturing", lambda: False)
    if captures():
        return CapturedSpan()
    if not recorder.is_on():
        return by_events(device)
    if _torch_profiles():
        warnings.warn("torch.profiler has begun while this profile records, and CUPTI serves one of the two: it sees nothing of the GPU. "
                      "Begin it first, or end this profile before", RuntimeWarning, stacklevel=2)
    return recorded(device)


def on_device():
    """Whether there is a GPU whose events can be asked."""
    active = driver.active
    return active.get_current_target().backend == "cuda" and hasattr(active.get_device_interface(), "Event")


def call_span(device):
    """Of launches on a GPU, whoever makes them."""
    return _device_span(device, KernelSpan, EventSpan)


def span():
    """Of launches."""
    return call_span(driver.active.get_device_interface()) if on_device() else HostSpan()


def scope_span():
    """Of a scope, on a GPU."""
    return _device_span(driver.active.get_device_interface(), RecordedScope, ScopeSpan)


def device_facts():
    """{kind: {number: facts}} of the active device, as profiles keep them."""
    target = driver.active.get_current_target()
    facts = driver.active.utils.get_device_properties(driver.active.get_current_device())
    kind = "CUDA" if target.backend == "cuda" else "CPU"
    return {kind: {str(driver.active.get_current_device()): {
        "clock_rate": facts["sm_clock_rate"], "memory_clock_rate": facts["mem_clock_rate"], "bus_width": facts["mem_bus_width"],
        "arch": str(target.arch), "num_sms": facts["multiprocessor_count"]}}}
