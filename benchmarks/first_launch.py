"""The time from the start of a process to the end of its first launch of a kernel that was built ahead of time, on a CPU.

    python benchmarks/first_launch.py [--runs 50] [--compiler clang-22]

Builds a vector add with `tilewright build` and a program in C, and starts the program many times. Prints medians and the fastest run.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import tilewright

BUILD = Path(tilewright.__file__).absolute().parents[2]
ROOT = Path(__file__).resolve().parent.parent

KERNEL = """import triton
import triton.language as tl

@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)
"""
PROGRAM = r"""
#define _POSIX_C_SOURCE 200809L
#include "vector_add.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static float x[100000], y[100000], out[100000];

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
  double started = seconds();
  TwError *error = NULL;
  x[99999] = 1, y[99999] = 2;
  if (argc < 2 || !vector_add(NULL, x, y, out, 100000, &error)) return 1;
  double done = seconds();
  printf("%.9f %.9f\n", started - atof(argv[1]), done - started);
  return out[99999] != 3;
}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--compiler", default="clang-22")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        (folder / "vector_add.py").write_text(KERNEL)
        (folder / "main.c").write_text(PROGRAM)
        subprocess.run([BUILD / "bin" / "tilewright", "build", folder / "vector_add.py", "--target", "cpu:sse2,cpu:avx2,cpu:avx512", "--grid", "cdiv(n, BLOCK)",
                        "--signature", "*fp32, *fp32, *fp32, i32, BLOCK=1024", "-o", folder / "libvector_add.so", "--header", folder / "vector_add.h"], check=True)
        shutil.copy(BUILD / "lib" / "libtilewright_rt.so.0", folder)
        subprocess.run([options.compiler, "-O2", f"-I{ROOT / 'include'}", folder / "main.c", folder / "libvector_add.so", folder / "libtilewright_rt.so.0", "-Wl,-rpath,$ORIGIN",
                        "-o", folder / "main"], check=True)
        rows = []
        for _ in range(options.runs):
            done = subprocess.run([folder / "main", f"{time.monotonic():.9f}"], capture_output=True, text=True, check=True)
            rows.append([float(word) * 1e3 for word in done.stdout.split()])
    finally:
        shutil.rmtree(folder)
    for name, column in (("start of the process to main", [row[0] for row in rows]), ("first launch", [row[1] for row in rows]), ("both", [sum(row) for row in rows])):
        print(f"{name:30} median {statistics.median(column):6.2f} ms   fastest {min(column):6.2f} ms")
    print(f"{options.runs} runs, {os.cpu_count()} CPUs")


if __name__ == "__main__":
    main()
