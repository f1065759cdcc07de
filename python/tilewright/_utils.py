"""Small helpers that libraries and tests import: paths in nested tuples, and the names of element types in signatures."""

from . import _core
from .language.core import TRITON_MAX_TENSOR_NUMEL, tuple as language_tuple, tuple_type

__all__ = ["BITWIDTH_DICT", "TRITON_MAX_TENSOR_NUMEL", "apply_with_path", "canonicalize_dtype", "canonicalize_ptr_dtype", "find_paths_if",
           "get_iterable_path", "get_primitive_bitwidth", "is_iterable", "is_namedtuple", "is_power_of_two", "set_iterable_path",
           "type_canonicalisation_dict", "validate_block_shape"]


# {name of an element type in arguments: its name in signatures}
type_canonicalisation_dict = {
    word: signature
    for name, signature, attribute, _, _, _, _, others in _core.element_types()
    for word in (name, signature, attribute, *others.split())
} | {"u1": "u1", "uint1": "u1"}

# {name of an element type in arguments or signatures: bits}
BITWIDTH_DICT = {
    word: bits
    for name, signature, attribute, _, bits, _, _, others in _core.element_types()
    for word in (name, signature, attribute, *others.split())
} | {"u1": 1, "uint1": 1}


def canonicalize_dtype(dtype):
    """The name in signatures of an element type: "fp32" for "float32", torch.float32 or tl.float32."""
    return type_canonicalisation_dict[str(dtype).rpartition(".")[2]]


def canonicalize_ptr_dtype(dtype, is_const):
    """The name in signatures of a pointer to an element type: "*fp32", or "*kfp32" where kernels only read."""
    return f"*{'k' if is_const else ''}{canonicalize_dtype(dtype)}"


def get_primitive_bitwidth(dtype):
    """The bits of an element type, by its name in arguments or signatures."""
    return BITWIDTH_DICT[dtype]


def is_iterable(value):
    """True if a value has members with paths: lists, tuples, tl.tuple and the types of those."""
    return isinstance(value, (list, tuple, language_tuple, tuple_type))


def is_namedtuple(kind):
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_power_of_two(number):
    return number > 0 and number & (number - 1) == 0


def validate_block_shape(shape):
    """The number of elements of a tile. TypeError or ValueError if a size is not an int that is a power of two, or if there are too many."""
    elements = 1
    for axis, size in enumerate(shape):
        if not isinstance(size, int):
            raise TypeError(f"Shape element {axis} must have type `constexpr[int]`, got `constexpr[{type(size)}]")
        if not is_power_of_two(size):
            raise ValueError(f"Shape element {axis} must be a power of 2")
        elements *= size
    if elements > TRITON_MAX_TENSOR_NUMEL:
        raise ValueError(f"numel ({elements}) exceeds triton maximum tensor numel ({TRITON_MAX_TENSOR_NUMEL})")
    return elements


def _members(value):
    return value.types if isinstance(value, tuple_type) else value


def get_iterable_path(value, path):
    """The member at a path of nested lists and tuples: (2, 0) is the first member of the third one."""
    for index in path:
        value = _members(value)[index]
    return value


def set_iterable_path(value, path, member):
    """Replaces the member at a path of nested tl.tuple."""
    holder = get_iterable_path(value, path[:-1])
    if not path or not isinstance(holder, language_tuple):
        raise TypeError(f"there is no member of a tl.tuple at {path}")
    holder.values[path[-1]] = member


def apply_with_path(value, function, _path=()):
    """Calls function(path, member) for each member of nested lists and tuples that is not such a list or tuple itself."""
    if not is_iterable(value):
        function(_path, value)
        return
    for index, member in enumerate(_members(value)):
        apply_with_path(member, function, (*_path, index))


def find_paths_if(value, accepts):
    """The paths of all members of nested lists and tuples for which accepts(path, member) is true."""
    found = []
    apply_with_path(value, lambda path, member: found.append(path) if accepts(path, member) else None)
    return found
