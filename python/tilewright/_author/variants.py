"""Other inputs, derived from those that a kernel file gives: what a kernel that is right for one size often gets wrong.

Extents that are equal are taken for one size (the K of two factors), and an integer argument of that value, or of a tensor's number of
elements, for the same number. Where that is wrong, the reference does not accept the derived inputs, and the variant is left out.
"""

import dataclasses
import math
from typing import Callable

from . import tensors

KINDS = ("given", "strided", "empty", "one", "odd")
_MOST_SIZES = 4


@dataclasses.dataclass
class Variant:
    kind: str
    name: str
    derive: Callable  # inputs -> inputs
    unfit: str = ""   # why it is left out


def _spread(value):
    """The same elements, every other one of a tensor with rows twice as long."""
    if not tensors.is_tensor(value) or not len(value.shape):
        return value
    whole = tensors.new_like(value, [*value.shape[:-1], 2 * value.shape[-1]])
    view = whole[..., ::2]
    view[...] = value
    return view


def _padded(value):
    """The same elements, in rows that do not lie back to back."""
    if not tensors.is_tensor(value) or len(value.shape) < 2:
        return value
    whole = tensors.new_like(value, [*value.shape[:-1], value.shape[-1] + 16])
    view = whole[..., :value.shape[-1]]
    view[...] = value
    return view


def _resized(inputs, changes):
    """Each extent that is a key of `changes` becomes its value, and so do integers."""
    counts = {}
    result = {}
    for name, value in inputs.items():
        if not tensors.is_tensor(value):
            continue
        shape = [changes.get(extent, extent) for extent in value.shape]
        counts[math.prod(value.shape)] = math.prod(shape)
        result[name] = tensors.copy(value[tuple(slice(extent) for extent in shape)])
    for name, value in inputs.items():
        if isinstance(value, int) and not isinstance(value, bool):
            result[name] = changes.get(value, counts.get(value, value))
    return {name: result.get(name, value) for name, value in inputs.items()}


def _highest_index(inputs):
    """The greatest element of integer tensors, which may be indices."""
    found = [int(value.max()) for value in inputs.values() if tensors.is_tensor(value) and tensors.is_integer(value) and math.prod(value.shape)]
    return max(found, default=-1)


def variants(inputs, kinds):
    """All that can be derived from inputs like these."""
    given = [value for value in inputs.values() if tensors.is_tensor(value)]
    if "given" in kinds:
        yield Variant("given", "as given", lambda fresh: fresh)
    if "strided" in kinds and given:
        yield Variant("strided", "every other element", lambda fresh: {name: _spread(value) for name, value in fresh.items()})
        if any(len(value.shape) > 1 for value in given):
            yield Variant("strided", "rows with gaps", lambda fresh: {name: _padded(value) for name, value in fresh.items()})
    sizes = sorted({extent for value in given for extent in value.shape if extent > 1}, reverse=True)
    highest = _highest_index(inputs)

    def resize(kind, name, changes):
        unfit = any(new <= highest < old for old, new in changes.items())
        return Variant(kind, name, lambda fresh: _resized(fresh, changes), "integers among the inputs may be indices beyond that" if unfit else "")

    for size in sizes[:_MOST_SIZES]:
        for kind, new in (("empty", 0), ("one", 1), ("odd", size - 1 - size % 2)):
            if kind in kinds and new < size and (kind != "odd" or new > 1):
                yield resize(kind, f"{size} -> {new}", {size: new})
    if "odd" in kinds and len(sizes) > 1:
        yield resize("odd", "all sizes odd", {size: max(size - 1 - size % 2, 1) for size in sizes})
