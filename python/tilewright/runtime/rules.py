"""Caches the results of rules of @heuristics whose result depends only on numbers and strings.

Collecting all arguments by name and calling a rule takes longer than the rest of a small launch. Most rules are like
`lambda args: args["K"] % args["BLOCK_K"] == 0`: their bytecode reads arguments by constant names, and otherwise only
constants and operators. For equal integers and strings such a function returns equal values. All other rules, and rules with other
arguments, are called each time.
"""

import dis
import inspect
from types import FunctionType

_IGNORED = frozenset(("RESUME", "NOP", "CACHE", "PRECALL", "EXTENDED_ARG", "NOT_TAKEN"))
_FLAGS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_KEPT = frozenset((int, str))
_SAID = frozenset((int, str, bool, type(None)))
_MOST = 1024  # kept values of one rule


def _is_subscript(step):
    return step.opname == "BINARY_SUBSCR" or (step.opname == "BINARY_OP" and step.argrepr == "[]")


def names_read(rule):
    """The names of the arguments on which alone the rule's value depends; None if it may depend on more."""
    code = rule.__code__ if type(rule) is FunctionType else None
    if code is None or code.co_argcount != 1 or code.co_kwonlyargcount or code.co_flags & _FLAGS or len(code.co_varnames) != 1:
        return None
    if code.co_names or code.co_freevars or code.co_cellvars or any(hasattr(each, "co_code") for each in code.co_consts):
        return None
    steps = [step for step in dis.get_instructions(code) if step.opname not in _IGNORED]
    names = {}
    for i, step in enumerate(steps):
        if code.co_varnames[0] != step.argval or "FAST" not in step.opname:
            if "FAST" in step.opname:
                return None
            continue
        name, subscript = steps[i + 1 : i + 3] if i + 2 < len(steps) else (step, step)
        jumped_to = name.is_jump_target or subscript.is_jump_target
        if not step.opname.startswith("LOAD_FAST") or name.opname != "LOAD_CONST" or not _is_subscript(subscript) or jumped_to:
            return None
        if type(name.argval) is not str:
            return None
        names[name.argval] = None
    return tuple(names)


class KeptRule:
    """A rule, and its results by the values of the arguments that it reads."""

    def __init__(self, rule, arg_names):
        self.rule, self.said = rule, {}
        self.names = names_read(rule)
        places = {name: place for place, name in enumerate(arg_names)}
        self.reads = [(name, places.get(name, -1)) for name in self.names or ()]

    def key(self, args, kwargs):
        """The values that the rule reads; None if it has to be called."""
        if self.names is None:
            return None
        values = []
        for name, place in self.reads:
            if name in kwargs:
                value = kwargs[name]
            elif 0 <= place < len(args):
                value = args[place]
            else:
                return None
            if type(value) not in _KEPT:
                return None
            values.append(value)
        return tuple(values)

    def keep(self, key, value):
        if key is None or type(value) not in _SAID:
            return
        if len(self.said) >= _MOST:
            self.said.clear()
        self.said[key] = value
