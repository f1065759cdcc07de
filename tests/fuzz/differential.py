"""Random tile programs, run by the reference interpreter and by compiled code, which must agree.

    python tests/fuzz/differential.py                        60 seconds from seed 0
    python tests/fuzz/differential.py --first 1000 --count 500 [--seconds 600] [--levels sse2 avx2 avx512]
    python tests/fuzz/differential.py --levels simulate      GPU code on the simulator, for other targets and warps from seed to seed
    python tests/fuzz/differential.py --levels simulate:sm_80:8                      for this target and these warps
    python tests/fuzz/differential.py --levels simulate --products                   loops of products on larger tiles
    python tests/fuzz/differential.py --levels simulate:sm_90a --addresses           small programs about addresses
    python tests/fuzz/differential.py --levels cuda                                  on the card of this machine
    python tests/fuzz/differential.py --seed 1234 --show     one case, its source first
    python tests/fuzz/differential.py --seed 1234 --minimize  the fewest lines that still disagree
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import addresses
from programs import FLOATS, INTEGERS, PROGRAMS, SHORT, Generator

LEVELS = ["sse2", "avx2", "avx512", "simulate"]
TARGETS = ["sm_90a", "sm_80", "sm_90a", "sm_89"]
WARPS = [4, 1, 8]


def numpy_types():
    import ml_dtypes
    import numpy as np

    types = {name: getattr(np, name) for name in INTEGERS + ["float16", "float32", "float64"]}
    return types | {"bfloat16": ml_dtypes.bfloat16, "float8e5": ml_dtypes.float8_e5m2, "float8e4nv": ml_dtypes.float8_e4m3fn, "int1": np.bool_}


class Case:
    def __init__(self, seed, folder, level="avx2", products=False, small=False):
        import numpy as np

        name, _, machine = level.partition(":")
        self.name, self.engine, self.target, self.options = level, "cpu", "cuda:sm_90a", {}
        if name == "simulate":
            target, _, warps = machine.partition(":")
            self.engine, self.target = name, "cuda:" + (target or TARGETS[seed % len(TARGETS)])
            self.options = {"num_warps": int(warps) if warps else WARPS[seed % len(WARPS)]}
            self.name = f"{name}:{self.target[5:]}:{self.options['num_warps']}"
        elif name == "cuda":
            self.engine, self.options = name, {"num_warps": WARPS[seed % len(WARPS)]}
        self.seed, self.folder, self.generator = seed, folder, addresses.Generator(seed) if small else Generator(seed, products)
        self.source, self.programs = self.generator.program(), self.generator.programs if small else PROGRAMS
        g, rng, types = self.generator, np.random.default_rng(seed), numpy_types()

        def data(dtype):
            count = g.count * PROGRAMS * 2 + 4096
            if dtype in FLOATS + SHORT:
                return (rng.integers(-8, 9, count) / 4).astype(types[dtype])
            if dtype == "int1":
                return rng.integers(0, 2, count).astype(np.bool_)
            bounds = np.iinfo(types[dtype])
            if rng.random() < 0.5:
                return rng.integers(max(bounds.min, -20), min(bounds.max, 100), count).astype(types[dtype])
            return rng.integers(bounds.min, bounds.max, count, types[dtype])

        if small:
            self.inputs, self.outputs = g.arrays(rng, types)
            return
        self.inputs = {name: data(dtype) for name, dtype in g.inputs}
        self.outputs = {name: data(dtype) for name, dtype, _ in g.outputs}

    def run(self, engine, source=None):
        """The outputs after a launch."""
        import importlib.util

        import tilewright

        path = os.path.join(self.folder, f"case_{self.seed}_{abs(hash(source or self.source)) % 10**12}.py")
        if not os.path.exists(path):
            with open(path, "w") as file:
                file.write(source or self.source)
        spec = importlib.util.spec_from_file_location("case", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        arguments = {name: array.copy() for name, array in (self.inputs | self.outputs).items()}
        if engine == "cuda":
            sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "run"))
            import card

            chosen = card.engine()
        else:
            # The programs are in bounds and have no races: the checks are checked as well.
            chosen = tilewright.engine(engine, check_bounds=engine != "cpu", target=self.target)
        with chosen:
            module.kernel[(self.programs,)](**arguments, **self.generator.scalars, **self.options)
        return arguments

    def difference(self, source=None):
        """None, or what differs. A compile error says 'error: ...'."""
        import numpy as np

        try:
            expected = self.run("interpret", source)
        except Exception as error:
            return f"interpreter error: {str(error)[:600]}"
        try:
            actual = self.run(self.engine, source)
        except Exception as error:
            if "out of resource" in str(error):
                return None
            return f"compiler error: {str(error)[:600]}"
        for name in self.inputs:
            if actual[name].tobytes() != self.inputs[name].tobytes():
                return f"{name}: the input was written to"
        for name, dtype, tiles in self.generator.outputs:
            a, e = actual[name], expected[name]
            if dtype not in FLOATS:
                bad = np.flatnonzero(a != e)
            else:
                allowed = max((8 * t.error + 1e-7 * t.size for t in tiles), default=0.0)
                a, e = a.astype(np.float64), e.astype(np.float64)
                if not np.isfinite(e).all():
                    continue
                bad = np.flatnonzero(~(np.abs(a - e) <= allowed))
            if bad.size:
                i = bad[0]
                return f"{name}: {bad.size} of {a.size} differ, first at {i}: {a[i]} instead of {e[i]}"
        return None

    def minimized(self, kind):
        """Drops lines, and blocks of lines, as long as the same kind of difference stays."""
        lines = self.source.splitlines()
        first = next(i for i, text in enumerate(lines) if text.startswith("def kernel")) + 1

        def fails(candidate):
            found = self.difference("\n".join(candidate) + "\n")
            return found is not None and found.split(":")[0].rstrip("0123456789") == kind

        changed = True
        while changed:
            changed = False
            for length in (8, 4, 2, 1):
                i = len(lines) - length
                while i >= first:
                    candidate = lines[:i] + lines[i + length:]
                    if fails(candidate):
                        lines, changed = candidate, True
                    i -= 1
                    i = min(i, len(lines) - length)
        return "\n".join(lines)


def worker(arguments):
    """Runs cases at one level. Returns how many differ."""
    level = arguments.levels[0]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TILEWRIGHT_CACHE_DIR"] = folder
        started, failures, ran = time.monotonic(), 0, 0
        for seed in range(arguments.first, arguments.first + arguments.count):
            if time.monotonic() - started > arguments.seconds:
                break
            if arguments.trace:
                print("seed", seed, flush=True)
            case = Case(seed, folder, level, arguments.products, arguments.addresses)
            if arguments.show:
                print(case.source)
                print(case.generator.scalars, case.generator.shape)
            found = case.difference()
            ran += 1
            if found is None:
                continue
            failures += 1
            print(f"seed {seed} at {case.name}: {found}", flush=True)
            if arguments.minimize:
                print(case.generator.shape, case.generator.scalars)
                print(case.minimized(found.split(":")[0].rstrip("0123456789")), flush=True)
        print(f"{level}: {ran} programs from seed {arguments.first}, {failures} differ", flush=True)
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seed", type=int, help="this case alone")
    parser.add_argument("--seconds", type=float, default=60, help="in all")
    parser.add_argument("--levels", nargs="*", default=LEVELS)
    parser.add_argument("--show", action="store_true", help="print each program")
    parser.add_argument("--trace", action="store_true", help="print each seed before it runs, for crashes")
    parser.add_argument("--minimize", action="store_true")
    parser.add_argument("--products", action="store_true", help="larger tiles, and a loop of products in each program")
    parser.add_argument("--addresses", action="store_true", help="small programs about addresses")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        arguments.first, arguments.count = arguments.seed, 1
    if arguments.worker:
        return worker(arguments) != 0
    failed = False
    for i, level in enumerate(arguments.levels):
        # The level is read once a process. Each looks at other programs where the range is open.
        first = arguments.first + (i * 1_000_000 if arguments.count == 10**9 else 0)
        command = [sys.executable, __file__, "--worker", "--levels", level, "--first", str(first), "--count", str(arguments.count), "--seconds",
                   str(arguments.seconds / len(arguments.levels))]
        command += [f"--{flag}" for flag in ("show", "trace", "minimize", "products", "addresses") if getattr(arguments, flag)]
        environment = os.environ | ({} if level.startswith("simulate") else {"TILEWRIGHT_CPU": level})
        result = subprocess.run(command, env=environment)
        if result.returncode < 0:
            print(f"{level}: ended by signal {-result.returncode}; --trace shows where")
        failed |= result.returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
