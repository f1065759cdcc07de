"""Dataclasses made from tables: a row for each field, with upstream's name, type and default."""

from dataclasses import field, make_dataclass


def record(module, name, text, rows, base=(), frozen=False):
    """The class `name` of a module, with the docstring `text`. A row is (field, type), or (field, type, default)."""
    fields = [(row[0], row[1], field(default=row[2])) if len(row) > 2 else row for row in rows]
    made = make_dataclass(name, fields, bases=tuple(base), namespace={"__doc__": text}, frozen=frozen)
    made.__module__ = module  # from Python 3.12 on, make_dataclass replaces a namespace's __module__ by its caller's
    return made
