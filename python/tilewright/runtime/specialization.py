"""The specializations of a kernel for host code: those in memory, the one that a call would compile, and one from its description."""

import json
from collections import namedtuple

from .._utils import find_paths_if, get_iterable_path
from ..language.core import constexpr, dtype, str_to_ty
from .driver import driver

SpecializationProxy = namedtuple("SpecializationProxy", ["constants", "signature"])  # the argument of a kernel's `repr`


def get_device_key():
    """The key of JITFunction.device_caches for the active device."""
    target = driver.active.get_current_target()
    return f"{target.backend}:{driver.active.get_current_device()}"


class KernelCache:
    """A kernel's specializations in memory by their keys, including those that an AsyncCompileMode is compiling, and those that a program has
    inserted under its own keys. Launches find code by arguments, not here."""

    def __init__(self, fn):
        self._fn = fn

    def _kernels(self):
        made = {kernel.hash: kernel for kernel in self._fn._compiled()}
        return {**{key: kernel for key, kernel in self._fn._pending.items() if not kernel.future.done()}, **made, **self._fn._given}

    def __len__(self):
        return len(self._kernels())

    def __iter__(self):
        return iter(self._kernels())

    def __getitem__(self, key):
        return self._kernels()[key]

    def __setitem__(self, key, kernel):
        self._fn._given[key] = kernel

    def __contains__(self, key):
        return key in self._kernels()

    def get(self, key, default=None):
        return self._kernels().get(key, default)

    def keys(self):
        return self._kernels().keys()

    def values(self):
        return self._kernels().values()

    def items(self):
        return self._kernels().items()

    def clear(self):
        """Removes them from memory. Those in the cache folder stay."""
        self._fn._pending.clear()
        self._fn._given.clear()
        self._fn._key_cache.clear()
        self._fn._reset()


class DeviceCaches:
    """device_caches[device]: (specializations, keys, target, back end, binder). There is one list for all devices."""

    def __init__(self, fn):
        self._fn = fn

    def __getitem__(self, device):
        return (KernelCache(self._fn), self._fn._key_cache, *self._fn.create_binder()[2:])

    def clear(self):
        KernelCache(self._fn).clear()

    def __len__(self):
        return 1

    def __iter__(self):
        return iter((get_device_key(),))

    def keys(self):
        return [get_device_key()]

    def values(self):
        return [self[get_device_key()]]

    def items(self):
        return [(get_device_key(), self[get_device_key()])]


def make_binder(fn):
    """binder(*arguments, **options): the arguments by name, (type, attributes) for each, and the options among the keywords."""

    def binder(*args, **kwargs):
        types, constants, aligned = fn._describe(*args, **kwargs).description
        bound = fn._bind(*args, **kwargs)
        attributes = [("constexpr", constants[at,]) if word is None else (word, "D" if (at,) in aligned else "") for at, word in enumerate(types)]
        return bound, attributes, {name: value for name, value in kwargs.items() if name not in fn.arg_names}

    return binder


class _NamedTypes(tuple):
    """The types of a namedtuple's members, with their names."""

    def __reduce__(self):
        return named, (self._fields, tuple(self))


def named(fields, members):
    types = _NamedTypes(members)
    types._fields = tuple(fields)
    return types


def types_as_data(word):
    """A type, or the types of a tuple's members, in JSON's terms: only a namedtuple is marked."""
    if not isinstance(word, tuple):
        return word
    members = [types_as_data(member) for member in word]
    return {"fields": word._fields, "members": members} if hasattr(word, "_fields") else members


def _without_functions(value):
    """The same nested lists and tuples, with the keys of functions in place of functions."""
    if hasattr(value, "_fields"):
        return type(value)(*map(_without_functions, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_without_functions, value))
    return value.cache_key if hasattr(value, "cache_key") and not isinstance(value, type) else value


def compute_cache_key(kernel_key_cache, specialization, options):
    """A text that identifies a specialization of one kernel: a binder's list of (type, attributes), with the sources of functions among the constants, and
    its options. `kernel_key_cache` maps the specialization and options to the text."""
    given = (tuple(specialization), str(options))
    if given not in kernel_key_cache:
        kernel_key_cache[given] = f"{_without_functions(specialization)}{options}"
    return kernel_key_cache[given]


def pack_arguments(fn, backend, kwargs, bound_args, specialization):
    """(options, signature by name, constants by path, attributes by path): the result of a binder, as arguments of a
    compilation. Raises KeyError for keywords that are neither parameters nor options."""
    options = backend.parse_options(kwargs)
    for name in kwargs:
        if name not in fn.arg_names and not hasattr(options, name):
            raise KeyError(f"Keyword argument {name} was specified but unrecognised")
    words, letters = [word for word, _ in specialization], [None if word == "constexpr" else attribute for word, attribute in specialization]
    values = list(bound_args.values())
    constants = {path: get_iterable_path(values, path) for path in find_paths_if(words, lambda _, word: word == "constexpr")}
    attributes = {path: backend.parse_attr(get_iterable_path(letters, path)) for path in find_paths_if(letters, lambda _, letter: isinstance(letter, str))}
    return options, dict(zip(fn.arg_names, words)), constants, attributes


def convert_to_tuple_if_list(item):
    """Nested lists as tuples; other values as they are."""
    return tuple(map(convert_to_tuple_if_list, item)) if isinstance(item, list) else item


def _constant_as_data(value):
    """A constant as JSON: JSON's own types are unchanged, other values are marked."""
    if isinstance(value, constexpr):
        return {"constexpr": value.value}
    if isinstance(value, dtype):
        return {"dtype": value.name}
    if hasattr(value, "cache_key"):
        return {"jit_function": f"{value.module}:{value.__qualname__}", "cache_key": value.cache_key}
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return {"repr": repr(value)}
    return value


def serialize_specialization_data(name, signature, constants, attrs, options, key, target):
    """The description of a specialization as JSON, which JITFunction.preload takes. signature: {parameter: type}; constants: {path: value}; attrs:
    {path: [[attribute, value]]}; options: an object or dict with the options; target: a GPUTarget."""
    return json.dumps({
        "name": name, "signature": {parameter: types_as_data(word) for parameter, word in signature.items()},
        "constant_keys": [list(path) for path in constants], "constant_vals": list(map(_constant_as_data, constants.values())),
        "attrs_keys": [list(path) for path in attrs], "attrs_vals": list(attrs.values()),
        "options": options if isinstance(options, dict) else vars(options), "key": key, "target": vars(target),
    })


class _Stand:
    """Replaces an argument by its type and alignment, which are all that specialization reads."""

    def __init__(self, element, aligned):
        self.dtype = str_to_ty(element, None)
        self._address = 0 if aligned else 1

    def data_ptr(self):
        return self._address


def _stand_for(word, aligned):
    if word.startswith("*"):
        return _Stand(word.lstrip("*").removeprefix("k"), aligned)
    if word[0] in "iu" and word[1:].isdigit() and word != "i1":
        return (16 if aligned else 3) + ({"i64": 1 << 40, "u64": 1 << 63}.get(word, 0))
    if word == "i1":
        return True
    if word.startswith(("fp", "bf")):
        return 1.5
    raise NotImplementedError(f"preload: arguments of type '{word}' are not supported")


def _constant(fn, told):
    if not isinstance(told, dict):
        return convert_to_tuple_if_list(told)
    if "constexpr" in told:
        return convert_to_tuple_if_list(told["constexpr"])
    if "dtype" in told:
        return dtype(told["dtype"])
    if "jit_function" in told:
        module, _, name = told["jit_function"].rpartition(":")
        known = fn.__globals__.get(name.rpartition(".")[2]) or type(fn).known.get(f"{module}.{name}")
        if known is None:
            raise RuntimeError(f"preload: there is no @jit function {told['jit_function']} here; import its module first")
        return known
    raise RuntimeError(f"preload: the constant {told.get('repr', told)} cannot be made from its text")


def _argument(fn, constants, aligned, word, path):
    """An argument for a launch of this kind: a constant, or a stand-in with the type."""
    if path in constants:
        value = constexpr(_constant(fn, constants[path]))
        return value.value if len(path) == 1 or value.value == 1 else value  # the number 1 is a constant everywhere
    fields = word["fields"] if isinstance(word, dict) else None
    if fields or isinstance(word, list):
        members = [_argument(fn, constants, aligned, member, (*path, index)) for index, member in enumerate(word["members"] if fields else word)]
        return namedtuple("named", fields)(*members) if fields else tuple(members)
    return _stand_for(word, path in aligned)


def preload(fn, data):
    """Compiles the specialization that `data` describes, or reads it from the cache folder, so that the next such launch finds it."""
    told = json.loads(data)
    if told["name"] != fn._fn_name:
        raise RuntimeError(f"Specialization data is for {told['name']} but trying to preload for {fn._fn_name}")
    target = vars(driver.active.get_current_target())
    if told["target"] != target:
        raise RuntimeError(f"Specialization data is for {told['target']} but trying to preload for {target}")
    constants = dict(zip(map(tuple, told["constant_keys"]), told["constant_vals"]))
    aligned = {tuple(path) for path, attributes in zip(told["attrs_keys"], told["attrs_vals"]) if ["tt.divisibility", 16] in attributes}
    arguments = [_argument(fn, constants, aligned, word, (index,)) for index, word in enumerate(told["signature"].values())]
    options = {name: value for name, value in told["options"].items() if value is not None}
    return fn.launch(None, *arguments, **options)
