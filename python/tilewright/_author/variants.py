"""Other inputs, derived from those that a kernel file gives; src/author/variants decides which ones."""

import math

from .. import _core
from . import tensors

KINDS = tuple(_core.variant_kinds)


def _described(value):
    """Returns the properties of an input on which variants depend: (shape or None, integer or None, maximum index)."""
    if tensors.is_tensor(value):
        is_index = tensors.is_integer(value) and math.prod(value.shape)
        return list(value.shape), None, int(value.max()) if is_index else -1
    is_integer = isinstance(value, int) and not isinstance(value, bool) and -2**63 <= value < 2**63
    return None, value if is_integer else None, -1


def variants(inputs, kinds):
    """All variants of these kinds that can be derived from the inputs."""
    return _core.variants([_described(value) for value in inputs.values()], list(kinds))


def _spread(value, variant):
    """The same elements, as a view of a tensor with longer rows."""
    if not tensors.is_tensor(value) or not len(value.shape):
        return value
    whole = tensors.new_like(value, variant.whole_of(list(value.shape)))
    view = whole[..., :value.shape[-1] * variant.step_of_last:variant.step_of_last]
    view[...] = value
    return view


def derive(variant, inputs):
    """The inputs of a variant."""
    if variant.is_as_given:
        return inputs
    if not variant.is_resized:
        return {name: _spread(value, variant) for name, value in inputs.items()}
    described = [_described(value) for value in inputs.values()]
    derived = {}
    for (name, value), (shape, integer, _) in zip(inputs.items(), described):
        if shape is not None:
            derived[name] = tensors.copy(value[tuple(slice(extent) for extent in variant.shape_of(shape))])
        else:
            derived[name] = value if integer is None else variant.integer_of(integer, described)
    return derived
