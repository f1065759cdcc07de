"""Compilation in the background: while an AsyncCompileMode is active, warm-ups are handed to an executor of the caller's."""

import concurrent.futures
import contextvars

active_mode = contextvars.ContextVar("active_mode", default=None)


class FutureKernel:
    """Stands for a kernel until it is compiled. Whoever asks it for anything waits."""

    def __init__(self, finish, future):
        self._finish, self.future, self._made = finish, future, None

    @property
    def kernel(self):
        """None while it is not known to be there."""
        return self._made

    def result(self, ignore_errors=False):
        """The kernel. It is finished once, by the first who has it; with `ignore_errors`, None where it does not compile."""
        if self._made is not None:
            return self._made
        if ignore_errors and self.future.exception():
            return None
        made = self.future.result()
        self._finish(made)
        self._made = made
        return made

    def __getattr__(self, name):
        if name.startswith("_"):  # of this object, which has none
            raise AttributeError(name)
        return getattr(self.result(), name)


class AsyncCompileMode:
    """While it is entered, warm-ups are handed to `executor`, each kernel once; leaving it waits for them."""

    def __init__(self, executor, *, ignore_errors=False):
        self._executor, self._ignores_errors = executor, ignore_errors
        self._waiting, self._by_key = {}, {}  # kernels, by their futures and by their keys

    def submit(self, key, compile, finalize):
        """The kernel of this key, whose compilation is started unless it was before."""
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
