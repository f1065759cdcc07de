"""`import tilewright.language as tl`: the language of kernels."""

from . import core
from .core import *  # noqa: F401,F403
from . import aggregate, extra, math, random, standard, target_info
from .core import PropagateNan, TRITON_MAX_TENSOR_NUMEL, str_to_ty

globals().update(core._members)
globals().update({name: value for name, value in vars(core).items()
                  if not name.startswith("_") and getattr(value, "__module__", "").startswith(("tilewright.", "triton."))})

core._aggregate = aggregate.aggregate  # upstream's name for it
core.aggregate_replace = aggregate_replace = aggregate.aggregate_replace  # kernels find it by the builtins' table, Python code by this name

__all__ = sorted(name for name, value in globals().items() if not name.startswith("_"))
