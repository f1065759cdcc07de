"""Metrics that host code gives for scopes and kernels: numbers, or lists of them.

A metric is added up each time its scope is entered. The suffix "(pty)" of its name means a property, which is set, not added. The suffix
"(exc)" means that the value is exclusive to the frame: a viewer does not sum it along the tree. The file has the name without these suffixes.
"""

# Both as Python numbers and as tensors, floating-point operations are floats, and bytes are ints.
_KINDS = {"bytes": int} | {f"flops{width}": float for width in ("", 8, 16, 32, 64)}
_MARKS = (" (pty)", "(pty)", " (exc)", "(exc)")


def value_of(name, value):
    """A metric's value as a Python number or a list of them."""
    if hasattr(value, "tolist"):  # a tensor, or a NumPy scalar
        value = value.tolist()
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
    kind = _KINDS.get(name)
    if isinstance(value, (list, tuple)):
        return [kind(item) if kind else item for item in value]
    return kind(value) if kind else value


def transform_tensor_metrics(metrics):
    """(metrics as numbers, metrics that are tensors of a device, unchanged)"""
    on_device = {name for name, value in metrics.items() if hasattr(value, "data_ptr") and value.device.type != "cpu"}
    return {name: value_of(name, value) for name, value in metrics.items() if name not in on_device}, {name: metrics[name] for name in on_device}


def plain(name):
    """(the metric's name in the file, whether it is a property)"""
    for mark in _MARKS:
        if name.endswith(mark):
            return name.removesuffix(mark), "pty" in mark
    return name, False


def added(name, old, new):
    """The sum of two values of a metric; lists are added element by element."""
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [added(name, first, second) for first, second in zip(old, new)]
    types = ["double" if isinstance(value, float) else "int64_t" if isinstance(value, int) else type(value).__name__ for value in (old, new)]
    if types[0] != types[1]:
        raise ValueError(f"Metric value type mismatch for valueId 0 ({name}): current={types[0]}, new={types[1]}; a metric is always an int, or always a float")
    return old + new
