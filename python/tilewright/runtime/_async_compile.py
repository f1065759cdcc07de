"""Compilation in the background: while an AsyncCompileMode is active, warm-ups are handed to an executor of the caller's."""

from concurrent.futures import Executor, as_completed
from contextvars import ContextVar

active_mode = ContextVar("active_mode", default=None)


class FutureKernel:
    """A kernel that is being compiled. What is asked of it waits until it is there."""

    def __init__(self, finalize, future):
        self.finalize_compile = finalize
        self.future = future
        self.kernel = None

    def result(self, ignore_errors=False):
        if self.kernel is None:
            try:
                kernel = self.future.result()
            except Exception:
                if not ignore_errors:
                    raise
                return None
            self.finalize_compile(kernel)
            self.kernel = kernel
        return self.kernel

    def __getattr__(self, name):
        return getattr(self.result(), name)


class AsyncCompileMode:
    """While it is entered, warm-ups are handed to `executor`, each kernel once; leaving it waits for them."""

    def __init__(self, executor: Executor, *, ignore_errors=False):
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.raw_futures = []
        self.future_kernels = {}

    def submit(self, key, compile, finalize):
        """The kernel of this key, whose compilation is started unless it was before."""
        if key not in self.future_kernels:
            future = self.executor.submit(compile)
            future._key = key
            self.raw_futures.append(future)
            self.future_kernels[key] = FutureKernel(finalize, future)
        return self.future_kernels[key]

    def __enter__(self):
        if active_mode.get() is not None:
            raise RuntimeError("Another AsyncCompileMode is already active")
        active_mode.set(self)
        return self

    def __exit__(self, *exception):
        active_mode.set(None)
        for future in as_completed(self.raw_futures):
            self.future_kernels[future._key].result(self.ignore_errors)
