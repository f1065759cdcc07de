"""@triton.aggregate: classes of a few values, whose instances kernels make, take and return."""

import inspect
import typing

from . import core


class _AggregateType(type):
    """Makes an instance, and forbids changes to it once its __init__ has run."""

    def __call__(cls, *args, _semantic=None, _generator=None, **kwargs):
        instance = cls.__new__(cls)
        object.__setattr__(instance, "_open", True)
        cls.__init__(instance, *args, **kwargs)
        for name in cls._aggregate_fields:
            if name not in vars(instance):
                raise AttributeError(f"{cls.__name__}.__init__ gave '{name}' no value")
        object.__delattr__(instance, "_open")
        return instance


class _Aggregate(core.base_value, metaclass=_AggregateType):
    """The base class of all aggregates: they have a value for each annotated name, which does not change."""

    _aggregate_fields = {}
    __triton_builtin__ = True
    __triton_aggregate__ = True

    def __init__(self, *args, **kwargs):
        fields = type(self)._aggregate_fields
        if len(args) > len(fields):
            raise TypeError(f"{type(self).__name__} has {len(fields)} fields, {len(args)} values are given")
        given = dict(zip(fields, args))
        for name, value in kwargs.items():
            if name not in fields:
                raise TypeError(f"{type(self).__name__} has no field '{name}'")
            if name in given:
                raise TypeError(f"{type(self).__name__}: '{name}' is given twice")
            given[name] = value
        for name in fields:
            if name not in given and not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} needs a value for '{name}'")
            setattr(self, name, given[name] if name in given else getattr(type(self), name))

    def __setattr__(self, name, value):
        if "_open" not in vars(self):
            raise AttributeError(f"cannot assign to field '{name}' on immutable aggregate {type(self).__name__}")
        object.__setattr__(self, name, _as_field(value, type(self)._aggregate_fields.get(name)))


def _as_field(value, note):
    """A value in the form that its field's annotation requires: constants as tl.constexpr, tuples of constants as tl.tuple."""
    if note is core.constexpr and not isinstance(value, core.constexpr):
        return core.constexpr(value)
    if note is core.tuple and isinstance(value, tuple):
        return core.tuple([_as_field(item, None) if isinstance(item, tuple) else core.constexpr(item) for item in value],
                          fields=getattr(value, "_fields", None))
    return value


def _annotations(cls):
    try:
        hints = typing.get_type_hints(cls)
    except Exception:  # the annotation has a name that only type checkers know
        hints = {}
    return {name: hints.get(name, note) for name, note in vars(cls).get("__annotations__", {}).items()}


def _is_constexpr(note):
    return note is core.constexpr or (isinstance(note, str) and note.endswith("constexpr"))


def aggregate(cls):
    """Makes a class of annotated fields a value of the language: kernels make instances of it, call its methods, return them."""
    for base in cls.__bases__:
        if base is not object and not issubclass(base, _Aggregate):
            raise TypeError(f"Aggregates can only inherit from other aggregates, not from {base.__name__}")
    bases = tuple(base for base in cls.__bases__ if base is not object) or (_Aggregate,)
    members = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    made = _AggregateType(cls.__name__, bases, members)
    fields = {}
    for base in reversed(made.__mro__[1:]):
        fields.update(vars(base).get("_aggregate_fields", {}))
    fields.update(_annotations(cls))
    made._aggregate_fields = fields
    made._tilewright_class = _described(made, fields)
    return made


def _described(made, fields):
    """The description of the class for the compiler."""
    rows = []
    for name, note in fields.items():
        row = (name, _is_constexpr(note))
        rows.append(row + (getattr(made, name),) if hasattr(made, name) else row)
    own = [base for base in made.__mro__ if issubclass(base, _Aggregate) and base is not _Aggregate]
    members, static = [], []
    for base in own:
        for name, value in vars(base).items():
            if isinstance(value, staticmethod):
                static.append(name)
            if name != "__init__" and (inspect.isfunction(value) or isinstance(value, staticmethod) or hasattr(value, "fn")):
                members.append(name)
    initializer = any("__init__" in vars(base) for base in own)
    return {"fields": rows, "members": members, "static": static, "initializer": initializer}


def instance_of(cls, values):
    """An instance with these values of its fields, made without its __init__."""
    instance = cls.__new__(cls)
    for (name, note), value in zip(cls._aggregate_fields.items(), values):
        object.__setattr__(instance, name, _as_field(value, note))
    return instance


def aggregate_replace(instance, **fields):
    """Returns a copy of an aggregate (`@triton.aggregate`) with other values for some fields."""
    if not isinstance(instance, _Aggregate):
        raise TypeError(f"aggregate_replace expects an aggregate instance, not {type(instance).__name__}")
    known = type(instance)._aggregate_fields
    for name in fields:
        if name not in known:
            raise TypeError(f"{type(instance).__name__} has no field '{name}'")
    return instance_of(type(instance), [fields.get(name, getattr(instance, name)) for name in known])


aggregate_replace._tilewright_path = "triton.language.aggregate_replace"
aggregate_replace._tilewright_builtin = True
