# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from tilewright.runtime.jit import *

def __getattr__(name: str) -> Any: ...
