"""The common parts of the numeric tests: element types, random arrays, and the table of tolerances.

A result may differ from the float64 reference only by rounding. The tolerance follows from the element type to which
results are rounded, and from the number of terms that are added up, so that no test has a number of its own.
"""

import pathlib

import numpy as np
import pytest

try:
    import ml_dtypes
except ImportError:  # not installed on a borrowed machine: tests of these types are skipped there
    ml_dtypes = None


class Types(dict):
    def __missing__(self, name):
        pytest.skip(f"{name} needs ml_dtypes")


DTYPES = Types({
    "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64,
    "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64,
    "fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "int1": np.bool_,
})
if ml_dtypes is not None:
    DTYPES |= {"bf16": ml_dtypes.bfloat16, "fp8e5": ml_dtypes.float8_e5m2, "fp8e4nv": ml_dtypes.float8_e4m3fn}

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["fp16", "bf16", "fp32", "fp64"]

# Relative error of one result: a few units in the last place for fp32 and fp64 (vector math functions have 4), one
# rounding for the shorter types, whose arithmetic happens in fp32.
TOLERANCE = {"fp64": 1e-13, "fp32": 2e-6, "fp16": 1e-3, "bf16": 8e-3, "fp8e4nv": 0.07, "fp8e5": 0.13}

# GPUs multiply fp32 with ten bits after the point, and truncate the others, unless a kernel asks for more.
TF32 = 2e-3
ON_GPU = ("simulate", "cuda")


def documented_errors(title):
    """The rows of the table of docs/libdevice.md whose first column has this title."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "libdevice.md").read_text()
    table = text[text.index(f"| {title} |"):].partition("\n\n")[0]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]


def is_float(dtype):
    return dtype in TOLERANCE


def random(shape, dtype, seed=0, low=None, high=None):
    """Standard normal floats; integers over the whole type, or [low, high)."""
    rng = np.random.default_rng(seed)
    if is_float(dtype):
        values = rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)
        return values.astype(DTYPES[dtype])
    if dtype == "int1":
        return rng.integers(0, 2, shape).astype(np.bool_)
    bounds = np.iinfo(DTYPES[dtype])
    return rng.integers(bounds.min if low is None else low, bounds.max if high is None else high, shape, DTYPES[dtype])


def wide(array):
    """The same values in float64, or in 64-bit integers."""
    array = np.asarray(array)
    if array.dtype.kind in "bi":
        return array.astype(np.int64)
    return array.astype(np.uint64 if array.dtype.kind == "u" else np.float64)


def close(actual, expected, dtype, terms=1, scale=1.0):
    """Asserts equality: exact for integers; for floats within rounding. `scale` is the size of the terms added up."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    if not is_float(dtype):
        np.testing.assert_array_equal(actual, expected)
        return
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(actual[~finite], expected[~finite])
    assert np.isfinite(actual[finite]).all()
    allowed = TOLERANCE[dtype] * np.sqrt(terms) * (np.abs(expected[finite]) + scale)
    error = np.abs(actual[finite] - expected[finite])
    if error.size:
        worst = np.argmax(error / allowed)
        assert error[worst] <= allowed[worst], f"{actual[finite][worst]} instead of {expected[finite][worst]}, at {worst}"


def strides(array):
    """Strides in elements."""
    return tuple(step // array.itemsize for step in array.strides)
