"""Random tile programs: the reference interpreter and compiled code must get the same results.

    PYTHONPATH=build/python build/venv/bin/python tests/fuzz/differential.py         60 seconds from seed 0
    python tests/fuzz/differential.py --first 1000 --count 500 [--seconds 600] [--levels sse2 avx2 avx512]
    python tests/fuzz/differential.py --levels simulate      GPU code on the simulator, for other targets and warps from seed to seed
    python tests/fuzz/differential.py --levels simulate:sm_80:8                      for this target and these warps
    python tests/fuzz/differential.py --levels simulate:sm_90a:4:2                   for these warps and CTAs of a cluster
    python tests/fuzz/differential.py --levels simulate --products                   loops of products on larger tiles
    python tests/fuzz/differential.py --levels simulate:sm_100a:4:2 --scaled         loops of products with block scales
    python tests/fuzz/differential.py --levels simulate:sm_90a --addresses           small programs about addresses, launched several times
    python tests/fuzz/differential.py --indices              small programs of index arithmetic in which terms cancel, launched several times
    python tests/fuzz/differential.py --addresses --seconds 500 --levels avx2=4 simulate=8 cuda=4 --counts counts.json
                                                                                     each on so many processes, all at once
    python tests/fuzz/differential.py --levels avx2:unoptimized                      as LLVM first makes the code: in a third of the time
    python tests/fuzz/differential.py --levels cuda                                  on the GPU of this machine
    python tests/fuzz/differential.py --seed 1234 --show     one case, its source first
    python tests/fuzz/differential.py --seed 1234 --minimize  a minimal program that still disagrees
"""

import argparse
import collections
import functools
import json
import os
import pathlib
import sys
import tempfile
import time

import addresses
import indices
import jobs
from programs import CODES, FLOATS, INTEGERS, PROGRAMS, SHORT, Generator

LEVELS = ["sse2", "avx2", "avx512", "simulate"]
TARGETS = ["sm_90a", "sm_80", "sm_90a", "sm_89", "sm_100a", "sm_120a", "sm_90a", "sm_75"]
WARPS = [4, 1, 8, 2]
CLUSTERS = ["cuda:sm_90a", "cuda:sm_120", "cuda:sm_120a"]
FORMED = {"wgmma made": "wgmma.mma_async", "tensor maps made": "cp.async.bulk.tensor", "warp roles made": "setmaxnreg"}  # {count: word in PTX}


def numpy_types():
    import ml_dtypes
    import numpy as np

    types = {name: getattr(np, name) for name in INTEGERS + ["float16", "float32", "float64"]}
    return types | {"bfloat16": ml_dtypes.bfloat16, "float8e5": ml_dtypes.float8_e5m2, "float8e4nv": ml_dtypes.float8_e4m3fn, "int1": np.bool_}


class Launch:
    """The arguments of one launch, and the memory of each array."""

    def __init__(self, scalars, inputs, outputs):
        self.scalars, self.inputs, self.outputs = scalars, inputs, outputs

    def arguments(self):
        """A copy of the arguments for one engine; arguments share memory as the originals do."""
        copies = {}

        def copied(array):
            root = array
            while isinstance(root.base, type(root)):
                root = root.base
            if not root.flags.writeable:
                return array
            whole = copies.setdefault(id(root), root.copy())
            start = (array.ctypes.data - root.ctypes.data) // root.itemsize
            return whole[start:start + len(array)]

        return {name: copied(array) for name, array in (self.inputs | self.outputs).items()}


class Case:
    def __init__(self, seed, folder, level="avx2", products=False, small=None, launches=1, any_size=False, scaled=False):
        """`small`: the module whose programs are launched several times, with memory of their own."""
        import numpy as np

        name, _, machine = level.partition(":")
        self.name, self.engine, self.target = level, "cpu", "cuda:sm_90a"
        self.seed, self.folder, self.generator = seed, folder, small.Generator(seed) if small else Generator(seed, products, any_size, scaled)
        self.source, self.programs = self.generator.program(), self.generator.programs if small else PROGRAMS
        if name == "simulate":
            target, warps, ctas, *_ = machine.split(":") + ["", ""]
            self.engine, self.target = name, "cuda:" + (target or TARGETS[seed % len(TARGETS)])
            self.options = self.gpu_options(warps, ctas)
            self.name = ":".join([name, self.target[5:], *map(str, self.options.values())])
        else:
            self.engine, self.options = (name, self.gpu_options("", "")) if name == "cuda" else ("cpu", {})
        self.kernels, self.formed = {}, []
        g, rng, types = self.generator, np.random.default_rng(seed), numpy_types()

        def data(dtype):
            count = g.count * PROGRAMS * 2 + 4096
            if dtype in FLOATS + SHORT:
                return (rng.integers(-8, 9, count) / 4).astype(types[dtype])
            if dtype in CODES:
                return CODES[dtype](rng.integers(0, 256, count)).astype(types["float8e4nv" if dtype == "ue4m3" else "uint8"])
            if dtype == "int1":
                return rng.integers(0, 2, count).astype(np.bool_)
            bounds = np.iinfo(types[dtype])
            if rng.random() < 0.5:
                return rng.integers(max(bounds.min, -20), min(bounds.max, 100), count).astype(types[dtype])
            return rng.integers(bounds.min, bounds.max, count, types[dtype])

        g.may_share = self.engine == "cpu"
        if small:
            self.launches = [Launch(g.other_scalars() if i else g.scalars, *g.arrays(rng, types)) for i in range(launches)]
        else:
            self.launches = [Launch(g.scalars, {name: data(dtype) for name, dtype in g.inputs}, {name: data(dtype) for name, dtype, _ in g.outputs})]

    def gpu_options(self, warps, ctas):
        chosen = WARPS[self.seed // len(TARGETS) % len(WARPS)]
        if hasattr(self.generator, "warps"):
            chosen = self.generator.warps(chosen)
        blocks = int(ctas or 1) if ctas or self.target not in CLUSTERS else getattr(self.generator, "ctas", 1)
        return {"num_warps": int(warps or chosen)} | ({"num_ctas": blocks} if blocks > 1 else {})

    def kinds(self):
        """The features of the program that this engine has run."""
        roles, blocks = self.target == "cuda:sm_90a" and self.engine != "cpu", self.options.get("num_ctas", 1) > 1
        unseen = [name for name, seen in [("warp roles asked", roles), ("two blocks a program", blocks)] if not seen]
        return [name for name in self.generator.kinds() if name not in unseen] + self.formed

    def kernel(self, source):
        if source not in self.kernels:
            path = os.path.join(self.folder, f"case_{self.seed}_{len(self.kernels)}.py")
            with open(path, "w") as file:
                file.write(source)
            members = {"__name__": "case", "__file__": path}
            exec(compile(source, path, "exec"), members)
            self.kernels[source] = members["kernel"]
        return self.kernels[source]

    def run(self, engine, launch, source=None):
        """The arguments after a launch."""
        import tilewright

        kernel, arguments = self.kernel(source or self.source), launch.arguments()
        # The programs are in bounds and have no races, so this tests the checks, too.
        with tilewright.engine(engine, check_bounds=engine != "cpu", target=self.target):
            kernel[(self.programs,)](**arguments, **launch.scalars, **self.options)
        return arguments

    def run_all(self, source):
        """The results of all launches, one after another, on self.engine."""
        if self.engine != "cuda":
            yield from (self.run(self.engine, launch, source) for launch in self.launches)
            return
        import on_gpu

        results, compiled = on_gpu.run(self.kernel(source or self.source), (self.programs,), self.launches, self.options)
        self.formed = [name for name, word in FORMED.items() if word in compiled.asm["ptx"]]
        yield from results

    def difference(self, source=None):
        """The difference in the first launch that has one, or None. It is 'error: ...' for a compile error, 'refused' for a program that no engine can run."""
        actual = self.run_all(source)
        for number, launch in enumerate(self.launches):
            try:
                expected = self.run("interpret", launch, source)
            except Exception as error:
                return f"interpreter error: {str(error)[:600]}"
            try:
                found = self.compared(launch, expected, next(actual))
            except Exception as error:
                if isinstance(error, RuntimeError) and "illegal" in str(error):
                    raise  # the GPU no longer answers this process
                return "refused" if "out of resource" in str(error) else f"compiler error: {str(error)[:600]}"
            if found:
                return f"{found} (launch {number})" if number else found
        return None

    def compared(self, launch, expected, actual):
        import numpy as np

        for name, array in launch.inputs.items():
            if array.flags.writeable and actual[name].tobytes() != expected[name].tobytes():
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
        """Removes lines, and blocks of lines, as long as the same kind of difference remains."""
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


def run_case(case, arguments, counts):
    """Runs a case and counts it."""
    if case.engine == "cuda" and getattr(case.generator, "wide", None):
        import on_gpu

        if not on_gpu.has_room_for_wide():
            counts["skipped"] += 1
            return
    found = case.difference()
    counts["programs"] += 1
    if found == "refused":
        counts["refused"] += 1
        return
    if hasattr(case.generator, "kinds"):
        counts.update(f"with {name}" for name in case.kinds())
    if found is None:
        counts["launches"] += len(case.launches)
        return
    counts["differ"] += 1
    print(f"seed {case.seed} at {case.name}: {found}", flush=True)
    if arguments.minimize:
        print(case.generator.shape, case.launches[0].scalars)
        print(case.minimized(found.split(":")[0].rstrip("0123456789")), flush=True)


def worker(arguments):
    """Runs cases at one level, and prints the lines that jobs.py reads."""
    level, counts = arguments.levels[0], collections.Counter()
    sys.dont_write_bytecode = True
    os.environ["TILEWRIGHT_CACHE"] = "0"
    os.environ["TILEWRIGHT_VERIFY_BARRIERS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        until = time.monotonic() + arguments.seconds
        for seed in range(arguments.first, arguments.end, arguments.step):
            if time.monotonic() > until:
                break
            print(">", seed, json.dumps(counts), flush=True)
            small = addresses if arguments.addresses else indices if arguments.indices else None
            case = Case(seed, folder, level, arguments.products, small, arguments.launches, arguments.any_size, arguments.scaled)
            if arguments.show:
                print(case.source)
                print(case.launches[0].scalars, case.generator.shape)
            run_case(case, arguments, counts)
            for number in range(len(case.kernels)):
                os.remove(os.path.join(folder, f"case_{seed}_{number}.py"))
    print("=", json.dumps(counts), flush=True)


def parsed():
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seed", type=int, help="this case alone")
    parser.add_argument("--seconds", type=float, default=60, help="in all; where levels name their processes, of each")
    parser.add_argument("--levels", nargs="*", default=LEVELS, help="LEVEL one after another, or LEVEL=PROCESSES all at once")
    parser.add_argument("--jobs", type=int, default=1, help="processes of a level that names none")
    parser.add_argument("--gpus", type=int, default=1, help="number of GPUs that the processes share")
    parser.add_argument("--counts", help="a file for the counts as JSON")
    parser.add_argument("--launches", type=int, default=3, help="of each program about addresses or indices")
    parser.add_argument("--patience", type=float, default=120, help="seconds that one program may take")
    parser.add_argument("--show", action="store_true", help="print each program")
    parser.add_argument("--minimize", action="store_true")
    parser.add_argument("--products", action="store_true", help="larger tiles, and a loop of products in each program")
    parser.add_argument("--scaled", action="store_true", help="a loop of products with block scales in each program")
    parser.add_argument("--any-size", action="store_true", help="tiles whose sizes are not powers of two")
    parser.add_argument("--addresses", action="store_true", help="small programs about addresses")
    parser.add_argument("--indices", action="store_true", help="small programs of index arithmetic")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--end", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--step", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.seed is not None:
        arguments.first, arguments.count = arguments.seed, 1
    return arguments


def environment_of(level, gpu):
    """Environment variables that a process reads once: the CPU level, whether LLVM optimizes, the GPU."""
    name, _, how = level.partition(":")
    names = {"OPENBLAS_NUM_THREADS": "1", "TILEWRIGHT_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": str(gpu)}
    if name not in ("simulate", "cuda"):
        names |= {"TILEWRIGHT_CPU": name} | ({"DISABLE_LLVM_OPT": "1"} if how == "unoptimized" else {})
    return os.environ | names


def start(arguments, place, level):
    """Starts the processes of a level. If the range of seeds is open, each level runs other programs."""
    name, _, processes = level.partition("=")
    isOpen = arguments.count == 10**9
    first, count = arguments.first + (place * 10**8 if isOpen else 0), 10**8 if isOpen else arguments.count
    command = [sys.executable, __file__, "--worker", "--levels", name, "--launches", str(arguments.launches)]
    command += [f"--{flag.replace('_', '-')}" for flag in ("show", "minimize", "products", "addresses", "indices", "any_size", "scaled") if getattr(arguments, flag)]
    seconds = arguments.seconds if processes else arguments.seconds / len(arguments.levels)
    count_of = int(processes or arguments.jobs)
    environments = [environment_of(name, i % arguments.gpus) for i in range(count_of)]
    return name, first, jobs.start(command, environments, first, count, seconds, arguments.patience)


def main():
    arguments = parsed()
    if arguments.worker:
        return worker(arguments)
    jobs.require("numpy", "ml_dtypes", "tilewright")
    total, all_counts = collections.Counter(), {}
    working = [functools.partial(start, arguments, place, level) for place, level in enumerate(arguments.levels)]
    if all("=" in level for level in arguments.levels):
        working = [lambda started=begin(): started for begin in working]
    for begin in working:
        name, first, started = begin()
        counts = all_counts[name] = jobs.finish(started)
        print(f"{name}: {said(counts)}, from seed {first}, on {len(started)} processes", flush=True)
        total += counts
    if len(arguments.levels) > 1:
        print(f"in all: {said(total)}")
    if arguments.counts:
        pathlib.Path(arguments.counts).write_text(json.dumps(all_counts, indent=1) + "\n")
    return 1 if total["differ"] or total["crashed"] or not total["programs"] else 0


def said(counts):
    """The counts as text: how many programs there were, and below it how many had each feature."""
    text = f"{counts['programs']} programs, {counts['launches']} launches, {counts['differ']} differ"
    text += "".join(f", {counts[name]} {name}" for name in ("crashed", "refused", "skipped") if counts[name])
    had = [f"{counts[name]} {name}" for name in sorted(counts) if name.startswith("with ")]
    return text + (f"; {', '.join(had)}" if had else "")


if __name__ == "__main__":
    sys.exit(main())
