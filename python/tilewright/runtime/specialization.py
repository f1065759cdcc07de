"""The specialisations of a kernel for host code: those in memory, the one that a call would compile, and one from its description."""

import json
from collections import namedtuple

from ..language.core import constexpr, dtype, str_to_ty
from .driver import driver

SpecializationProxy = namedtuple("SpecializationProxy", ["constants", "signature"])  # the argument of a kernel's `repr`


def get_device_key():
    """The key of JITFunction.device_caches for the active device."""
    target = driver.active.get_current_target()
    return f"{target.backend}:{driver.active.get_current_device()}"


class KernelCache:
    """A kernel's specialisations in memory by their keys, including those that an AsyncCompileMode is compiling."""

    def __init__(self, fn):
        self._fn = fn

    def _kernels(self):
        made = {kernel.hash: kernel for kernel in self._fn._compiled()}
        return {**{key: kernel for key, kernel in self._fn._pending.items() if not kernel.future.done()}, **made}

    def __len__(self):
        return len(self._kernels())

    def __iter__(self):
        return iter(self._kernels())

    def __getitem__(self, key):
        return self._kernels()[key]

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
        self._fn._reset()


class DeviceCaches:
    """device_caches[device]: (specialisations, keys, target, back end, binder). There is one list for all devices."""

    def __init__(self, fn):
        self._fn = fn

    def __getitem__(self, device):
        return (KernelCache(self._fn), *self._fn.create_binder()[1:])

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
    """binder(*arguments, **options): the arguments by name, (type, facts) for each, and the options among the keywords."""

    def binder(*args, **kwargs):
        types, constants, aligned = fn._describe(*args, **kwargs).description
        bound = fn._bind(*args, **kwargs)
        facts = [("constexpr", constants[at,]) if word is None else (word, "D" if (at,) in aligned else "") for at, word in enumerate(types)]
        return bound, facts, {name: value for name, value in kwargs.items() if name not in fn.arg_names}

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


def path_as_text(path):
    return ".".join(map(str, path))


class _Stand:
    """Stands for an argument with a type and an alignment; specialisation needs nothing else."""

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
    if "jit_function" in told:
        known = fn.__globals__.get(told["jit_function"].rpartition(".")[2]) or type(fn).known.get(told["jit_function"])
        if known is None:
            raise RuntimeError(f"preload: there is no @jit function {told['jit_function']} here; import its module first")
        return known
    if "dtype" in told:
        return dtype(told["dtype"])
    if "repr" in told:
        raise RuntimeError(f"preload: the constant {told['repr']} cannot be made from its text")
    value = told["value"]
    return tuple(value) if isinstance(value, list) else value


def _argument(fn, told, word, path):
    """An argument for a launch of this kind: a constant, or a stand-in with the type."""
    if (constant := told["constants"].get(path_as_text(path))) is not None:
        value = constexpr(_constant(fn, constant))
        return value.value if len(path) == 1 or value.value == 1 else value  # the number 1 is a constant everywhere
    fields = word["fields"] if isinstance(word, dict) else None
    if fields or isinstance(word, list):
        members = [_argument(fn, told, member, (*path, index)) for index, member in enumerate(word["members"] if fields else word)]
        return namedtuple("named", fields)(*members) if fields else tuple(members)
    return _stand_for(word, list(path) in told["aligned"])


def preload(fn, data):
    """Compiles the specialisation that `data` describes, or reads it from the cache folder, so that the next such launch finds it."""
    told = json.loads(data)
    if told["name"] != fn._fn_name:
        raise RuntimeError(f"Specialization data is for {told['name']} but trying to preload for {fn._fn_name}")
    target = vars(driver.active.get_current_target())
    if told["target"] != target:
        raise RuntimeError(f"Specialization data is for {told['target']} but trying to preload for {target}")
    arguments = [_argument(fn, told, word, (index,)) for index, word in enumerate(told["types"])]
    options = {name: value for name, value in told["options"].items() if value is not None}
    return fn.launch(None, *arguments, **options)
