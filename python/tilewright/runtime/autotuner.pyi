# Written by tools/stubs.py from the tables of builtins: edit those.
from typing import Any
from .. import Autotuner as Autotuner
from .. import Config as Config
from .. import Heuristics as Heuristics
from .. import autotune as autotune
from .. import heuristics as heuristics

def __getattr__(name: str) -> Any: ...
