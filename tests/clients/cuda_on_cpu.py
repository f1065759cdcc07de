"""A pytest plugin: on a CPU, tests that ask PyTorch for a "cuda" device get the CPU."""

import contextlib
import os


def stand_in(value):
    import torch

    if isinstance(value, (str, torch.device)) and str(value).split(":")[0] == "cuda":
        return "cpu"
    return value


def begin(capability):
    """From now on, PyTorch's CUDA tensors are on the CPU, and the device has this compute capability."""
    import torch
    from torch.overrides import TorchFunctionMode

    class OnCPU(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function is torch.Tensor.cuda:
                return args[0]
            named = {name: stand_in(value) for name, value in (kwargs or {}).items()}
            if function in (torch.Tensor.to, torch.device):
                args = tuple(stand_in(value) for value in args)
            return function(*args, **named)

    OnCPU().__enter__()
    torch.cuda.get_device_capability = lambda *_: capability
    torch.cuda.device = lambda *_: contextlib.nullcontext()
    torch.cuda.synchronize = torch.cuda.empty_cache = lambda *_: None


def pytest_configure():
    if os.environ["CLIENTS_DEVICE"] == "cpu":
        begin((8, 0))
