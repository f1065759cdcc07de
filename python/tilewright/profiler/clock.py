"""The time of a piece of work: by the CPU's clock, by CUPTI's records of a GPU's kernels, or by events around them."""

import sys
import threading
import time
import warnings

from .. import _core
from ..runtime.driver import driver


class HostSpan:
    """Work that is finished when its call returns."""

    def __init__(self):
        self.begin = self._end = time.perf_counter_ns()

    def end(self):
        self._end = time.perf_counter_ns()

    def nanoseconds(self):
        return self._end - self.begin

    def own(self):
        return None


class EventSpan:
    """Work in the current stream of a GPU. Its time is known once the GPU has finished it.

    If the GPU is idle, the first event is over before the work is queued, and the time between the two events is mostly the
    host's: a call that loads code for the first time takes as long as many kernels. So the idle part is left out.
    """

    def __init__(self, device):
        self.begin = time.perf_counter_ns()
        self._events = [device.Event(enable_timing=True), device.Event(enable_timing=True)]
        self._events[0].record()
        self._queued = time.perf_counter_ns()
        self._waited = 0  # nanoseconds for which the GPU was idle

    def end(self):
        if self._events[0].query():
            self._waited = time.perf_counter_ns() - self._queued
        self._events[1].record()

    def nanoseconds(self):
        self._events[1].synchronize()
        whole = int(self._events[0].elapsed_time(self._events[1]) * 1e6)
        return max(whole - self._waited, min(whole, 1000))

    def extent(self):
        """Nanoseconds from the start of the first kernel to the end of the last one."""
        return self.nanoseconds()

    def own(self):
        """Nanoseconds of the work that no inner span has measured; None if the clock cannot tell."""
        return None


class KernelSpan(EventSpan):
    """Work with a record of CUPTI: the time of the kernels alone. If another profiler has begun in the meantime, there is no record, and
    events give the time."""

    def __init__(self, device):
        super().__init__(device)
        self._mark = _core.enter_activity()
        self._times = None

    def end(self):
        _core.leave_activity(self._mark)
        super().end()

    def _recorded(self):
        """(begin, end, nanoseconds of all kernels, number of kernels), or () without a record."""
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
    """All work in a stream between two places of a program, pauses included."""

    def end(self):
        self._events[1].record()


class RecordedScope(ScopeSpan):
    """The same with CUPTI's records. Launches and inner scopes have marks, so the record also gives the other work of the scope."""

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
    """Work that is captured into a graph and does not run: it takes no time now, and replays are not measured."""

    def __init__(self):
        self.begin = time.perf_counter_ns()

    def end(self):
        pass

    def nanoseconds(self):
        return 0

    def own(self):
        return 0


class Recorder:
    """CUPTI's records, from the first span of a GPU to `stop`. why: the reason if CUPTI is not available."""

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
        """Ends recording. The times of spans that were read stay known."""
        with self._lock:
            if self._is_on:
                _core.stop_activities()
            self._is_on = None


recorder = Recorder()


def _torch_profiles():
    torch = sys.modules.get("torch")
    return torch is not None and torch.autograd._profiler_enabled()


def _device_span(device, recorded, by_events):
    """A span in the current stream of a GPU. device: torch.cuda, or its replacement."""
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
    """True if there is a GPU whose events can be read."""
    active = driver.active
    return active.get_current_target().backend == "cuda" and hasattr(active.get_device_interface(), "Event")


def call_span(device):
    """A span for launches on a GPU, whichever library makes them."""
    return _device_span(device, KernelSpan, EventSpan)


def span():
    """A span for launches of this package."""
    return call_span(driver.active.get_device_interface()) if on_device() else HostSpan()


def scope_span():
    """A span for a scope on a GPU."""
    return _device_span(driver.active.get_device_interface(), RecordedScope, ScopeSpan)


def device_properties():
    """Returns {kind: {number: properties}} of the active device, the form that profiles store."""
    target = driver.active.get_current_target()
    properties = driver.active.utils.get_device_properties(driver.active.get_current_device())
    kind = "CUDA" if target.backend == "cuda" else "CPU"
    return {kind: {str(driver.active.get_current_device()): {
        "clock_rate": properties["sm_clock_rate"], "memory_clock_rate": properties["mem_clock_rate"], "bus_width": properties["mem_bus_width"],
        "arch": str(target.arch), "num_sms": properties["multiprocessor_count"]}}}
