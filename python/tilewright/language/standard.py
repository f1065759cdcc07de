"""The part of the language that is written in itself: reductions, sorting, softmax, ..."""

from . import core as _core_module

globals().update(_core_module._members)


def __getattr__(name):
    # What torch.compile's helpers take from here beside public names. Made late: the decorator's module needs the language.
    if name != "_log2":
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from ..runtime.jit import constexpr_function

    @constexpr_function
    def _log2(i):
        return (int(i) or 1).bit_length() - 1

    globals()["_log2"] = _log2
    return _log2
