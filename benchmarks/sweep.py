"""Sweeps over irregular sizes, to find performance cliffs between the round ones (`benchmarks/bench.py --sweep`).

Matmuls of 64 to 4096, every multiple of 48 and sizes next to powers of two, and matrix-vector shapes; rows of softmax and layer
norm of 100 to 50257 elements. The rivals are OpenBLAS and PyTorch, if installed. The result is the fastest of many samples: a
sweep is long, and another program that uses the CPU for a while must not look like a cliff. Writes
sweep.jsonl and a picture of each sweep, and ends with the worst ratios.
"""

import math

import numpy as np

import svg
from measure import Report, aligned, fastest, randn, require_close

# Below this no size of a sweep should be; above, it is as good as the rival.
REACH, WIN = 0.85, 0.95

THIN = [(1, 4096, 4096), (8, 4096, 4096), (64, 4096, 4096), (4096, 16, 4096), (4096, 1, 4096), (3000, 40, 3000), (4096, 4096, 16)]
COLUMNS = [100, 128, 200, 257, 384, 500, 777, 781, 1000, 1024, 1025, 1536, 2000, 2049, 4096, 5000, 10000, 16384, 32000, 50257]


def square_sizes(largest):
    odd = [64, 65, 100, 127, 128, 129, 200, 256, 257, 500, 512, 513, 777, 1000, 1024, 1025, 2000, 2048, 2049, 4096]
    return sorted({size for size in [*odd, *range(96, 4097, 48)] if size <= largest})


class Sweep:
    def __init__(self, bench, report, folder, threads, largest):
        self.bench, self.report, self.folder, self.threads, self.largest = bench, report, folder, threads, largest
        self.torch = bench.torch
        if self.torch:
            self.torch.set_num_threads(threads)

    def row(self, name, size, unit, work, calls):
        """One row; returns the rates by name."""
        taken = fastest(calls, self.bench.seconds, self.threads)
        rates = {each: work / value for each, value in taken.items()}
        rivals = {each: rate for each, rate in rates.items() if each != "ours"}
        self.report.row(name, size, "fp32", self.threads, unit, rates["ours"], rivals, next(iter(rivals)), REACH, WIN)
        return rates

    def product(self, name, m, n, k):
        a, b = randn((m, k), seed=1), randn((k, n), seed=2)
        c, expected = aligned((m, n)), aligned((m, n))
        calls = {"ours": self.bench.tuned(a, b, c, self.threads)}
        if self.bench.blas:
            calls["OpenBLAS"] = lambda: self.bench.blas.matmul(a, b, expected, self.threads)
        if self.torch:
            tensors = [self.torch.from_numpy(array) for array in (a, b, expected)]
            calls["torch"] = lambda: self.torch.mm(tensors[0], tensors[1], out=tensors[2])
        for call in calls.values():
            call()
        require_close(c, expected, f"{name} {m}x{n}x{k}")
        return self.row(name, m if m == n == k else f"{m}x{n}x{k}", "GFLOP/s", 2e-9 * m * n * k, calls)

    def matmul(self):
        sizes = square_sizes(self.largest)
        rates = [self.product("gemm sweep", size, size, size) for size in sizes]
        self.draw("gemm", f"C = A B, fp32, {self.threads} threads", "rows and columns", "GFLOP/s", sizes, rates)
        for shape in THIN:
            self.product("gemm thin", *shape)

    def softmax(self):
        def calls(rows, columns):
            x, out, expected = randn((rows, columns), seed=1), aligned((rows, columns)), aligned((rows, columns))
            block, kernel = 1 << (columns - 1).bit_length(), self.bench.example("02").softmax_kernel
            source, target = self.torch.from_numpy(x), self.torch.from_numpy(expected)
            ours = lambda: kernel[(rows,)](out, x, columns, columns, rows, columns, block, 2, num_threads=self.threads)
            return ours, lambda: self.torch.softmax(source, 1, out=target), lambda: require_close(out, expected, "softmax", 1e-5)

        self.rows("softmax", calls)

    def layer_norm(self):
        def calls(rows, columns):
            x, weight, bias = randn((rows, columns), seed=1), randn((columns,), seed=2), randn((columns,), seed=3)
            outs = aligned((rows, columns)), aligned((rows,)), aligned((rows,))
            block, kernel = 1 << (columns - 1).bit_length(), self.bench.example("09").layer_norm_kernel
            tensors = [self.torch.from_numpy(array) for array in (x, weight, bias)]
            ours = lambda: kernel[(rows,)](
                x, weight, bias, *outs, columns, columns, columns, 1e-5, BLOCK_SIZE=block, num_threads=self.threads)
            theirs = lambda: self.torch.native_layer_norm(tensors[0], (columns,), tensors[1], tensors[2], 1e-5)
            return ours, theirs, lambda: require_close(outs[0], theirs()[0].numpy(), "layer norm", 1e-4)

        self.rows("layer norm", calls)

    def rows(self, name, calls):
        if not self.torch:
            return print(f"{name} sweep: needs PyTorch")
        rates = []
        for columns in COLUMNS:
            rows = max(16, (1 << 21) // columns)
            ours, theirs, check = calls(rows, columns)
            ours(), theirs(), check()
            rates.append(self.row(f"{name} sweep", f"{rows}x{columns}", "GB/s", 8e-9 * rows * columns, {"ours": ours, "torch": theirs}))
        title = f"{name} of rows, fp32, {self.threads} threads"
        self.draw(name.replace(" ", "_"), title, "columns", "GB/s read and written", COLUMNS, rates)

    def draw(self, name, title, across, upward, sizes, rates):
        lines = {each: [rate[each] for rate in rates] for each in rates[0]}
        path = self.folder / f"sweep_{name}.svg"
        path.write_text(svg.lines(title, across, upward, sizes, lines))
        print(path)


def run(bench, folder, threads, largest, only):
    if not (bench.blas or bench.torch):
        return print("a sweep needs a rival: OpenBLAS, or PyTorch")
    report = Report(folder / "sweep.jsonl")
    report.header()
    sweep = Sweep(bench, report, folder, threads, largest)
    for name in only or ["matmul", "softmax", "layer_norm"]:
        getattr(sweep, name)()
    worst = sorted((row for row in report.rows if row["ratio"]), key=lambda row: row["ratio"])[:10]
    ratios = [row["ratio"] for row in report.rows if row["ratio"]]
    mean, low = math.exp(np.mean(np.log(ratios))), sum(ratio < REACH for ratio in ratios)
    print(f"{len(ratios)} sizes, geometric mean {mean:.2f}, {low} below {REACH}")
    for row in worst:
        print(f"  {row['name']} {row['size']}: {row['ratio']:.2f}")
