"""Writes small_floats_table.h: the number of every code of the small float formats, by ml_dtypes (PyPI).

    python3 tests/unit/small_floats_table.py > tests/unit/small_floats_table.h
"""

import ml_dtypes
import numpy

FORMATS = {"e4m3": (ml_dtypes.float8_e4m3fn, 8), "e5m2": (ml_dtypes.float8_e5m2, 8), "e2m3": (ml_dtypes.float6_e2m3fn, 6), "e3m2": (ml_dtypes.float6_e3m2fn, 6),
           "e2m1": (ml_dtypes.float4_e2m1fn, 4), "ue8m0": (ml_dtypes.float8_e8m0fnu, 8), "ue4m3": (ml_dtypes.float8_e4m3fn, 7)}


def number(value):
    """A C++ literal of exactly this value."""
    return "NAN" if numpy.isnan(value) else f"{'-' if numpy.signbit(value) else ''}INFINITY" if numpy.isinf(value) else float(value).hex()


def table():
    yield "// Made by small_floats_table.py with ml_dtypes. ue4m3 is the half of e4m3 without a sign."
    yield "// clang-format off\n#pragma once\n"
    yield '#include "gpu/machine/small_floats.h"\n\n#include <cmath>\n#include <vector>\n'
    yield "struct SmallFloatTable {\n  tilewright::gpu::TensorFormat format;\n  std::vector<double> numbers;\n};\n"
    yield "inline const std::vector<SmallFloatTable> smallFloatTables = {"
    for name, (kind, bits) in FORMATS.items():
        values = numpy.arange(2**bits, dtype=numpy.uint8).view(kind).astype(numpy.float64)
        yield f"  {{tilewright::gpu::TensorFormat::{name}, {{"
        for first in range(0, len(values), 8):
            yield "    " + ", ".join(number(value) for value in values[first:first + 8]) + ","
        yield "  }},"
    yield "};"


if __name__ == "__main__":
    print("\n".join(table()))
