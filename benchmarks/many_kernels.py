"""Compiles many different kernels, drops each, and shows that memory stays where it is.

    benchmarks/many_kernels.py --kernels 10000 --target cpu          object code
    benchmarks/many_kernels.py --kernels 10000 --target cuda:90      PTX

Each kernel differs from all others in constants and in names, so that types, attributes and locations differ as well. The first tenth
fills pools and allocators; growth is counted from there. With --max-growth MB it fails where memory grew by more.
"""

import argparse
import gc
import os
import sys
import time

os.environ["TILEWRIGHT_CACHE"] = "0"
os.environ["TILEWRIGHT_PTXAS"] = "/nonexistent/ptxas"  # it is the compiler that is looked at

import tilewright as triton  # noqa: E402
from tilewright.backends.compiler import GPUTarget  # noqa: E402

TEXT = """
module {{
  tt.func public @kernel_{0}(%x_{0}: !tt.ptr<f32>, %n: i32) {{
    %range = tt.make_range {{start = 0 : i32, end = 64 : i32}} : tensor<64xi32> loc("file_{0}.py":{0}:3)
    %base = tt.splat %x_{0} : !tt.ptr<f32> -> tensor<64x!tt.ptr<f32>> loc("file_{0}.py":{0}:4)
    %at = tt.addptr %base, %range : tensor<64x!tt.ptr<f32>>, tensor<64xi32>
    %size = tt.splat %n : i32 -> tensor<64xi32>
    %mask = arith.cmpi slt, %range, %size : tensor<64xi32>
    %old = tt.load %at, %mask : tensor<64x!tt.ptr<f32>>
    %add = arith.constant dense<{0}.5> : tensor<64xf32>
    %new = arith.addf %old, %add : tensor<64xf32> loc("file_{0}.py":{0}:5)
    tt.store %at, %new, %mask : tensor<64x!tt.ptr<f32>>
    tt.return
  }}
}}
"""


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def mappings():
    with open("/proc/self/maps") as file:
        return sum(1 for _ in file)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernels", type=int, default=10000)
    parser.add_argument("--target", default="cpu", help="cpu, or cuda:CAPABILITY")
    parser.add_argument("--max-growth", type=float, help="MB")
    args = parser.parse_args()
    name, _, capability = args.target.partition(":")
    target = GPUTarget(name, int(capability), 32) if capability else GPUTarget("cpu", "", 1)
    path = f"/tmp/many_kernels_{os.getpid()}.ttir"
    start, warm = time.time(), 0.0
    try:
        for number in range(args.kernels):
            with open(path, "w") as file:
                file.write(TEXT.format(number))
            triton.compile(path, target=target)
            if number == args.kernels // 10:
                warm = resident()
            if number % max(1, args.kernels // 10) == 0:
                print(f"{number:6} kernels  {resident():7.1f} MB  {mappings():5} mappings", flush=True)
    finally:
        os.unlink(path)
    growth = resident() - warm
    print(f"{args.kernels:6} kernels  {resident():7.1f} MB  {mappings():5} mappings  {time.time() - start:.0f} s; grew by {growth:.1f} MB")
    if args.max_growth is not None and growth > args.max_growth:
        sys.exit(f"memory grew by {growth:.1f} MB, more than {args.max_growth} MB")


if __name__ == "__main__":
    main()
