"""The rivals: OpenBLAS through its C interface, and hand-written C (rivals.c, peaks.c), built here for the machine, or for TILEWRIGHT_CPU."""

import ctypes
import os
import pathlib
import subprocess

import numpy as np

# Threads that spin after their work would take the CPU from the next call. By default, OpenBLAS's spin for 2^26 cycles.
os.environ.setdefault("GOMP_SPINCOUNT", "20000")
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")

# If TILEWRIGHT_CPU limits Tilewright's instruction set, the libraries get the same limit: OpenBLAS, PyTorch, its oneDNN and MKL.
LIBRARY_LEVELS = {
    "avx2": {"OPENBLAS_CORETYPE": "Haswell", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
    "avx512": {"OPENBLAS_CORETYPE": "SkylakeX", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "MKL_ENABLE_INSTRUCTIONS": "AVX512"},
    "avx512-dot": {"OPENBLAS_CORETYPE": "SkylakeX", "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", "MKL_ENABLE_INSTRUCTIONS": "AVX512_E1"},
}
for name, value in LIBRARY_LEVELS.get(os.environ.get("TILEWRIGHT_CPU"), {}).items():
    os.environ.setdefault(name, value)

# An OpenBLAS older than the CPU uses very old code on an Intel CPU that it does not know: 31 GFLOP/s on an Emerald Rapids instead of 154.
cpu_info = pathlib.Path("/proc/cpuinfo").read_text()
if "GenuineIntel" in cpu_info and "avx512f" in cpu_info:
    os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX")

folder = pathlib.Path(__file__).resolve().parent
ROW_MAJOR, NO_TRANS, TRANS = 101, 111, 112


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


# The hand-written C has the same instruction set: TILEWRIGHT_CPU and GCC's name for it. Its vectors need AVX2 or newer.
LEVELS = {"sse2": "x86-64-v3", "avx2": "x86-64-v3", "avx512": "x86-64-v4", "avx512-dot": "x86-64-v4", "amx": "x86-64-v4"}

# The levels that have each of the instructions that peaks.c measures.
PEAKS = [
    ("avx2", "avx512", "avx512-dot", "amx"), ("avx512", "avx512-dot", "amx"), ("avx512-dot", "amx"), ("avx512-dot", "amx"), ("amx",), ("amx",)]


def build(out_folder):
    level = LEVELS.get(os.environ.get("TILEWRIGHT_CPU"), "native")
    sources, library = [folder / "rivals.c", folder / "peaks.c"], out_folder / f"librivals-{level}.so"
    out_folder.mkdir(parents=True, exist_ok=True)
    if not library.exists() or library.stat().st_mtime < max(source.stat().st_mtime for source in sources):
        subprocess.run(["gcc", "-O3", f"-march={level}", "-fopenmp", "-shared", "-fPIC", "-o", library, *sources, "-lm"], check=True)
    loaded = ctypes.CDLL(str(library))
    loaded.rival_fork_join.restype = loaded.rival_peak.restype = ctypes.c_double
    return loaded


class HandC:
    def __init__(self, out_folder):
        self.library = build(out_folder)

    def add(self, x, y, out, threads, streaming):
        self.library.rival_add(pointer(x), pointer(y), pointer(out), ctypes.c_int64(x.size), threads, streaming)

    def softmax(self, x, out, threads, streaming):
        rows, columns = x.shape
        self.library.rival_softmax(pointer(x), pointer(out), ctypes.c_int64(rows), ctypes.c_int64(columns), threads, streaming)

    def layer_norm(self, x, weight, bias, out, mean, rstd, eps, threads, streaming):
        rows, columns = x.shape
        self.library.rival_layer_norm(
            *(pointer(array) for array in (x, weight, bias, out, mean, rstd)), ctypes.c_int64(rows), ctypes.c_int64(columns),
            ctypes.c_float(eps), threads, streaming)

    def fork_join_ns(self, threads, times):
        return self.library.rival_fork_join(threads, ctypes.c_int64(times))

    def peaks(self, threads):
        """Operations a second, by element type: of the fastest instructions that TILEWRIGHT_CPU leaves."""
        level = os.environ.get("TILEWRIGHT_CPU", "native")
        rates = [self.library.rival_peak(kind, threads) if level in ("native", *levels) else 0 for kind, levels in enumerate(PEAKS)]
        fp32 = max(rates[:2])
        return {"fp32": fp32, "fp16": fp32, "bf16": max(fp32, rates[2], rates[4]), "int8": max(rates[3], rates[5])}


class OpenBlas:
    """cblas_sgemm on row-major matrices; the number of threads is set at each call, and costs nothing when unchanged. The system's
    library, or the one that NumPy carries, whose names are longer and whose integers may have 64 bits."""

    def __init__(self):
        names = [("libopenblas.so.0", "{}"), *((str(path), "scipy_{}" + "64_" * ("64_" in path.name)) for path in carried_by_numpy())]
        for path, name in names:
            try:
                self.library = ctypes.CDLL(path)
            except OSError:
                continue
            self.sgemm = self.library[name.format("cblas_sgemm")]
            self.set_threads = self.library[name.format("openblas_set_num_threads")]
            self.integer = ctypes.c_int64 if "64_" in name else ctypes.c_int
            self.threads = None
            return
        raise OSError("there is no OpenBLAS")

    def matmul(self, a, b, c, threads):
        if threads != self.threads:
            self.set_threads(threads)
            self.threads = threads
        (m, k), n = a.shape, b.shape[1]
        m, n, k = (self.integer(value) for value in (m, n, k))
        self.sgemm(
            ROW_MAJOR, NO_TRANS, NO_TRANS, m, n, k, ctypes.c_float(1), pointer(a), k, pointer(b), n, ctypes.c_float(0), pointer(c), n)


def carried_by_numpy():
    return sorted((pathlib.Path(np.__file__).parent.parent / "numpy.libs").glob("libscipy_openblas*"))


def openblas_or_none():
    try:
        return OpenBlas()
    except OSError:
        return None


def torch_or_none():
    try:
        import torch
    except ImportError:
        return None
    return torch
