"""What a piece of work took: by the CPU's clock, or by events of the GPU that it ran on."""

import time

from ..runtime.driver import driver


class HostSpan:
    """Work that is over when its call returns."""

    def __init__(self):
        self.begin = self._end = time.perf_counter_ns()

    def end(self):
        self._end = time.perf_counter_ns()

    def nanoseconds(self):
        return self._end - self.begin


class DeviceSpan:
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


class ScopeSpan(DeviceSpan):
    """All that happens in a stream between two places of a program, pauses included."""

    def end(self):
        self._events[1].record()


class CapturedSpan:
    """Work that goes into a graph in place of running: it takes no time now, and its replays are not seen."""

    def __init__(self):
        self.begin = time.perf_counter_ns()

    def end(self):
        pass

    def nanoseconds(self):
        return 0


def device_span(kind=DeviceSpan):
    """In the current stream of the active GPU."""
    device = driver.active.get_device_interface()
    captures = getattr(device, "is_current_stream_capturing", lambda: False)
    return CapturedSpan() if captures() else kind(device)


def on_device():
    """Whether there is a GPU whose events can be asked."""
    active = driver.active
    return active.get_current_target().backend == "cuda" and hasattr(active.get_device_interface(), "Event")


def span():
    return device_span() if on_device() else HostSpan()


def device_facts():
    """{kind: {number: facts}} of the active device, as profiles keep them."""
    target = driver.active.get_current_target()
    facts = driver.active.utils.get_device_properties(driver.active.get_current_device())
    kind = "CUDA" if target.backend == "cuda" else "CPU"
    return {kind: {str(driver.active.get_current_device()): {
        "clock_rate": facts["sm_clock_rate"], "memory_clock_rate": facts["mem_clock_rate"], "bus_width": facts["mem_bus_width"],
        "arch": str(target.arch), "num_sms": facts["multiprocessor_count"]}}}
