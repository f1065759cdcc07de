"""The tensors that a kernel file allocates while it runs: guarded, filled with a pattern if `empty` made them, counted, and on the wanted device."""

import contextlib
import functools

import numpy

from . import tensors

_EMPTY = ("empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided")
_FILLED = ("zeros", "zeros_like", "ones", "ones_like", "full", "full_like", "clone", "new_zeros", "new_ones", "new_full")


class Allocations:
    """The guarded tensors of one run, in the order in which they were made.

    own_guards: each tensor has another byte around it, so that a kernel which copies beyond the ends of two tensors is noticed; else all have the
    pattern. watch: (number, offset, bytes) of a place in one of them; `on_watched` is called with its address as soon as it exists.
    """

    def __init__(self, pattern, own_guards=False, watch=None, on_watched=None):
        self.pattern = pattern
        self._own_guards = own_guards
        self.made = []
        self._watch, self._on_watched = watch, on_watched

    def guard(self, tensor, content):
        around = 0x40 + len(self.made) % 32 if self._own_guards else self.pattern
        guarded = tensors.Guarded(tensor, self.pattern, content, around)
        number, offset, size = self._watch or (-1, 0, 0)
        if number == len(self.made):
            self._on_watched(tensors.address(guarded.storage) + guarded.begin + offset, size)
        self.made.append(guarded)
        return guarded.tensor

    def place(self, address):
        """(number of the tensor, offset in bytes) of an address; None if it is not in a tensor."""
        for number, guarded in reversed(list(enumerate(self.made))):
            offset = guarded.holds(address)
            if offset is not None:
                return number, offset
        return None

    @contextlib.contextmanager
    def active(self, device=None):
        """Within it, all tensors that are allocated are guarded."""
        with _numpy_guarded(self), torch_mode(device, self):
            yield


@contextlib.contextmanager
def _numpy_guarded(allocations):
    def guarding(make, content):
        @functools.wraps(make)
        def made(*args, **kwargs):
            array = make(*args, **kwargs)
            return allocations.guard(array, content) if tensors.is_tensor(array) else array

        return made

    names = {name: name in _FILLED for name in _EMPTY + _FILLED if hasattr(numpy, name)}
    own = {name: getattr(numpy, name) for name in names}
    try:
        for name, content in names.items():
            setattr(numpy, name, guarding(own[name], content))
        yield
    finally:
        for name, function in own.items():
            setattr(numpy, name, function)


def torch_mode(device, allocations=None):
    """Within it, PyTorch allocates tensors on `device`, even if the file names another device. Those of `allocations` are guarded."""
    torch = tensors.torch()
    if torch is None or (device is None and allocations is None):
        return contextlib.nullcontext()
    from torch.overrides import TorchFunctionMode
    from torch.utils._device import _device_constructors
    makers = _device_constructors()

    def is_device(value):
        return isinstance(value, torch.device) or (isinstance(value, str) and value.split(":")[0] in ("cuda", "cpu"))

    class Mode(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            kwargs = dict(kwargs or {})
            name = getattr(function, "__name__", "")
            if device is not None:
                if function in makers or is_device(kwargs.get("device")):
                    kwargs["device"] = device
                if name == "to":
                    args = tuple(device if is_device(value) else value for value in args)
                if name == "cuda":
                    function, args, kwargs = torch.Tensor.to, (args[0], device), {}
            result = function(*args, **kwargs)
            is_new = name in _EMPTY or name in _FILLED
            if allocations is None or not is_new or not tensors.is_tensor(result):
                return result
            with torch._C.DisableTorchFunction():
                return allocations.guard(result, name in _FILLED)

    return Mode()
