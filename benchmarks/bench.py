"""Compares the speed of Tilewright on this CPU with its rivals (`make bench`).

    benchmarks/bench.py [--only gemm softmax ...] [--seconds 1]
    benchmarks/bench.py --sweep [matmul softmax layer_norm] [--threads 1] [--largest 4096]     irregular sizes: sweep.py

The kernels are those of examples/, unedited. Rows go to build/bench/cpu.jsonl, one JSON object a line, and to a table
with the ratio to the named rival (at least 1: as fast or faster), the ratio to reach and the ratio to win. measure.py says
how it is measured. The rivals are in rivals.py and rivals.c.
"""

import argparse
import functools
import importlib.util
import json
import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

import numpy as np

root = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(root / "build" / "python"), str(root / "examples"), str(root / "benchmarks")]
os.environ["TILEWRIGHT_CACHE"] = "0"  # compile times are measured, never a disk

import rivals  # noqa: E402  (sets the environment before any thread pool starts)
import against_torch  # noqa: E402
import element_rows  # noqa: E402
import sweep  # noqa: E402
import tilewright as triton  # noqa: E402
import tilewright.language  # noqa: E402
from measure import Report, aligned, fastest, interleaved, randn, require_close  # noqa: E402

sys.modules.setdefault("triton", triton)
sys.modules.setdefault("triton.language", tilewright.language)

out_folder = root / "build" / "bench"


def load(path):
    spec = importlib.util.spec_from_file_location("bench_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def example(name):
    return load(next((root / "examples").glob(f"{name}*.py")))


def strides(array):
    """In elements, of NumPy's arrays and PyTorch's tensors."""
    return tuple(array.stride()) if hasattr(array, "stride") else tuple(step // array.itemsize for step in array.strides)


# Kernels that repeat one statement.
LONG_HEAD = """import triton
import triton.language as tl


@triton.jit
def long_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = x
"""
LONG_KERNELS = {
    "statements": lambda count: "".join(f"    y = y * {1 + i % 7 * 0.125} + x\n" for i in range(count)),
    "exp(x) + load": lambda count: "    y = tl.exp(y) + tl.load(x_ptr + i + j)\n",
    "loads and sums": lambda count: "    y += tl.sum(tl.load(x_ptr + i + j * BLOCK), axis=0)\n",
}


class Bench:
    """`busy`: other programs use the machine. Measures one thread by its CPU time, and takes the fastest of many samples."""

    def __init__(self, report, seconds, busy=False):
        self.report, self.seconds, self.busy = report, seconds, busy
        self.threads = (1,) if busy else (1, 2)
        self.max_threads = self.threads[-1]
        self.blas, self.torch = rivals.openblas_or_none(), rivals.torch_or_none()

    @functools.cached_property
    def hand_c(self):
        return rivals.HandC(out_folder)

    example = staticmethod(example)

    def times(self, **calls):
        return fastest(calls, self.seconds, 1) if self.busy else interleaved(calls, self.seconds)

    # --- matmul ----------------------------------------------------------------------------------------------------

    def tuned(self, a, b, c, threads):
        (m, k), n = a.shape, b.shape[1]
        grid = lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)
        kernel, operands = self.tuned_kernel(threads), (m, n, k, *strides(a), *strides(b), *strides(c))
        return lambda: kernel[grid](a, b, c, *operands, ACTIVATION="", num_threads=threads)

    @functools.cache
    def tuned_kernel(self, threads):
        """One for each number of threads: what one thread does best leaves two with a program too few."""
        return example("06").tuned_matmul_kernel

    def masked(self, a, b, c, threads):
        """The tile of a GPU, 128x128x32, with grouped order, wrap-around and masks."""
        if not hasattr(self, "_grouped"):
            self._grouped = example("04").grouped_matmul_kernel
        (m, k), n = a.shape, b.shape[1]
        grid = (triton.cdiv(m, 128) * triton.cdiv(n, 128),)
        kernel, operands = self._grouped, (m, n, k, *strides(a), *strides(b), *strides(c))
        return lambda: kernel[grid](a, b, c, *operands, BLOCK_M=128, BLOCK_N=128, BLOCK_K=32, GROUP_M=8, num_threads=threads)

    def gemm(self):
        for size in (512, 1024, 2048):
            a, b = randn((size, size), seed=1), randn((size, size), seed=2)
            c, masked_c, expected = (aligned((size, size)) for _ in range(3))
            for threads in self.threads:
                ours, masked = self.tuned(a, b, c, threads), self.masked(a, b, masked_c, threads)
                openblas = lambda: self.blas.matmul(a, b, expected, threads)
                ours(), masked(), openblas()
                require_close(c, expected, f"gemm {size}")
                require_close(masked_c, expected, f"masked gemm {size}")
                taken = self.times(ours=ours, masked=masked, openblas=openblas)
                speed = {name: 2e-9 * size**3 / value for name, value in taken.items()}
                self.report.row(
                    "gemm", size, "fp32", threads, "GFLOP/s", speed["ours"], {"OpenBLAS": speed["openblas"]}, "OpenBLAS", 0.90, 1.02)
                self.report.row("gemm 128x128x32 masked", size, "fp32", threads, "GFLOP/s", speed["masked"],
                                {"own best": speed["ours"], "OpenBLAS": speed["openblas"]}, "own best", 0.85, 0.97)

    def small_gemm(self):
        for size in (64, 128, 256):
            a, b = randn((size, size), seed=1), randn((size, size), seed=2)
            c, expected = aligned((size, size)), aligned((size, size))
            ours, openblas = self.tuned(a, b, c, 1), lambda: self.blas.matmul(a, b, expected, 1)
            ours(), openblas()
            require_close(c, expected, f"small gemm {size}")
            speed = {name: 2e-9 * size**3 / value for name, value in self.times(ours=ours, openblas=openblas).items()}
            self.report.row(
                "gemm, small", size, "fp32", 1, "GFLOP/s", speed["ours"], {"OpenBLAS": speed["openblas"]}, "OpenBLAS", 1.0, 1.0)

    def transposed(self):
        size = 1024
        a, b = randn((size, size), seed=1), randn((size, size), seed=2)
        a_columns, b_columns = randn((size, size), seed=1).T, randn((size, size), seed=2).T
        c = aligned((size, size))
        calls, expected = {}, {}
        for name, left, right in [("AB", a, b), ("A'B", a_columns, b), ("AB'", a, b_columns), ("A'B'", a_columns, b_columns)]:
            calls[name] = self.tuned(left, right, c, 1)
            calls[name]()
            require_close(c, left.astype(np.float64) @ right, f"gemm {name}")
        speed = {name: 2e-9 * size**3 / value for name, value in self.times(**calls).items()}
        for name in ("A'B", "AB'", "A'B'"):
            self.report.row(f"gemm {name}", size, "fp32", 1, "GFLOP/s", speed[name], {"own AB": speed["AB"]}, "own AB", 0.95, 1.0)

    def narrow_gemm(self):
        size = 1024
        a, b, c = randn((size, size), seed=1), randn((size, size), seed=2), aligned((size, size))
        calls = {"fp32": self.tuned(a, b, c, 1)}
        import ml_dtypes

        for name, dtype, tolerance in [("fp16", np.float16, 1e-2), ("bf16", ml_dtypes.bfloat16, 2e-2)]:
            left, right, out = randn((size, size), dtype, 1), randn((size, size), dtype, 2), aligned((size, size), dtype)
            calls[name] = self.tuned(left, right, out, 1)
            calls[name]()
            require_close(out, left.astype(np.float32) @ right.astype(np.float32), f"gemm {name}", tolerance)
        int8 = example("10")
        left, right, rows, columns = int8.get_inputs(size, size, size)
        exact, scaled = np.empty((size, size), np.int32), np.empty((size, size), np.float32)
        grid = (triton.cdiv(size, 256), triton.cdiv(size, 256))
        calls["int8"] = lambda: int8.int8_matmul_kernel[grid](
            left, right, rows, columns, exact, scaled, size, size, size, *strides(left), *strides(right), *strides(exact),
            BLOCK_M=256, BLOCK_N=256, BLOCK_K=256, num_threads=1)
        calls["int8"]()
        if not np.array_equal(exact, int8.reference_fn(left, right, rows, columns)[0]):
            raise AssertionError("gemm int8: wrong result; nothing is timed")
        speed = {name: 2e-9 * size**3 / value for name, value in self.times(**calls).items()}
        for name, reach, win in [("fp16", 0.80, 0.92), ("bf16", 0.80, 0.92), ("int8", 1.7, 2.5)]:
            self.report.row(f"gemm {name}", size, name, 1, "GFLOP/s", speed[name], {"own fp32": speed["fp32"]}, "own fp32", reach, win)

    # --- memory-bound kernels --------------------------------------------------------------------------------------

    def vector_add(self):
        n = 1 << 26
        x, y, out, expected = randn((n,), seed=1), randn((n,), seed=2), aligned((n,)), aligned((n,))
        kernel = example("01").add_kernel
        ours = lambda: kernel[(triton.cdiv(n, 65536),)](x, y, out, n, BLOCK_SIZE=65536, num_threads=self.max_threads)
        hand_c = lambda: self.hand_c.add(x, y, expected, self.max_threads, True)
        ours(), hand_c()
        if not np.array_equal(out, expected):
            raise AssertionError("vector add: wrong result; nothing is timed")
        speed = {name: 12e-9 * n / value for name, value in self.times(ours=ours, hand_c=hand_c).items()}
        self.report.row("vector add", "64 Mi", "fp32", self.max_threads, "GB/s", speed["ours"], {"hand C": speed["hand_c"]}, "hand C", 0.95, 1.0)

    def softmax(self):
        kernel = example("02").softmax_kernel
        for rows, streaming, win in [(16384, True, 1.3), (256, False, 1.4)]:
            columns = 1024
            x, out, expected = randn((rows, columns)), aligned((rows, columns)), aligned((rows, columns))
            programs = min(rows, 64)
            ours = lambda: kernel[(programs,)](out, x, columns, columns, rows, columns, columns, 2, num_threads=self.max_threads)
            hand_c = lambda: self.hand_c.softmax(x, expected, self.max_threads, streaming)
            ours(), hand_c()
            require_close(out, expected, "softmax", 1e-5)
            speed = {name: 8e-9 * rows * columns / value for name, value in self.times(ours=ours, hand_c=hand_c).items()}
            self.report.row(
                "softmax", f"{rows}x{columns}", "fp32", self.max_threads, "GB/s", speed["ours"], {"hand C": speed["hand_c"]}, "hand C", 1.0, win)

    def layer_norm(self):
        kernel = example("09").layer_norm_kernel
        for rows, streaming in [(16384, True), (256, False)]:
            columns = 1024
            x, weight, bias = randn((rows, columns), seed=1), randn((columns,), seed=2), randn((columns,), seed=3)
            outs = [(aligned((rows, columns)), aligned((rows,)), aligned((rows,))) for _ in range(2)]
            ours = lambda: kernel[(rows,)](
                x, weight, bias, *outs[0], columns, columns, columns, 1e-5, BLOCK_SIZE=columns, num_threads=self.max_threads)
            hand_c = lambda: self.hand_c.layer_norm(x, weight, bias, *outs[1], 1e-5, self.max_threads, streaming)
            ours(), hand_c()
            for mine, theirs in zip(*outs):
                require_close(mine, theirs, "layer norm", 1e-5)
            speed = {name: 8e-9 * rows * columns / value for name, value in self.times(ours=ours, hand_c=hand_c).items()}
            self.report.row(
                "layer norm", f"{rows}x{columns}", "fp32", self.max_threads, "GB/s", speed["ours"], {"hand C": speed["hand_c"]}, "hand C", 0.95, 1.15)

    # --- attention -------------------------------------------------------------------------------------------------

    def attention(self):
        module = example("07")
        for causal in (False, True):
            shape = (1, 8, 1024, 64)
            q, k, v, out = randn(shape, seed=1), randn(shape, seed=2), randn(shape, seed=3), aligned(shape)
            grid = lambda meta: (triton.cdiv(shape[2], meta["BLOCK_M"]), shape[1])
            scale = 1 / math.sqrt(shape[3])
            strided = [step for array in (q, k, v, out) for step in strides(array)]
            ours = lambda: module.attention_kernel[grid](
                q, k, v, out, scale, *shape[:3], *strided, HEAD_DIM=64, CAUSAL=causal, num_threads=self.max_threads)
            bias = np.where(np.tri(shape[2], dtype=bool), 0, -np.inf).astype(np.float32) if causal else np.float32(0)

            def numpy():
                scores = q @ k.swapaxes(2, 3) * np.float32(scale) + bias
                np.exp(scores - scores.max(-1, keepdims=True), out=scores)
                return scores / scores.sum(-1, keepdims=True) @ v

            ours()
            require_close(out, module.reference_fn(q, k, v, causal), "attention", 1e-4)
            calls = {"ours": ours, "NumPy": numpy}
            if self.torch:
                self.torch.set_num_threads(self.max_threads)
                tensors = [self.torch.from_numpy(array) for array in (q, k, v)]
                calls["torch"] = lambda: self.torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)
            operations = module.flops(*shape, causal)
            speed = {name: 1e-9 * operations / value for name, value in self.times(**calls).items()}
            mine = speed.pop("ours")
            against = "torch" if self.torch else "NumPy"
            name = "attention causal" if causal else "attention"
            self.report.row(name, "8x1024x64", "fp32", self.max_threads, "GFLOP/s", mine, speed, against, 1.0, 2.0)

    # --- compiling and launching -----------------------------------------------------------------------------------

    def fresh(self, name, serial):
        """The example under a new kernel name and without its tuner, so that nothing compiled before can be found again."""
        source = next((root / "examples").glob(f"{name}*.py")).read_text()
        source = re.sub(r"@triton\.autotune\((?:[^()]|\([^()]*\))*\)\n", "", source)
        source = re.sub(r"(\w+)_kernel\b", rf"\1_kernel_{serial}", source)
        path = out_folder / f"fresh_{name}_{serial}.py"
        path.write_text(source)
        module = load(path)
        return next(value for key, value in vars(module).items() if key.endswith(f"_kernel_{serial}"))

    def compile_ms(self, name, launch):
        """Median of launching a kernel never seen before, on the smallest work there is."""
        taken = []
        for serial in range(6):
            kernel = self.fresh(name, serial)
            start = time.perf_counter()
            launch(kernel)
            taken.append(1e3 * (time.perf_counter() - start))
        return float(np.median(taken[1:]))  # the first one also loads the compiler's own pages

    def compiling(self):
        x, y = randn((64, 64)), randn((64, 64))
        z = aligned((64, 64))
        line = aligned((65536,))
        q, o = randn((1, 1, 64, 64)), aligned((1, 1, 64, 64))
        add = lambda block: lambda kernel: kernel[(1,)](line, line, line, 1000, BLOCK_SIZE=block)
        matmul = lambda kernel: kernel[(1,)](x, y, z, 64, 64, 64, 64, 1, 64, 1, 64, 1, BLOCK_M=128, BLOCK_N=128, BLOCK_K=32, GROUP_M=8)
        attention = lambda kernel: kernel[(1, 1)](
            q, q, q, o, 0.125, 1, 1, 64, *strides(q) * 4, HEAD_DIM=64, CAUSAL=True, BLOCK_M=128, BLOCK_N=64)
        for label, name, launch, reach, win in [
            ("compile vector add", "01", add(1024), 25, 10), ("compile matmul", "04", matmul, 100, 50),
            ("compile attention", "07", attention, 200, 100),
        ]:
            took = self.compile_ms(name, launch)
            self.report.row(
                label, "cold", "fp32", 1, "ms", took, {"goal": reach, "win": win}, "goal", 1.0, reach / win, more_is_better=False)
        small, large = self.compile_ms("01", add(1024)), self.compile_ms("01", add(65536))
        # Of 64 times the block, at most 1.5 (1.1) times the time: as ratios, at least 0.67 (0.91).
        self.report.row(
            "compile 64 Ki block", "cold", "fp32", 1, "ms", large, {"1 Ki block": small}, "1 Ki block", 1 / 1.5, 1 / 1.1,
            more_is_better=False)

    def compile_steps(self, name, count):
        """Compiles a kernel that repeats one statement: milliseconds of CPU time, and those of each step by the clock."""
        path = out_folder / f"long_{count}.py"
        loop = "" if name == "statements" else f"    for j in tl.static_range({count}):\n    "
        path.write_text(LONG_HEAD + loop + LONG_KERNELS[name](count) + "    tl.store(out_ptr + i, y)\n")
        command = [root / "build" / "bin" / "tilewright", "compile", path, "--signature", "*fp32:16,*fp32:16,1024", "--emit", "obj"]
        command += ["--time", "-o", out_folder / "long.o"]
        used = lambda: sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
        before = used()
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True)
        rows = map(str.split, (done.stdout + done.stderr).splitlines())
        return 1e3 * (used() - before), {words[2]: float(words[0]) for words in rows if words[1:2] == ["ms"]}

    def compile_profile(self):
        """How compile time grows with a kernel, and in which steps it goes: build/bench/compile_steps.jsonl."""
        with (out_folder / "compile_steps.jsonl").open("w") as file:
            for name, count, goal in [("statements", 10000, 5000), ("exp(x) + load", 1000, 2000), ("loads and sums", 500, 2000)]:
                taken = {}
                for n in (count // 2, count):
                    taken[n], steps = min((self.compile_steps(name, n) for _ in range(3)), key=lambda each: each[0])
                    file.write(json.dumps({"kernel": name, "count": n, "ms": taken[n], "steps": steps}) + "\n")
                shown, half = f"{count} {name}"[:16], {"half as long": taken[count // 2]}
                self.report.row("compile long kernel", shown, "fp32", 1, "ms", taken[count], {"goal": goal}, "goal", 1.0, None, False)
                # Twice the length takes at most 2.3 times as long.
                self.report.row("compile twice as long", shown, "fp32", 1, "ms", taken[count], half, "half as long", 1 / 2.3, None, False)

    def launching(self):
        path = out_folder / "empty.py"
        path.write_text("import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef empty_kernel(x_ptr, n):\n    pass\n")
        kernel = load(path).empty_kernel
        x = aligned((16,))
        grid = (2,)
        taken = self.times(ours=lambda: kernel[grid](x, 16, num_threads=2))
        fork_join = self.hand_c.fork_join_ns(2, 20000) / 1e3
        self.report.row(
            "launch from Python", "grid 2", "", 2, "us", 1e6 * taken["ours"], {"goal": 5, "OpenMP fork-join": fork_join}, "goal", 1.0, 2.0,
            more_is_better=False)
        program = out_folder / "launch"
        libraries = [root / "build", root / "build" / "lib"]
        command = ["clang++-22", "-std=c++20", "-O2", f"-I{root / 'include'}", root / "benchmarks" / "launch.cpp", "-o", program]
        command += [f"-L{folder}" for folder in libraries] + [f"-Wl,-rpath,{folder}" for folder in libraries] + ["-ltilewright"]
        built = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if built.returncode:
            raise RuntimeError(f"launch.cpp does not build: {built.stderr[:500]}")
        microseconds = float(subprocess.run([str(program), str(path)], capture_output=True, text=True, check=True).stdout)
        self.report.row(
            "launch from C++", "grid 2", "", 2, "us", microseconds, {"goal": 2, "OpenMP fork-join": fork_join}, "goal", 1.0, 2.5,
            more_is_better=False)

    def size(self):
        release = root / "build" / "release"
        candidates = [release / "bin" / "tilewright", *release.rglob("libtilewright.so*"), *(release / "python").rglob("*.so")]
        files = [path for path in candidates if path.is_file() and not path.is_symlink()]
        if not files:
            print("installed size: run `make release` first")
        for path in files:
            self.report.row(f"size of {path.name[:17]}", "stripped", "", 1, "MB", path.stat().st_size / 1e6, {}, 0, None, None)
        if files:
            total = sum(path.stat().st_size for path in files) / 1e6
            self.report.row("installed size", "stripped", "", 1, "MB", total, {"goal": 60}, "goal", 1.0, None, more_is_better=False)


    def low_precision_gemm(self):
        against_torch.low_precision_gemm(self)

    def attention_forward(self):
        against_torch.forward(self)

    def attention_backward(self):
        against_torch.backward(self)

    def elements(self):
        element_rows.run(self)


ORDER = [
    "launching", "small_gemm", "gemm", "transposed", "narrow_gemm", "vector_add", "softmax", "layer_norm", "attention", "low_precision_gemm",
    "attention_forward", "attention_backward", "elements", "compiling", "compile_profile", "size",
]


def machine():
    """Returns the machine's properties, and its peaks in GFLOP/s and GB/s by element type or unit and number of threads."""
    properties = {name: value for name, value in triton._core.target().items()}
    properties["processor"] = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    hand_c, rates = rivals.HandC(out_folder), triton._core.measure_cpu()
    peaks = {(dtype, threads): 1e-9 * rate for threads in (1, 2) for dtype, rate in hand_c.peaks(threads).items() if rate}
    return properties, peaks | {("GB/s", 2): 1e-9 * rates["bytes_per_second"]}


def main():
    parser = argparse.ArgumentParser(description="Benchmarks on the CPU.")
    parser.add_argument("--only", nargs="+", choices=ORDER, default=ORDER)
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each comparison runs")
    parser.add_argument("--busy", action="store_true", help="other programs use the machine: measure one thread by its CPU time, the fastest of many samples")
    parser.add_argument("--sweep", nargs="*", choices=["matmul", "softmax", "layer_norm"], help="sweeps over sizes instead")
    parser.add_argument("--threads", type=int, default=2, help="threads of a sweep")
    parser.add_argument("--largest", type=int, default=4096, help="largest matmul of a sweep")
    options = parser.parse_args()
    if options.sweep is not None:
        return sweep.run(Bench(None, options.seconds), out_folder, options.threads, options.largest, options.sweep)
    report = Report(out_folder / "cpu.jsonl", *machine())
    bench = Bench(report, options.seconds, options.busy)
    report.header()
    failed = False
    for name in options.only:
        try:
            getattr(bench, name)()
        except Exception as error:  # one row's trouble must not cost the others
            report.problem(name, error)
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
