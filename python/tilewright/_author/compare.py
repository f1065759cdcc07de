"""Whether a result is right: |result - expected| <= atol + rtol * |expected|, element by element; NaN agrees with NaN."""

import dataclasses

import numpy

from . import tensors

# By type: rtol and atol alike, but of products of float32. Such a product of float32 may be computed in TF32 on a GPU, in another order than the reference's; elsewhere its
# operands are not rounded, and sums of a few thousand terms differ by less.
_TOLERANCES = {
    "float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-5, "float64": 1e-9, "complex64": 1e-5, "complex128": 1e-9,
    "float8_e4m3fn": 1.25e-1, "float8_e4m3fnuz": 1.25e-1, "float8_e5m2": 2.5e-1, "float8_e5m2fnuz": 2.5e-1,
}
_PRODUCT_OF_FLOAT32 = {"cuda": (1e-2, 1e-1), "cpu": (1e-3, 1e-3)}


def tolerances(dtype, has_product, device):
    """(rtol, atol) of float types; integers and booleans have to be equal."""
    if dtype == "float32" and has_product:
        return _PRODUCT_OF_FLOAT32["cuda" if str(device).startswith("cuda") else "cpu"]
    return (_TOLERANCES.get(dtype, 0.0),) * 2


@dataclasses.dataclass
class Comparison:
    dtype: str
    shape: list
    rtol: float
    atol: float
    wrong: int
    max_abs_diff: float  # infinity where one of the two is no number
    max_rel_diff: float  # of elements whose expected value is not zero
    worst: tuple = None  # index of the element that is furthest beyond its tolerance; None: all are right
    value: object = None  # there
    expected: object = None


def _differences(result, expected):
    """|result - expected|: 0 for equal infinities and for NaN beside NaN, infinity where only one is a number."""
    if result.dtype.kind == "b":
        return (result != expected).astype(numpy.float64)
    if result.dtype.kind in "iu":
        return numpy.where(result > expected, result - expected, expected - result).astype(numpy.float64)
    with numpy.errstate(invalid="ignore", over="ignore"):
        difference = numpy.asarray(numpy.abs(result - expected))  # also where there are no dimensions
    difference[(result == expected) | (numpy.isnan(result) & numpy.isnan(expected))] = 0
    difference[numpy.isnan(difference)] = numpy.inf
    return difference


_PART = 1 << 18  # elements at a time: what is computed of them stays in a processor's caches


def compare(result, expected, rtol, atol):
    """Two tensors of one shape and type."""
    dtype, shape = tensors.dtype_name(result), list(result.shape)
    result, expected = tensors.to_numpy(result).reshape(-1), tensors.to_numpy(expected).reshape(-1)
    found = Comparison(dtype, shape, rtol, atol, 0, 0.0, 0.0)
    furthest = 0.0
    for begin in range(0, result.size, _PART):
        part, wanted = result[begin:begin + _PART], expected[begin:begin + _PART]
        difference = _differences(part, wanted)
        size = numpy.abs(wanted.astype(numpy.float64)) if wanted.dtype.kind != "c" else numpy.abs(wanted)
        with numpy.errstate(invalid="ignore", divide="ignore"):
            beyond = difference - numpy.where(numpy.isfinite(size), atol + rtol * size, 0)
            relative = numpy.where((size > 0) & numpy.isfinite(size), difference / size, 0)
        found.wrong += int((beyond > 0).sum())
        found.max_abs_diff = max(found.max_abs_diff, float(difference.max()))
        found.max_rel_diff = max(found.max_rel_diff, float(relative.max()))
        worst = int(numpy.argmax(beyond))
        if beyond[worst] > furthest:
            furthest = beyond[worst]
            found.worst = tuple(int(at) for at in numpy.unravel_index(begin + worst, shape))
            found.value, found.expected = part[worst].item(), wanted[worst].item()
    return found
