"""The part of the language that is written in itself: reductions, sorting, softmax, ..."""

from . import core as _core_module

globals().update(_core_module._members)
