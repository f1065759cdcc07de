"""The part of the language that is written in the language itself: reductions, sorting, softmax, ..."""

from . import core as _core_module

globals().update(_core_module._members)


def __getattr__(name):
    # The private names that torch.compile's helpers import from here. They are created on first use, because the decorator's module imports the language.
    if name != "_log2":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from ..runtime.jit import constexpr_function

    @constexpr_function
    def _log2(i):
        return (int(i) or 1).bit_length() - 1

    globals()["_log2"] = _log2
    return _log2
