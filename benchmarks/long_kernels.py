"""Compiles kernels of growing length, and shows how the time of each step grows.

    benchmarks/long_kernels.py build/bin/tilewright --target cuda:sm_90a
    benchmarks/long_kernels.py build/bin/tilewright --target cpu:avx512 --kinds straight reductions

A step's exponent e says that its time grew as length^e over the last doubling: near 1 it is linear. Steps below --from milliseconds are
left out. Times are the minima of several compilations; other load on the machine still raises exponents.
"""

import argparse
import math
import pathlib
import re
import subprocess
import tempfile

HEAD = "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
TILES = "def k(a, b, c, K, T, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):\n    rm, rn, rk = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BK)\n"
ROWS = "def k(a, c, n, B: tl.constexpr):\n    r = tl.program_id(0) * B + tl.arange(0, B)\n"
OPERATIONS = ["y * x + {0}.5", "y - x", "tl.exp(y) * x", "tl.where(y > x, y, x)"]


def matmul(number, indent):
    lines = ["acc = tl.zeros((M, N), dtype=tl.float32)", "for k in range(0, K, BK):", "    x = tl.load(a + (first + rm)[:, None] * K + (k + rk)[None, :])",
             f"    y = tl.load(b + {number} * K * N + (k + rk)[:, None] * N + rn[None, :])", "    acc = tl.dot(x, y, acc)",
             f"tl.store(c + {number} * T * M * N + (first + rm)[:, None] * N + rn[None, :], acc.to(tl.float16))"]
    return "".join(f"{' ' * indent}{line}\n" for line in lines)


def loops(count):
    return TILES + "    first = tl.program_id(0) * M\n" + "".join(matmul(i, 4) for i in range(count))


def loops_in_loop(count):
    return TILES + "    for t in range(tl.program_id(0), T, 8):\n        first = t * M\n" + "".join(matmul(i, 8) for i in range(count))


def dots(count):
    body = "".join(f"        x = tl.load(a + rm[:, None] * K + (k + rk)[None, :] + {i} * K * M)\n"
                   f"        y = tl.load(b + {i} * K * N + (k + rk)[:, None] * N + rn[None, :])\n        acc = tl.dot(x, y, acc)\n" for i in range(count))
    return (TILES + "    acc = tl.zeros((M, N), dtype=tl.float32)\n    for k in range(0, K, BK):\n" + body +
            "    tl.store(c + rm[:, None] * N + rn[None, :], acc.to(tl.float16))\n")


def straight(count):
    lines = "".join(f"    y = {OPERATIONS[i % 4].format(i)}\n" for i in range(10 * count))
    return ROWS + "    x = tl.load(a + r)\n    y = x\n" + lines + "    tl.store(c + r, y)\n"


def accesses(count):
    return ROWS + "".join(f"    x = tl.load(a + r + {i} * n)\n    tl.store(c + r + {i} * n, x + {i})\n" for i in range(5 * count))


def reductions(count):
    return ROWS + "".join(f"    x = tl.load(a + r + {i} * n)\n    tl.store(c + r + {i} * n, x - tl.sum(x, 0))\n" for i in range(2 * count))


KINDS = {kind.__name__: kind for kind in (loops, loops_in_loop, dots, straight, accesses, reductions)}


def times(command, kind, length, target, folder):
    path = folder / f"{kind}_{length}.py"
    text = KINDS[kind](length)
    path.write_text(HEAD + text)
    signature = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32, M=64, N=64, BK=32" if text.startswith(TILES) else "*fp32:16, *fp32:16, i32:16, B=1024"
    run = subprocess.run([command, "compile", f"{path}:k", "--signature", signature, "--target", target, "--emit", "obj" if target.startswith("cpu") else "ptx",
                          "-o", folder / "out", "--time"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    found = {}
    for milliseconds, step in re.findall(r"([\d.]+) ms +(\S+)", run.stdout):
        found[step] = found.get(step, 0) + float(milliseconds)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--kinds", nargs="*", choices=list(KINDS), default=list(KINDS))
    parser.add_argument("--lengths", nargs="*", type=int, default=[20, 40, 80, 160])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--from", type=float, default=10, dest="least", help="milliseconds")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for kind in args.kinds:
            runs = [[times(args.command, kind, length, args.target, pathlib.Path(name)) for _ in range(args.runs)] for length in args.lengths]
            print(f"{kind}, {args.target}: milliseconds for {args.lengths}")
            for step in runs[-1][0]:
                best = [min(run.get(step, 0) for run in of_length) for of_length in runs]
                if best[-1] < args.least:
                    continue
                exponent = math.log(best[-1] / max(best[-2], 1e-3)) / math.log(args.lengths[-1] / args.lengths[-2])
                print(f"  {step:28}" + "".join(f"{each:10.1f}" for each in best) + f"   e = {exponent:.2f}")


if __name__ == "__main__":
    main()
