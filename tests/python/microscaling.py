"""Random numbers of small formats, for tests of tl.dot_scaled."""

import ml_dtypes
import numpy as np

TYPES = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
         "e2m1": ml_dtypes.float4_e2m1fn}


def numbers(rows, depth, kind, seed):
    """(the numbers as float64, their bits as the kernel reads them): [rows, depth], all finite. The bits above the low 6 of e2m3 and e3m2 are any."""
    bits = np.random.default_rng(seed).integers(0, 16 if kind == "e2m1" else 256, (rows, depth)).astype(np.uint8)
    if kind in ("e2m3", "e3m2"):
        return (bits & 63).view(TYPES[kind]).astype(np.float64), bits
    if kind != "e2m1":
        bits[~np.isfinite(bits.view(TYPES[kind]).astype(np.float64))] = 0x39
        return bits.view(TYPES[kind]).astype(np.float64), bits
    values = np.arange(16, dtype=np.uint8).view(TYPES[kind]).astype(np.float64)[bits]
    return values, bits[:, 0::2] | bits[:, 1::2] << 4
