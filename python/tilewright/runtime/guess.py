"""autotune(configs="auto"): sizes by the estimate of src/tune, which runs no kernel, and a second combination to check them.

A parameter that is called BLOCK may not be free (a softmax's block is at least as long as its row). Then two combinations leave
different results, and the launch is refused.
"""

import math

from .. import _core
from .._errors import AutotunerError


def _rules(tuner):
    """The functions of @heuristics between the tuner and its kernel, in the order of the source."""
    fn, rules = tuner.fn, {}
    while hasattr(fn, "fn"):
        rules.update(getattr(fn, "values", {}))
        fn = fn.fn
    return rules


def _programs(grid, named):
    if grid is None:
        return 1
    extents = grid(named) if callable(grid) else grid
    return math.prod(extents) if isinstance(extents, (tuple, list)) else extents


def _estimate(tuner, kernel, args, kwargs, failures):
    """The estimated seconds for values of the open parameters; infinite for values that do not work."""
    launch = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
    rules = _rules(tuner)

    def seconds(chosen):
        named = {**tuner.nargs, **launch, **chosen}
        try:
            ruled = {}
            for name, rule in rules.items():
                ruled[name] = named[name] = rule(named)
            guess = _core.estimate(kernel, args, {**launch, **chosen, **ruled}, _programs(kwargs.get("grid"), named))
        except (*failures, ArithmeticError):
            return math.inf
        return math.inf if guess is None else guess

    return seconds


def _difference(tuner, args, kwargs, configs, failures):
    """How the results of the second configuration differ from the first one's; None if they are equal, or cannot be compared."""
    if kwargs.get("warmup") or not tuner._checks_results():
        return None
    tuner._call.check, tuner._call.groups = None, {}
    try:
        first, other = (tuner._try_out(args, kwargs, config) for config in configs)
        if first != other:
            return _core.other_results(str(configs[1]), str(configs[0]), tuner._call.check.difference(other, first))
    except failures:
        return None
    finally:
        if tuner._call.check is not None:
            tuner._call.check.restore()
            tuner._call.check = None
    return None


def guess(tuner, kernel, make_config, args, kwargs, failures):
    """A configuration for this launch. Raises AutotunerError if there is none."""
    given = {**tuner.nargs, **kwargs, **_rules(tuner)}
    names = [p.name for p in kernel.params if p.is_constexpr and p.name not in given and not p.has_default and _core.is_size_name(p.name)]
    launch = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
    found = _core.choose_initial_sizes(kernel, args, launch, names, _estimate(tuner, kernel, args, kwargs, failures))
    wanted = ", ".join(names) or "the sizes"
    advice = 'pass the values, or list configurations instead of "auto"'
    if found is None:
        raise AutotunerError(f"cannot choose an initial configuration ({wanted}) for kernel '{tuner.__name__}': no combination works; {advice}")
    configs = [make_config(sizes) for sizes in found if sizes is not None]
    difference = _difference(tuner, args, kwargs, configs, failures) if names and len(configs) == 2 else None
    if difference:
        raise AutotunerError(f"cannot choose an initial configuration ({wanted}) for kernel '{tuner.__name__}': {difference}; {advice}")
    return configs[0]
