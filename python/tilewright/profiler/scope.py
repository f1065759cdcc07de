"""Names for parts of a program: a profile lists the kernels of a part under its name."""

import functools
import time

from . import clock
from . import session as sessions


class scope:
    """`with scope("attention", {"flops16": 2e12}):`, or a decorator. Metrics are added up over all times that the scope is entered."""

    def __init__(self, name, metrics=None):
        self.name = name
        self.metrics = metrics

    def _begin(self):
        # A scope needs its own time only for work without launch hooks. On a CPU there is no such work.
        span = clock.scope_span() if self._is_timed() else clock.HostSpan()
        sessions.stack().append((self.name, span, self._is_timed()))
        try:
            for session in sessions.active_sessions():
                session.frame(sessions.path_in(session, [])).add(self.metrics or {})
        except ValueError:  # a metric has another type than before: the scope is not entered
            sessions.stack().pop()
            raise

    def _end(self):
        stack = sessions.stack()
        if not stack or stack[-1][0] != self.name:
            raise RuntimeError(f"the scope '{self.name}' is not the innermost one that is open")
        name, span, is_timed = stack[-1]
        span.end()
        for session in sessions.active_sessions():
            if is_timed:
                session.frame(sessions.path_in(session, [])).take(span)
            session.record(name, "scope", span)
        stack.pop()

    @staticmethod
    def _is_timed():
        return bool(sessions.active_sessions()) and clock.on_device()

    def __enter__(self):
        self._begin()
        return self

    def __exit__(self, *exception):
        self._end()

    def __call__(self, function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with type(self)(self.name, self.metrics):
                return function(*args, **kwargs)

        return wrapper


class cpu_timed_scope(scope):
    """A scope that also measures the CPU's time in it, as the metric cpu_time."""

    def __init__(self, name, metrics=None):
        if metrics and "cpu_time" in metrics:
            raise ValueError("cpu_time is what this scope measures itself; give that metric another name")
        super().__init__(name, metrics)

    def _begin(self):
        self._start = time.perf_counter_ns()
        super()._begin()

    def _end(self):
        taken = time.perf_counter_ns() - self._start
        for session in sessions.active_sessions():
            session.frame(sessions.path_in(session, [])).add({"cpu_time (ns)": taken})
        super()._end()


def enter_scope(name, *, metrics=None):
    """Opens a scope that exit_scope closes."""
    scope(name, metrics)._begin()


def exit_scope(name=None, *, metrics=None):
    """Closes the innermost scope, which must have the name if one is given."""
    stack = sessions.stack()
    if not stack:
        raise RuntimeError("there is no open scope")
    if metrics:
        for session in sessions.active_sessions():
            session.frame(sessions.path_in(session, [])).add(metrics)
    scope(name or stack[-1][0])._end()
