"""The operations and bytes of launches, counted in their IR without running them (src/tune/program_work)."""

import math

from .. import _core, knobs


def is_tensor(value):
    return hasattr(value, "dtype") and (hasattr(value, "data_ptr") or hasattr(value, "__array_interface__"))


class LaunchWork:
    """The work of one launch. bytes: of the tensors among the arguments, each once. products: floating-point operations of dots, by the type of
    their operands. other: all other floating-point operations. Both are None if the kernel does not compile. is_exact: True if the trip counts
    of all its loops are known."""

    def __init__(self, bound, counted, programs):
        tensors = {id(value): value for value in bound.values() if is_tensor(value)}
        self.bytes = sum(tensor.nbytes for tensor in tensors.values())
        self.other, self.products, self.is_exact = None, {}, False
        if counted is not None:
            other, products, self.is_exact = counted
            self.other = other * programs
            self.products = {operands: operations * programs for operands, operations in products.items()}

    @property
    def operations(self):
        return (self.other or 0) + sum(self.products.values())


class WorkCounter:
    """Counts the work of launches that hooks report: (kernel, arguments, keywords, grid). Launches with the same work are analyzed once."""

    def __init__(self):
        self._known = {}

    def of(self, launch):
        kernel, args, kwargs, grid = launch
        bound = kernel._bind(*args, **kwargs)
        extents = grid(bound) if callable(grid) else grid
        extents = tuple(extents) if isinstance(extents, (tuple, list)) else (extents,)
        key = (kernel, extents, tuple(value.dtype if is_tensor(value) else value if isinstance(value, (int, float)) else repr(value)
                                      for value in bound.values()))
        if key not in self._known:
            try:
                self._known[key] = _core.program_work(
                    kernel, args, {name: value for name, value in kwargs.items() if name != "warmup"}, list(extents))
            except Exception:  # the launch itself reports the error, better than a count could
                self._known[key] = None
        return LaunchWork(bound, self._known[key], math.prod(extents))


class CountedLaunches:
    """The launches of a `with` block."""

    def __init__(self):
        self._counter = WorkCounter()
        self.found = []

    def __enter__(self):
        knobs.runtime.launch_enter_hook.add(self._see)
        return self

    def __exit__(self, *_):
        knobs.runtime.launch_enter_hook.remove(self._see)

    def _see(self, metadata):
        self.found.append(self._counter.of(metadata.launch) if metadata.launch else LaunchWork({}, None, 0))

    @property
    def is_exact(self):
        return all(work.is_exact for work in self.found)

    @property
    def operations(self):
        return sum(work.operations for work in self.found)

    @property
    def has_dot(self):
        return any(work.products for work in self.found)
