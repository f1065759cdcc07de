# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from .. import ConstexprFunction as ConstexprFunction
from .. import JITFunction as JITFunction
from .. import KernelInterface as KernelInterface
from .. import MockTensor as MockTensor
from .. import TensorWrapper as TensorWrapper
from .. import constexpr_function as constexpr_function
from .. import jit as jit
from .. import reinterpret as reinterpret

def __getattr__(name: str) -> Any: ...
