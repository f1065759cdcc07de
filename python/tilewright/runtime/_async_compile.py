"""Compilation in the background: while an AsyncCompileMode is active, an executor of the caller runs warm-ups."""

import concurrent.futures
import contextvars

active_mode = contextvars.ContextVar("active_mode", default=None)


class FutureKernel:
    """Stands for a kernel until it is compiled. Reading an attribute waits for the compilation."""

    def __init__(self, finish, future):
        self._finish, self.future, self._made = finish, future, None

    @property
    def kernel(self):
        """The kernel; None while it may not be compiled yet."""
        return self._made

    def result(self, ignore_errors=False):
        """Waits for the kernel; the first caller finishes it. With `ignore_errors`, the result is None if it does not compile."""
        if self._made is not None:
            return self._made
        if ignore_errors and self.future.exception():
            return None
        made = self.future.result()
        self._finish(made)
        self._made = made
        return made

    def __getattr__(self, name):
        if name.startswith("_"):  # an attribute of this object itself, which it does not have
            raise AttributeError(name)
        return getattr(self.result(), name)


class AsyncCompileMode:
    """While it is entered, `executor` compiles warmed-up kernels, each once; leaving it waits for them."""

    def __init__(self, executor, *, ignore_errors=False):
        self._executor, self._ignores_errors = executor, ignore_errors
        self._waiting, self._by_key = {}, {}  # kernels by their futures, and by their keys

    def submit(self, key, compile, finalize):
        """The kernel of this key; its compilation is started unless it already was."""
        if key not in self._by_key:
            future = self._executor.submit(compile)
            self._by_key[key] = self._waiting[future] = FutureKernel(finalize, future)
        return self._by_key[key]

    def __enter__(self):
        if active_mode.get():
            raise RuntimeError("compilations are collected by another AsyncCompileMode here; leave that one first")
        active_mode.set(self)
        return self

    def __exit__(self, *exception):
        active_mode.set(None)
        for done in concurrent.futures.as_completed(self._waiting):
            self._waiting[done].result(self._ignores_errors)
