"""Compares kernels of the examples with float64, at sizes that no block divides, and repeatedly: a race shows as a bit that changes."""

import time

import numpy as np
import torch

from loading import first_line, load, retune

# Allowed error of one element, in units of its own size plus that of all elements (root mean square). fp16 and bf16: one rounding of the
# result. fp8: sums of 128 products with the 14 bits that Hopper's tensor cores keep; cuBLAS gives the same bits. tf32: products of factors
# with 10 bits, added up. Attention rounds its weights, too, and its backward pass gets a rounded output.
TOLERANCE = {"fp32": 1e-5, "tf32": 5e-3, "fp16": 1e-3, "fp8": 4e-3, "bf16": 8e-3, "attention fp16": 4e-3, "attention bf16": 3e-2,
             "attention tf32": 8e-3, "attention backward fp16": 8e-3, "attention backward bf16": 6e-2, "exact": 0.0}
DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}

MATMUL_TILES = [(128, 128, 32, 4, 4), (128, 256, 64, 8, 3), (64, 64, 64, 4, 3)]
PRODUCTS = [(1, 1, 1, "fp16"), (100, 130, 70, "fp16"), (333, 257, 511, "fp32"), (256, 384, 512, "bf16"), (1000, 1000, 1000, "fp16")]
TILED_MATMULS = [(1, 1, 1, "fp16"), (333, 257, 511, "fp16"), (1024, 1024, 1024, "fp16"), (384, 640, 512, "bf16"), (512, 512, 512, "fp32")]
ATTENTIONS = [(2, 3, 133, 64, "fp16"), (1, 4, 1024, 128, "fp16"), (1, 1, 1, 64, "fp16"), (2, 2, 517, 64, "bf16"), (1, 2, 256, 64, "fp32")]
ATTENTION_TILES = [(128, 64, 4, 3, False), (128, 128, 8, 2, False), (64, 32, 4, 3, False), (128, 128, 8, 2, True)]


def randn(*shape, dtype="fp32"):
    return torch.randn(*shape, device="cuda", dtype=torch.float32).to(DTYPES[dtype])


def unwritten(*shape, dtype="fp32"):
    return torch.full(shape, float("nan"), device="cuda", dtype=DTYPES[dtype])


class Check:
    """One kernel at one size: `make()` returns a function that launches it, the tensors that it writes, and their references."""

    def __init__(self, title, make, tolerance, repeats=3):
        self.title, self.make, self.tolerance, self.repeats = title, make, TOLERANCE[tolerance], repeats


def vector_add(m, n):
    def make():
        x, y, out = randn(n), randn(n), unwritten(n)
        return lambda: m.add_kernel[((n + 1023) // 1024,)](x, y, out, n, BLOCK_SIZE=1024), [out], lambda: [x.double() + y.double()]
    return make


def softmax(m, rows, columns, dtype="fp32"):
    def make():
        x, out = randn(rows, columns, dtype=dtype), unwritten(rows, columns, dtype=dtype)
        return lambda: m.softmax(x, out=out), [out], lambda: [torch.softmax(x.double(), -1)]
    return make


def layer_norm(m, rows, columns, dtype):
    def make():
        x, w, b = randn(rows, columns, dtype=dtype), randn(columns, dtype=dtype), randn(columns, dtype=dtype)
        out, mean, rstd = unwritten(rows, columns, dtype=dtype), unwritten(rows), unwritten(rows)
        reference = lambda: [torch.nn.functional.layer_norm(x.double(), (columns,), w.double(), b.double(), 1e-5)]
        return lambda: m.layer_norm(x, w, b, out=(out, mean, rstd)), [out], reference
    return make


def matmul(m, M, N, K, dtype, transposed=""):
    def make():
        a = randn(K, M, dtype=dtype).T if "a" in transposed else randn(M, K, dtype=dtype)
        b = randn(N, K, dtype=dtype).T if "b" in transposed else randn(K, N, dtype=dtype)
        out = unwritten(M, N, dtype=dtype)
        return lambda: m.matmul(a, b, out=out), [out], lambda: [a.double() @ b.double()]
    return make


def int8_matmul(m, M, N, K):
    def make():
        a, b = (torch.randint(-128, 128, shape, device="cuda", dtype=torch.int8) for shape in ((M, K), (K, N)))
        rows, columns = torch.rand(M, device="cuda"), torch.rand(N, device="cuda")
        exact, scaled = torch.full((M, N), -1, device="cuda", dtype=torch.int32), unwritten(M, N)

        def reference():
            product = a.double() @ b.double()
            return [product, product.float() * rows[:, None] * columns[None, :]]
        return lambda: m.int8_matmul(a, b, rows, columns, out=(exact, scaled)), [exact, scaled], reference
    return make


def fp8_matmul(m, M, N, K):
    def make():
        a, b = (randn(*shape).to(torch.float8_e4m3fn) for shape in ((M, K), (N, K)))
        rows, columns, out = torch.rand(M, device="cuda"), torch.rand(N, device="cuda"), unwritten(M, N)
        run = lambda: m.fp8_matmul(a.view(torch.uint8), b.view(torch.uint8), rows, columns, out=out)
        return run, [out], lambda: [a.double() @ b.double().T * rows[:, None] * columns[None, :]]
    return make


def attention(m, Z, H, n, d, causal, dtype):
    def make():
        q, k, v = (randn(Z, H, n, d, dtype=dtype) for _ in range(3))
        out = unwritten(Z, H, n, d, dtype=dtype)
        reference = lambda: [torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=causal)]
        return lambda: m.attention(q, k, v, causal, out=out), [out], reference
    return make


def gelu_dropout(m, n, p, seed, dtype):
    def make():
        x, out = randn(n, dtype=dtype), unwritten(n, dtype=dtype)
        run = lambda: m.gelu_dropout_kernel[lambda meta: (-(-n // meta["BLOCK_SIZE"]),)](x, out, n, p, seed)

        def reference():
            values = x.double()
            gelu = 0.5 * values * (1 + torch.erf(values * 0.5**0.5))
            keep = torch.from_numpy(m.uniform(seed, np.arange(n)) > np.float32(p)).cuda()
            return [torch.where(keep, gelu / (1 - p), 0.0)]
        return run, [out], reference
    return make


def causal_reduce(m, n):
    def make():
        x = randn(n, n)
        out = unwritten(n), torch.full((n,), -1, device="cuda", dtype=torch.int32), unwritten(n)

        def reference():
            masked = x.double().masked_fill(torch.ones_like(x, dtype=torch.bool).triu(1), float("-inf"))
            return [masked.amax(1), masked.argmax(1).double(), x.double().tril().sum(1)]
        return lambda: m.causal_reduce(x, out=out), list(out), reference
    return make


def chained_matmuls(m, n, d, dtype):
    def make():
        q, k, v = (torch.randint(-1, 2, (n, d), device="cuda").to(DTYPES[dtype]) for _ in range(3))
        out = unwritten(n, d)
        run = lambda: m.chained_matmuls_kernel[(-(-n // 128),)](q, k, v, out, n, D=d, BLOCK_M=128, BLOCK_N=64, num_warps=4)
        return run, [out], lambda: [q.double() @ k.double().T @ v.double()]
    return make


def converted_matmul(m, M, N, K, source, dtype):
    def make():
        a = torch.randint(-8, 9, (M, K), device="cuda").to(source)
        b = torch.randint(-8, 9, (K, N), device="cuda").to(DTYPES[dtype])
        out = unwritten(M, N)
        run = lambda: m.converted_matmul_kernel[(-(-M // 128), -(-N // 128))](a, b, out, M, N, K, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
        return run, [out], lambda: [2 * a.double() @ b.double()]
    return make


def checks(tw):
    """All checks. It is a generator, so that a kernel file is loaded only when it is needed."""
    m = load("01_vector_add", tw)
    for n in (1, 98431, 1 << 24):
        yield Check(f"vector add {n}", vector_add(m, n), "fp32")
    m = load("02_fused_softmax", tw)
    for rows, columns, dtype in ((1, 1, "fp32"), (37, 781, "fp32"), (129, 781, "fp16"), (2048, 4096, "fp32"), (300, 12288, "fp32")):
        yield Check(f"softmax {rows}x{columns} {dtype}", softmax(m, rows, columns, dtype), dtype)
    m = load("09_layer_norm", tw)
    for rows, columns, dtype in ((3, 5, "fp32"), (129, 1000, "fp16"), (129, 1000, "bf16"), (2048, 4096, "fp16")):
        yield Check(f"layer norm {rows}x{columns} {dtype}", layer_norm(m, rows, columns, dtype), dtype)
    m = load("11_reductions", tw)
    for n in (1, 133, 1024):
        yield Check(f"causal reductions {n}", causal_reduce(m, n), "fp32")
    m = load("08_gelu_dropout", tw)
    for n, p, dtype in ((1, 0.1, "fp32"), (98431, 0.5, "fp16"), (98432, 0.1, "fp32")):
        yield Check(f"gelu + dropout {n} {dtype}", gelu_dropout(m, n, p, 1234, dtype), dtype)
    precision = {"fp32": "tf32", "fp16": "fp16", "bf16": "bf16"}
    for name, title in (("03_matmul_basic", "basic"), ("04_matmul_grouped", "grouped"), ("05_matmul_block_pointers", "block pointers")):
        m = load(name, tw)
        for M, N, K, dtype in PRODUCTS:
            yield Check(f"matmul {title} {M}x{N}x{K} {dtype}", matmul(m, M, N, K, dtype), precision[dtype])
        for transposed in ("a", "b"):
            yield Check(f"matmul {title} 192x320x136 fp16 transposed {transposed}", matmul(m, 192, 320, 136, "fp16", transposed), "fp16")
    for M, N, K, warps, stages in MATMUL_TILES:
        tile = ({"BLOCK_M": M, "BLOCK_N": N, "BLOCK_K": K, "GROUP_M": 8}, warps, stages)
        m = retune(load("06_matmul_autotuned", tw), "tuned_matmul_kernel", tw, [tile], ["M", "N", "K"])
        for *size, dtype in TILED_MATMULS:
            title = f"matmul tiles {M}x{N}x{K} {'x'.join(map(str, size))} {dtype}"
            yield Check(title, matmul(m, *size, dtype), precision[dtype], 100 if size[0] == 1024 else 3)
    yield Check("matmul autotuned 1024x1024x1024 fp16", matmul(load("06_matmul_autotuned", tw), 1024, 1024, 1024, "fp16"), "fp16", 100)
    m = load("persistent_matmul", tw)
    yield Check("matmul persistent 1024x1536x512 fp16", matmul(m, 1024, 1536, 512, "fp16"), "fp16")
    m = load("10_int8_matmul", tw)
    for M, N, K in ((1, 1, 1), (100, 70, 130), (512, 384, 1024)):
        yield Check(f"matmul int8 {M}x{N}x{K}", int8_matmul(m, M, N, K), "fp32")
    m = load("16_fp8_matmul", tw)
    for M, N, K, repeats in ((100, 70, 160, 3), (512, 384, 1024, 3), (1300, 2100, 640, 3), (2048, 2048, 2048, 100)):
        yield Check(f"matmul fp8 {M}x{N}x{K}", fp8_matmul(m, M, N, K), "fp8", repeats)
    m = load("exact", tw)
    for n, d, dtype in ((512, 64, "fp16"), (333, 64, "fp16"), (384, 128, "bf16")):
        yield Check(f"exact chained products {n}x{d} {dtype}", chained_matmuls(m, n, d, dtype), "exact", 20)
    for source in (torch.int8, torch.float32, torch.float16):
        yield Check(f"exact converted product {source}", converted_matmul(m, 256, 384, 320, source, "fp16"), "exact", 20)
    for index, (M, N, warps, stages, walks) in enumerate(ATTENTION_TILES):
        tile = ({"BLOCK_M": M, "BLOCK_N": N, "PERSISTENT": walks}, warps, stages)
        m = retune(load("07_attention", tw), "attention_kernel", tw, [tile], ["n_ctx", "HEAD_DIM", "CAUSAL"])
        for causal in (False, True):
            for Z, H, n, d, dtype in ATTENTIONS:
                if index > 0 and n in (1, 517):
                    continue
                title = f"attention tiles {M}x{N}{' walking' if walks else ''} {Z}x{H}x{n}x{d} {dtype}{' causal' if causal else ''}"
                yield Check(title, attention(m, Z, H, n, d, causal, dtype), f"attention {precision[dtype]}", 100 if n == 1024 else 3)


    import backward_rows

    for own, step, warps, stages in ((128, 64, 8, 3), (64, 64, 4, 2)):
        m = load("13_attention_backward", tw)
        for kernel in ("keys_kernel", "queries_kernel"):
            retune(m, kernel, tw, [({"OWN": own, "STEP": step}, warps, stages)], ["n_ctx", "HEAD_DIM", "CAUSAL"])
        for causal in (False, True):
            for Z, H, n, d, dtype in ((2, 3, 133, 64, "fp16"), (1, 4, 1024, 128, "fp16"), (2, 2, 517, 64, "bf16")):
                title = f"attention backward tiles {own}x{step} {Z}x{H}x{n}x{d} {dtype}{' causal' if causal else ''}"
                for deterministic, order, repeats in ((True, "", 100 if n == 1024 else 3), (False, " any order", 0)):
                    make = backward_rows.check(m, Z, H, n, d, causal, dtype, deterministic)
                    yield Check(title + order, make, f"attention backward {dtype}", repeats)


def wrong(out, want, tolerance):
    """The largest error as a multiple of the allowed one (above 1: wrong); NaN counts as wrong."""
    out, want = out.double(), want.double()
    if tolerance == 0.0 or not out.numel():
        return 0.0 if torch.equal(out, want) else float("inf")
    allowed = tolerance * (want.abs() + want.square().mean().sqrt()) + 1e-30
    ratio = ((out - want).abs() / allowed).nan_to_num(nan=float("inf"))
    return ratio.max().item()


def run_checks(tw, wanted):
    """Returns (passed, refused, failed). A refusal by the compiler is shown, and is not a failure."""
    passed = refused = failed = 0
    for check in checks(tw):
        if not wanted(check.title):
            continue
        torch.manual_seed(0)
        start = time.perf_counter()
        try:
            run, outs, reference = check.make()
            run()
            torch.cuda.synchronize()
        except Exception as problem:
            print(f"REFUSED  {check.title}: {first_line(problem)}", flush=True)
            refused += 1
            torch.cuda.synchronize()  # after a fault of the device nothing more can run, and this raises
            continue
        first_seconds = time.perf_counter() - start
        want = reference()
        error = max(wrong(out, expected, 0.0 if out.dtype == torch.int32 else check.tolerance) for out, expected in zip(outs, want))
        first = [out.clone() for out in outs]
        changed = torch.zeros((), device="cuda", dtype=torch.int64)
        for _ in range(check.repeats):
            for out in outs:
                out.zero_()
            run()
            for out, before in zip(outs, first):
                changed += (out != before).sum()
        count = changed.item()
        good = error <= 1 and not count
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok      ' if good else 'WRONG   '} {check.title}: {error:.2f} of what is allowed"
              + (f", {count} elements differ between {check.repeats} runs" if count else "") + f"  ({first_seconds:.1f} s)", flush=True)
    return passed, refused, failed
