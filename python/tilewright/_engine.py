"""Which engine runs the launches of this thread."""

from . import _core


class engine:
    """`with tilewright.engine("interpret"):` runs kernels on the reference interpreter instead of compiled code ("cpu").

    check_bounds: the interpreter reports loads and stores outside the arguments' memory. It takes effect in launches whose
    arguments all have a known extent.
    """

    def __init__(self, name, check_bounds=False):
        self._wanted = (name, check_bounds)
        self._before = []

    def __enter__(self):
        self._before.append(_core.set_engine(*self._wanted))
        return self

    def __exit__(self, *exception):
        _core.set_engine(*self._before.pop())
