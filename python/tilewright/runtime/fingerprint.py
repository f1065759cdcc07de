"""A short digest of the computation of a Python function.

Kernels may call Python functions at compile time. Their results end up in the code, so their computation must be part of the
key of the compiled kernel: the function's byte code, its constants, and the functions and constants that it uses.
"""

import hashlib
import inspect
import pickle
import secrets
import types

_SIMPLE = (bool, int, float, complex, str, bytes, type(None))


def _has(thing, *names):
    """True if an object has one of these attributes itself: some objects return an attribute for every name."""
    return any(inspect.getattr_static(thing, name, None) is not None for name in names)


def _feed(digest, thing, seen):
    """Adds the code and the values that `thing` uses. `seen`: {id: object}, which keeps the objects alive, so that their ids stay unique."""
    if isinstance(thing, _SIMPLE):
        digest.update(repr(thing).encode())
    elif isinstance(thing, types.CodeType):
        digest.update(thing.co_code)
        digest.update(repr(thing.co_names + thing.co_varnames + thing.co_freevars).encode())
        for constant in thing.co_consts:
            _feed(digest, constant, seen)
    elif isinstance(thing, (tuple, list, frozenset)):
        digest.update(type(thing).__name__.encode())
        for item in sorted(thing, key=repr) if isinstance(thing, frozenset) else thing:
            _feed(digest, item, seen)
    elif isinstance(thing, dict):
        for key, value in thing.items():
            _feed(digest, key, seen)
            _feed(digest, value, seen)
    elif isinstance(thing, types.FunctionType):
        if id(thing) in seen:
            return
        seen[id(thing)] = thing
        _feed(digest, thing.__code__, seen)
        _feed(digest, thing.__defaults__, seen)
        _feed(digest, thing.__kwdefaults__, seen)
        for cell in thing.__closure__ or ():
            try:
                _feed(digest, cell.cell_contents, seen)
            except ValueError:  # not assigned yet
                pass
        for name in thing.__code__.co_names:
            if name in thing.__globals__:
                digest.update(name.encode())
                _feed(digest, thing.__globals__[name], seen)
    elif isinstance(thing, types.MethodType):
        _feed(digest, thing.__func__, seen)
    elif id(thing) in seen:
        return
    elif _has(thing, "fn", "func"):
        seen[id(thing)] = thing
        _feed(digest, getattr(thing, "fn", None) or getattr(thing, "func", None), seen)
        _feed(digest, getattr(thing, "args", None), seen)
        _feed(digest, getattr(thing, "_replaced_src", ""), seen)
    elif _has(thing, "value"):
        seen[id(thing)] = thing
        _feed(digest, thing.value, seen)
    else:
        digest.update(f"{type(thing).__module__}.{type(thing).__qualname__}.{getattr(thing, '__qualname__', '')}".encode())


def named_fingerprint(function):
    digest = hashlib.blake2b(digest_size=6)
    _feed(digest, function, {})
    name = getattr(function, "__name__", None) or type(function).__name__
    return f"{name} [{digest.hexdigest()}]"


_CONSTANTS = {}  # objects that were passed to kernels as constants, each with its name


def named_constant(value):
    """(object, name): the representative of all objects equal to this one, and a name for cache keys.

    The name depends on the object's contents if pickle can store them. Otherwise it is unique, so that no other process finds code by it.
    """
    found = _CONSTANTS.get(value)
    if found is None:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        try:
            digest = hashlib.blake2b(pickle.dumps(value), digest_size=12).hexdigest()
        except Exception:  # pickle passes on whatever an object's methods raise
            digest = secrets.token_hex(12)
        found = _CONSTANTS[value] = (value, f"the {kind} object [{digest}]")
    return found
