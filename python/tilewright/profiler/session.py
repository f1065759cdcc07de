"""Profiles in progress.

A profile is a tree of frames: scopes, and kernels below them, each with its time and the metrics that its author gave (flops, bytes). As
a trace it is also a list of timed events. A frame holds spans, which may not have ended. Their times are summed when the profile is read.
"""

import contextlib
import functools
import json
import os
import sys
import threading

from .. import knobs
from . import clock, hooks, metric

DEFAULT_PROFILE_NAME = "proton"
_SUFFIX = {"tree": "hatchet", "trace": "chrome_trace"}


class Frame:
    """A scope or a kernel at one place in the tree."""

    def __init__(self, name):
        self.name = name
        self.children = {}
        self.metrics = {}
        self.is_kernel = False
        self._spans = []

    def child(self, name):
        return self.children.setdefault(name, Frame(name))

    def add(self, metrics):
        for marked, value in metrics.items():
            name, is_property = metric.plain(marked)
            value, old = metric.value_of(name, value), self.metrics.get(name)
            self.metrics[name] = value if old is None or is_property else metric.added(name, old, value)

    def merge(self, other):
        """Adds the same frame of a later phase."""
        self.is_kernel |= other.is_kernel
        self.add(other.metrics)
        for name, child in other.children.items():
            self.child(name).merge(child)

    def take(self, span):
        self._spans.append(span)

    def is_waiting(self):
        """True if there are spans whose times have not been read."""
        return bool(self._spans) or any(child.is_waiting() for child in self.children.values())

    def settle(self):
        """Converts the spans that have ended to times. The time of work that our kernels did not do is the scope's own."""
        inside = sum(child.settle() for child in self.children.values())
        own = sum(span.nanoseconds() for span in self._spans) if self.is_kernel else self._own(inside)
        if self._spans and (self.is_kernel or own > 0):
            self.add({"time (ns)": own, "count": len(self._spans)})
        self._spans.clear()
        return inside + own

    def _own(self, inside):
        """The own time of a scope: by the clock, or else all its time but that of the frames in it."""
        own = [span.own() for span in self._spans]
        return max(sum(span.nanoseconds() for span in self._spans) - inside, 0) if None in own else sum(own)

    def as_dict(self):
        children = [child.as_dict() for child in self.children.values()]
        return {"frame": {"name": self.name, "type": "function"}, "metrics": dict(self.metrics), "children": children}


class Session:
    def __init__(self, number, name, context, data):
        self.number, self.name, self.context, self.data = number, name, context, data
        self.phases = {0: Frame("ROOT")}  # {number: tree}; the last phase is being taken
        self.is_active = True
        self.events = []  # (name, category, thread, span)

    @property
    def phase(self):
        return max(self.phases)

    @property
    def root(self):
        return self.phases[self.phase]

    def advance(self):
        """Begins another phase and returns its number."""
        self.phases[self.phase + 1] = Frame("ROOT")
        return self.phase

    def is_complete(self, phase):
        """True if a phase and all work that it started have ended."""
        return phase < self.phase and not any(frame.is_waiting() for frame in (self.phases.get(phase),) if frame)

    def frame(self, path):
        frame = self.root
        for name in path:
            frame = frame.child(name)
        return frame

    def record(self, name, category, span):
        if self.data == "trace":
            self.events.append((name, category, threading.get_ident(), span))

    def settle(self):
        """Converts all spans that have ended to times."""
        for root in self.phases.values():
            root.settle()
        for _, _, _, span in self.events:
            span.nanoseconds()

    def database(self, phase=None):
        """The profile, or a phase of it, as lists and dicts, in the form of hatchet's files."""
        self.settle()
        whole = Frame("ROOT")
        for number, root in self.phases.items():
            if phase in (None, number):
                whole.merge(root)
        return [whole.as_dict(), clock.device_properties()]

    def trace(self):
        """The profile as Chrome's tracing viewer and Perfetto read it: microseconds."""
        events = []
        for name, category, thread, span in self.events:
            duration = span.nanoseconds() / 1e3  # this call also sets the begin of a GPU's span
            events.append({"name": name, "cat": category, "ph": "X", "ts": span.begin / 1e3, "dur": duration, "pid": os.getpid(),
                           "tid": thread})
        return {"displayTimeUnit": "ns", "traceEvents": events}

    def write(self, kind):
        if kind not in _SUFFIX.values():
            raise ValueError(f"a profile is written as hatchet or chrome_trace, not as {kind!r}")
        with open(f"{self.name}.{kind}", "w") as file:
            json.dump(self.trace() if kind == "chrome_trace" else self.database(), file)


_sessions = {}
_next_number = 0
profiled_by_command = False  # if True, profiles that the program itself starts are ignored
_lock = threading.RLock()
_thread = threading.local()


def stack():
    """The scopes around the current point of this thread: (name, span, path) each."""
    if not hasattr(_thread, "stack"):
        _thread.stack = []
    return _thread.stack


def states():
    """The states of this thread, by name."""
    if not hasattr(_thread, "states"):
        _thread.states = []
    return _thread.states


def are_taken():
    return bool(_sessions)


def active_sessions():
    return [session for session in _sessions.values() if session.is_active]


def session_of(number):
    if number not in _sessions:
        raise ValueError(f"Session has not been initialized: {number}; it was never started, or is finalized")
    return _sessions[number]


def _callers():
    """The Python functions that led here, outermost first, without the profiler's own."""
    frame, names = sys._getframe(1), []
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(package):
            names.append(f"{code.co_filename}:{frame.f_lineno}@{code.co_name}")
        frame = frame.f_back
    return names[::-1]


def path_in(session, leaf):
    """The path of a kernel's frame in the tree of a session."""
    scopes = [name for name, _, _ in stack()]
    return [*(_callers() if session.context == "python" else ()), *scopes, *states(), *leaf]


class Timer(hooks.Hook):
    """Gives each launch its frame and its time, in all active profiles."""

    priority = -100  # entered last: no other hook runs between the clock and the launch

    def __init__(self):
        self._thread = threading.local()

    def enter(self, metadata):
        self._thread.spans = [*getattr(self._thread, "spans", ()), clock.span()]

    def exit(self, metadata):
        if not getattr(self._thread, "spans", None):  # the profile was started or resumed in between
            return
        *self._thread.spans, span = self._thread.spans
        span.end()
        self.store(metadata, span)

    def store(self, metadata, span):
        for number in hooks.HookManager.timed_by(self):
            session = session_of(number)
            describer = hooks.HookManager.hook_of(number, hooks.LaunchHook)
            described = describer.describe(metadata) if describer else None
            name, metrics = described or (metadata.data["name"], {})
            frame = session.frame(path_in(session, [name]))
            frame.is_kernel = True
            frame.take(span)
            frame.add(metrics)
            session.record(name, "kernel", span)


def start(name=None, *, context="shadow", data="tree", backend=None, mode=None, hook=None):
    """Begins a profile and returns its number. finalize() writes it to NAME.hatchet, or as a trace to NAME.chrome_trace.

    context: "shadow" (frames are scopes and kernels) or "python" (the callers of a launch are frames, too). data: "tree" or "trace".
    hook: "triton" (kernels have the metrics and the name that their `launch_metadata` gives), or a hooks.Hook.
    """
    global _next_number
    if knobs.proton.disable or profiled_by_command:
        return None
    for what, value, known in (("context", context, ("shadow", "python")), ("data", data, tuple(_SUFFIX))):
        if value not in known:
            raise ValueError(f"{what} is one of {', '.join(known)}, not {value!r}")
    if backend == "instrumentation":
        raise NotImplementedError("profiles from inside of kernels are not supported; backend is None, or 'cupti' on a GPU")
    with _lock:
        session = Session(_next_number, name or DEFAULT_PROFILE_NAME, context, data)
        _sessions[session.number] = session
        _next_number += 1
        hooks.HookManager.time(Timer(), session.number)
        if hook is not None:
            hooks.HookManager.register(hooks.LaunchHook() if hook == "triton" else hook, session.number)
    return session.number


def _chosen(session):
    return list(_sessions) if session is None else [session_of(session).number]


def activate(session=None):
    """Resumes a profile, or all of them."""
    with _lock:
        for number in _chosen(session):
            _sessions[number].is_active = True
            hooks.HookManager.activate(number)


def deactivate(session=None, flushing=False):
    """Pauses a profile, or all of them. flushing: if True, waits for running work."""
    with _lock:
        for number in _chosen(session):
            _sessions[number].is_active = False
            hooks.HookManager.deactivate(number)
            if flushing:
                _sessions[number].settle()


def end(number):
    """Ends a profile without writing a file, and returns it."""
    with _lock:
        hooks.HookManager.unregister(number)
        ended = _sessions.pop(number)
        ended.settle()
        if not _sessions:
            clock.recorder.stop()
        return ended


def finalize(session=None, output_format=""):
    """Ends a profile, or all of them, and writes the file of each."""
    with _lock:
        for number in _chosen(session):
            ended = end(number)
            ended.write(output_format or _SUFFIX[ended.data])


@contextlib.contextmanager
def _profiling(name, options):
    number = start(name, **options)
    try:
        yield
    finally:
        if number is not None:
            finalize(number)


def profile(func=None, *, name=None, **options):
    """A decorator: each call of the function is a profile."""
    if func is None:
        return functools.partial(profile, name=name, **options)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        with _profiling(name, options):
            return func(*args, **kwargs)

    return wrapper
