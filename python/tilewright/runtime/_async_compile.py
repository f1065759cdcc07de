"""Compilation in the background: kernels may be warmed up by an executor of the caller's."""

from concurrent.futures import Executor

_active = None


class FutureKernel:
    def __init__(self, finalize, future):
        self.finalize = finalize
        self.future = future
        self.kernel = None

    def result(self):
        if self.kernel is None:
            self.kernel = self.future.result()
            self.finalize(self.kernel)
        return self.kernel


class AsyncCompileMode:
    """While it is entered, warm-ups are handed to `executor`; leaving it waits for them."""

    def __init__(self, executor: Executor, ignore_errors=False):
        self.executor = executor
        self.ignore_errors = ignore_errors
        self.futures = []

    def submit(self, compile, finalize=lambda kernel: None):
        future = FutureKernel(finalize, self.executor.submit(compile))
        self.futures.append(future)
        return future

    def __enter__(self):
        global _active
        if _active is not None:
            raise RuntimeError("another AsyncCompileMode is active")
        _active = self
        return self

    def __exit__(self, *exception):
        global _active
        _active = None
        for future in self.futures:
            try:
                future.result()
            except Exception:
                if not self.ignore_errors:
                    raise


def active_mode():
    return _active
