"""Which engine runs the launches of this thread."""

from . import _core


class engine:
    """`with tilewright.engine("interpret"):` runs kernels on the reference interpreter instead of compiled code ("cpu").

    "simulate" compiles them for a GPU (`target`, such as "cuda:sm_80"; None: Hopper) and runs its threads one by one on the CPU, with the host's arrays as its
    memory; races and deadlocks are errors. It is slow and exact: It tests GPU code on machines without a GPU.
    check_bounds: the interpreter and the simulator report out-of-bounds accesses through an argument, races between programs,
    and loops that wait forever. An argument with an unknown extent is named in a warning, and not checked. A pointer that was loaded
    from memory may access all memory of the process.
    """

    def __init__(self, name, check_bounds=False, target=None):
        self._wanted = (name, check_bounds, target)
        self._before = []

    def __enter__(self):
        self._before.append(_core.set_engine(*self._wanted))
        return self

    def __exit__(self, *exception):
        _core.set_engine(*self._before.pop())
