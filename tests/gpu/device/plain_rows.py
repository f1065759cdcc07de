#!/usr/bin/env python3
"""Compares Tilewright with Triton on untuned kernels with usual blocks: a layout that doubles the time shows here, and not in tuned examples.

    PYTHONPATH=PACKAGE tests/gpu/device/plain_rows.py [-o RESULTS.jsonl] [--only NAME ...] [--below RATIO]

Each compiler runs in a process of its own, one after the other; kernels are compiled before that, in several processes. A row holds the microseconds of
both (the fastest of three means), the ratio of Triton's to ours, and whether our result is right: within `tolerance` of the largest number of PyTorch's in
float64. A kernel that Triton refuses has no ratio. The exit code is 1 if a result is wrong."""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys

COMPILERS = 7  # Triton processes that compile beforehand


class Rows:
    """Runs or measures cases, and prints them as JSON lines. With `share` = (k, n), it compiles every n-th case from the k-th on, and measures nothing."""

    def __init__(self, only, share):
        import torch
        self.torch, self.only, self.share, self.count = torch, only, share, 0

    def randn(self, *shape, dtype=None):
        return self.torch.randn(*shape, device="cuda", dtype=dtype or self.torch.float16)

    def microseconds(self, run):
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))

        def mean(runs):
            start.record()
            for _ in range(runs):
                run()
            end.record()
            self.torch.cuda.synchronize()
            return start.elapsed_time(end) / runs * 1e3

        runs = max(5, min(60, int(8e3 / max(mean(3), 10))))
        return min(mean(runs) for _ in range(3))

    def row(self, name, config, run, out=None, expected=None, tolerance=2e-2):
        self.count += 1
        if self.only and not any(word in name for word in self.only):
            return
        if self.share and self.count % self.share[1] != self.share[0]:
            return
        found = {"name": name, "config": str(config)}
        try:
            run()
            self.torch.cuda.synchronize()
            if self.share:
                return
            if expected is not None:
                reference = expected().double()
                found["error"] = ((out.double() - reference).abs().max() / reference.abs().max()).item()
                found["right"] = found["error"] <= tolerance
            found["us"] = self.microseconds(run)
        except Exception as error:  # a kernel that one compiler refuses is a row, too
            found["failure"] = str(error).strip().splitlines()[-1][:200]
        if not self.share:
            print(json.dumps(found), flush=True)


def products(rows):
    import plain_kernels as kernels
    import torch
    import triton
    n = 2048

    def case(name, a, b, config, precision="tf32", dtype=None):
        (M, K), N, (BM, BN, BK, warps, stages) = a.shape, b.shape[1], config
        c = torch.empty(M, N, device="cuda", dtype=dtype or a.dtype)
        rows.row(name, config, lambda: kernels.product[(triton.cdiv(M, BM), triton.cdiv(N, BN))](
            a, b, c, M, N, K, *a.stride(), *b.stride(), BM, BN, BK, precision, num_warps=warps, num_stages=stages), c, lambda: a.double() @ b.double())

    a, b = rows.randn(n, n), rows.randn(n, n)
    for config in ((128, 128, 64, 4, 3), (64, 64, 64, 4, 3), (64, 32, 32, 4, 3), (32, 64, 32, 4, 3), (32, 32, 64, 1, 3), (32, 32, 32, 4, 3), (16, 64, 64, 4, 3), (16, 16, 32, 2, 3)):
        for name, x, y in (("nn", a, b), ("tn", a.T, b), ("nt", a, b.T), ("tt", a.T, b.T)):
            case(f"product fp16 {name}", x, y, config)
    case("product fp16 nn", rows.randn(1000, 1000), rows.randn(1000, 1000), (64, 64, 32, 4, 3))
    for config in ((128, 128, 32, 8, 3), (64, 64, 32, 4, 3), (32, 32, 32, 4, 3), (16, 32, 64, 1, 3)):
        for dtype, precision in ((torch.float32, "tf32"), (torch.float32, "ieee"), (torch.bfloat16, "tf32")):
            case(f"product {str(dtype)[6:]} {precision}", rows.randn(n, n, dtype=dtype), rows.randn(n, n, dtype=dtype), config, precision)


def other_matmuls(rows):
    import plain_kernels as kernels
    import torch
    n = 2048
    half = dict(device="cuda", dtype=torch.float16)
    q, s = torch.randint(-2**31, 2**31 - 1, (n // 8, n), device="cuda", dtype=torch.int32), rows.randn(n // 128, n) * 0.1
    bits = (q[:, None, :] >> (4 * torch.arange(8, device="cuda", dtype=torch.int32))[None, :, None]) & 15
    w = (bits - 8).reshape(n, n).half() * s.repeat_interleave(128, 0)
    for M in (16, n):
        a, c = rows.randn(M, n), torch.empty(M, n, **half)
        for BM, BN, BK, warps in ((16, 64, 64, 4), (64, 64, 64, 4), (128, 128, 64, 8)):
            if BM <= M:
                rows.row(f"product int4 {M}", (BM, BN, BK, warps), lambda: kernels.int4_matmul[(M // BM, n // BN)](
                    a, q, s, c, n, n, 128, BM, BN, BK, num_warps=warps), c, lambda: a.double() @ w.double())
    a, b, c = rows.randn(64, 8192), rows.randn(8192, 1024), torch.zeros(64, 1024, device="cuda")
    for BM, BN, BK in ((16, 64, 64), (64, 64, 64), (32, 32, 128)):
        rows.row("product split", (BM, BN, BK), lambda: kernels.split_k_matmul[(64 // BM, 1024 // BN, 16)](a, b, c, 1024, 8192, BM, BN, BK, 16))
    for Z, M, N, K in ((16384, 32, 32, 32), (8192, 64, 64, 64), (16384, 16, 16, 64), (4096, 16, 128, 128)):
        a, b, c = rows.randn(Z, M, K), rows.randn(Z, K, N), torch.empty(Z, M, N, **half)
        for warps in (1, 4):
            rows.row("product small", (M, N, K, warps), lambda: kernels.small_matmul[(Z,)](a, b, c, M, N, K, num_warps=warps), c, lambda: a.float() @ b.float())


def attentions(rows):
    import plain_kernels as kernels
    import torch
    exact = torch.nn.functional.scaled_dot_product_attention
    for D in (64, 128):
        q, k, v = (rows.randn(32, 1024, D) for _ in "qkv")
        o = torch.empty_like(q)
        for causal in (False, True):
            for BM, BN, warps, stages in ((16, 32, 2, 2), (32, 32, 4, 2), (32, 64, 4, 3), (64, 32, 4, 2), (64, 64, 4, 2), (128, 32, 4, 3), (128, 64, 8, 2)):
                rows.row(f"attention {D}{' causal' if causal else ''}", (BM, BN, warps, stages), lambda: kernels.attention[(1024 // BM, 32)](
                    q, k, v, o, 1024, 1024, D**-0.5, BM, BN, D, causal, num_warps=warps, num_stages=stages), o, lambda: exact(q[None], k[None], v[None], is_causal=causal)[0])
        q, k, v = rows.randn(512, 16, D), rows.randn(512, 1024, D), rows.randn(512, 1024, D)
        o = torch.empty_like(q)
        for BN, warps, stages in ((16, 1, 2), (32, 2, 2), (64, 4, 3), (128, 4, 2)):
            rows.row(f"decoding {D}", (16, BN, warps, stages), lambda: kernels.attention[(1, 512)](
                q, k, v, o, 16, 1024, D**-0.5, 16, BN, D, False, num_warps=warps, num_stages=stages), o, lambda: exact(q[None], k[None], v[None])[0])


def elements(rows):
    import plain_kernels as kernels
    import torch
    import triton
    single, n, side = dict(dtype=torch.float32), 1 << 25, 4096
    x, y = rows.randn(n, **single), rows.randn(n, **single)
    o = torch.empty_like(x)
    for BLOCK, warps in ((64, 1), (256, 4), (1024, 4), (4096, 4), (16384, 8)):
        for count in (n, n - 3):
            rows.row(f"add {count}", (BLOCK, warps), lambda: kernels.add[(triton.cdiv(count, BLOCK),)](x, y, o, count, BLOCK, num_warps=warps), o[:count], lambda: (x + y)[:count])
    square, transposed, sums = x[: side * side].view(side, side), torch.empty(side, side, device="cuda"), torch.empty(side, device="cuda")
    for BM, BN, warps in ((16, 16, 1), (32, 32, 4), (64, 64, 4), (128, 32, 4), (32, 128, 8)):
        rows.row("transpose", (BM, BN, warps), lambda: kernels.transpose[(side // BM, side // BN)](square, transposed, side, side, BM, BN, num_warps=warps), transposed, lambda: square.T)
    for BM, BN, warps in ((32, 32, 4), (64, 16, 4), (128, 64, 8), (16, 128, 4)):
        rows.row("column sums", (BM, BN, warps), lambda: kernels.column_sums[(side // BN,)](square, sums, side, side, BM, BN, num_warps=warps), sums, lambda: square.sum(0), 1e-3)
    for D in (32, 128):
        table, index, found = x[: 65536 * D].view(65536, D), torch.randint(0, 65536, (65536,), device="cuda"), torch.zeros(65536, D, device="cuda")
        for BLOCK, warps in ((1, 1), (8, 4), (32, 4)):
            rows.row(f"gather {D}", (BLOCK, warps), lambda: kernels.gather_rows[(65536 // BLOCK,)](table, index, found, D, BLOCK, num_warps=warps), found, lambda: table[index])
            rows.row(f"scatter {D}", (BLOCK, warps), lambda: kernels.scatter_rows[(65536 // BLOCK,)](table, index, found, D, BLOCK, num_warps=warps))


def long_rows(rows):
    import plain_kernels as kernels
    import torch
    import triton
    single = dict(dtype=torch.float32)
    for M, N in ((65536, 256), (16384, 1000), (8192, 4096), (4096, 5003), (131072, 64)):
        x = rows.randn(M, N, **single)
        o = torch.empty_like(x)
        for warps in (1, 4, 8):
            rows.row("softmax", (M, N, warps), lambda: kernels.softmax[(M,)](x, o, N, triton.next_power_of_2(N), num_warps=warps), o, lambda: torch.softmax(x, 1), 1e-3)
    logits, target, loss = rows.randn(2048, 32000, dtype=torch.bfloat16), torch.randint(0, 32000, (2048,), device="cuda"), torch.empty(2048, device="cuda")
    for BLOCK, warps in ((1024, 4), (4096, 8), (32768, 16)):
        rows.row("cross entropy", (BLOCK, warps), lambda: kernels.losses[(2048,)](logits, target, loss, 32000, BLOCK, num_warps=warps), loss,
                 lambda: torch.nn.functional.cross_entropy(logits.float(), target, reduction="none"), 1e-2)
    for N, warps in ((256, 1), (1024, 4), (4096, 8)):
        M = (1 << 24) // N
        x, places = rows.randn(M, N, **single), torch.empty(M, device="cuda", dtype=torch.int32)
        o = torch.empty_like(x)
        rows.row("cumulative sums", (N, warps), lambda: kernels.scan[(M,)](x, o, N, num_warps=warps), o, lambda: x.cumsum(1), 1e-2)
        rows.row("sort", (N, warps), lambda: kernels.sort[(M,)](x, o, N, num_warps=warps), o, lambda: x.sort(1)[0], 0)
        rows.row("argmax", (N, warps), lambda: kernels.largest_of_row[(M,)](x, places, N, num_warps=warps), places, lambda: x.argmax(1), 0)
    x, decay = rows.randn(512, 512, 64, **single), torch.rand(512, 512, device="cuda")
    o = torch.empty_like(x)
    for warps in (1, 4):
        rows.row("recurrence", warps, lambda: kernels.recurrence[(512,)](x, decay, o, 512, 64, num_warps=warps))


def measured(who, options, share=None):
    """Runs all cases with one compiler in a process; returns its rows by name and configuration."""
    command = [sys.executable, *(["-m", "tilewright"] if who == "tilewright" else []), __file__, "--who", who]
    command += [word for name in options.only for word in ("--only", name)] + (["--share", f"{share[0]}/{share[1]}"] if share else [])
    environment = os.environ if who == "tilewright" else {**os.environ, "PYTHONPATH": ""}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def rows_of(process):
    lines = [json.loads(line) for line in process.communicate()[0].splitlines() if line.startswith("{")]
    return {(line["name"], line["config"]): line for line in lines}


def compare(options):
    for process in [measured("triton", options, (k, COMPILERS)) for k in range(COMPILERS)]:
        process.communicate()
    ours, theirs = (rows_of(measured(who, options)) for who in ("tilewright", "triton"))
    ratios, wrong, out = [], 0, open(options.o, "w") if options.o else None
    if out:
        import times
        import triton
        out.write(json.dumps(times.machine(triton)) + "\n")
    for key, row in ours.items():
        other = theirs.get(key, {})
        row["triton_us"] = other.get("us")
        row["ratio"] = other["us"] / row["us"] if "us" in row and "us" in other else None
        wrong += row.get("right") is False or "failure" in row
        ratios += [row["ratio"]] if row["ratio"] else []
        if out:
            out.write(json.dumps(row) + "\n")
        if row["ratio"] is None or row["ratio"] < options.below or row.get("right") is False:
            print(f"{row['name']:26} {row['config']:22} {row.get('us', math.nan):9.1f} us  Triton {other.get('us', math.nan):9.1f} us  {row['ratio'] or math.nan:.2f}"
                  f"  {row.get('failure', '') or ('' if row.get('right', True) else 'WRONG')}")
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
    print(f"{len(ours)} rows, {wrong} wrong; Triton's time over ours, geometric mean of {len(ratios)}: {mean:.3f}; below 0.9: {sum(ratio < 0.9 for ratio in ratios)}")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", metavar="RESULTS.jsonl")
    parser.add_argument("--only", metavar="NAME", action="append", default=[])
    parser.add_argument("--below", metavar="RATIO", type=float, default=0.95, help="print the rows where Triton's time over ours is less (0.95)")
    parser.add_argument("--who", choices=["tilewright", "triton"], help=argparse.SUPPRESS)
    parser.add_argument("--share", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.who:
        return compare(options)
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    rows = Rows(options.only, tuple(map(int, options.share.split("/"))) if options.share else None)
    rows.torch.manual_seed(0)
    for group in (products, other_matmuls, attentions, elements, long_rows):
        group(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
