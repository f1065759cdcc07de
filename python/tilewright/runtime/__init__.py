from .cache import RedisRemoteCacheBackend, RemoteCacheBackend
from .driver import driver
from .errors import AutotunerError, InterpreterError, OutOfResources, PTXASError
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from ._allocation import set_allocator

__all__ = [
    "autotune", "Autotuner", "AutotunerError", "Config", "driver", "heuristics", "Heuristics", "InterpreterError", "JITFunction",
    "KernelInterface", "MockTensor", "OutOfResources", "PTXASError", "RedisRemoteCacheBackend", "reinterpret",
    "RemoteCacheBackend", "set_allocator", "TensorWrapper",
]
