"""Scratch memory that a kernel asks its host for. Kernels bring their own here, on CPUs and on GPUs, so the allocator is kept and not called."""



class NullAllocator:
    """What asks for memory where no allocator was set."""

    def __call__(self, size, alignment, stream):
        raise RuntimeError("Kernel requires a runtime memory allocation, but no allocator was set. "
                           "Use triton.set_allocator to specify an allocator.")


_NULL_ALLOCATOR = NullAllocator()
_allocator = None


def set_allocator(allocator):
    global _allocator
    if allocator is not None and not callable(allocator):
        raise TypeError("an allocator is a function of (size, alignment, stream)")
    _allocator = allocator


def get_allocator():
    return _allocator
