"""Allocators for scratch memory of kernels. Tilewright allocates this memory itself: allocators are stored, but not called."""

from contextvars import ContextVar


class NullAllocator:
    """The allocator if none was set."""

    def __call__(self, size, alignment, stream):
        raise RuntimeError("Kernel requires a runtime memory allocation, but no allocator was set. "
                           "Use triton.set_allocator to specify an allocator.")


_allocator = ContextVar("allocator", default=NullAllocator())
_profile_allocator = ContextVar("profile_allocator", default=NullAllocator())


def _checked(allocator):
    if allocator is not None and not callable(allocator):
        raise TypeError("an allocator is a function of (size, alignment, stream)")
    return allocator if allocator is not None else NullAllocator()


def set_allocator(allocator):
    # Inductor calls this before each launch.
    _allocator.set(allocator if callable(allocator) else _checked(allocator))


def get_allocator():
    return _allocator.get()


def set_profile_allocator(allocator):
    _profile_allocator.set(_checked(allocator))


def has_profile_allocator():
    return not isinstance(_profile_allocator.get(), NullAllocator)
