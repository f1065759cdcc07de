"""Rows of bench.py whose rival is PyTorch: matmuls of narrow types (its oneDNN), attention forward and backward.

Each of ours and of PyTorch's results is compared before anything is timed. PyTorch's tensors go to the kernels as they are.
"""

import math

import tilewright as triton
from measure import require_close

HEADS = {1024: 8, 4096: 2}
INT8_BLOCKS = [(256, 256, 256), (128, 256, 256), (64, 256, 256), (64, 64, 64), (128, 128, 256), (128, 512, 512), (256, 512, 512), (512, 512, 256)]


def compared(bench, name, size, dtype, threads, operations, ours, theirs, reach, win):
    """One row: GFLOP/s of both."""
    taken = bench.times(ours=ours, torch=theirs)
    speed = {each: 1e-9 * operations / value for each, value in taken.items()}
    bench.report.row(name, size, dtype, threads, "GFLOP/s", speed["ours"], {"torch": speed["torch"]}, "torch", reach, win)


def low_precision_gemm(bench):
    if bench.torch is None:
        return print("low-precision matmul against oneDNN: PyTorch is not installed")
    torch = bench.torch
    int8 = bench.example("10").int8_matmul_kernel
    configs = [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}) for m, n, k in INT8_BLOCKS]
    tuned = {threads: triton.autotune(configs=configs, key=["M", "N", "K"])(int8) for threads in bench.threads}
    for size in (256, 512, 1024, 2048):
        a, b, c = (torch.randn(size, size).bfloat16() for _ in range(3))
        left, right = (torch.randint(-128, 128, (size, size), dtype=torch.int8) for _ in range(2))
        exact = torch.empty(size, size, dtype=torch.int32)
        grid = lambda meta: (triton.cdiv(size, meta["BLOCK_M"]), triton.cdiv(size, meta["BLOCK_N"]))
        sizes = size, size, size, *(size, 1) * 3
        for threads in bench.threads:
            torch.set_num_threads(threads)
            bf16 = bench.tuned(a, b, c, threads)
            bf16()
            require_close(c.float(), a.float() @ b.float(), f"product bf16 {size}", 2e-2)
            compared(bench, "product bf16", size, "bf16", threads, 2 * size**3, bf16, lambda: torch.mm(a, b), 0.9, 1.0)
            bytes_ = lambda: tuned[threads][grid](left, right, None, None, exact, None, *sizes, num_threads=threads)  # as PyTorch's: no scales
            bytes_()
            if not torch.equal(exact.double(), left.double() @ right.double()):  # oneDNN without VNNI saturates, and is not exact
                raise AssertionError("product int8: wrong result; nothing is timed")
            compared(bench, "product int8", size, "int8", threads, 2 * size**3, bytes_, lambda: torch._int_mm(left, right), 0.9, 1.0)


def shapes():
    """Heads of 64 and 128 columns, a thousand and four thousand rows, with and without a mask, in both types."""
    for dtype in ("float32", "bfloat16"):
        for columns in (64, 128):
            for rows, heads in HEADS.items():
                for causal in (False, True):
                    yield dtype, (1, heads, rows, columns), causal


def named(name, dtype, causal):
    return name + (" causal" if causal else ""), {"float32": "fp32", "bfloat16": "bf16"}[dtype]


def forward(bench):
    if bench.torch is None:
        return print("attention forward: PyTorch is not installed")
    torch, module = bench.torch, bench.example("07")
    torch.set_num_threads(bench.max_threads)
    for dtype, shape, causal in shapes():
        q, k, v = (torch.randn(shape).to(getattr(torch, dtype)) for _ in range(3))
        out = torch.empty_like(q)
        strides = [step for tensor in (q, k, v, out) for step in tensor.stride()]
        grid = lambda meta: (triton.cdiv(shape[2], meta["BLOCK_M"]), shape[1])
        ours = lambda: module.attention_kernel[grid](
            q, k, v, out, 1 / math.sqrt(shape[3]), *shape[:3], *strides, HEAD_DIM=shape[3], CAUSAL=causal, num_threads=bench.max_threads)
        theirs = lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        name, short = named("attention", dtype, causal)
        ours()
        require_close(out.float(), theirs().float(), name, 1e-4 if short == "fp32" else 2e-2)
        compared(bench, name, "x".join(map(str, shape[1:])), short, bench.max_threads, module.flops(*shape, causal), ours, theirs, 1.0, 2.0)


def backward(bench):
    if bench.torch is None:
        return print("attention backward: PyTorch is not installed")
    torch, module = bench.torch, bench.example("13")
    triton._core.set_default_threads(bench.max_threads)
    torch.set_num_threads(bench.max_threads)
    for dtype, shape, causal in shapes():
        q, k, v = (torch.randn(shape).to(getattr(torch, dtype)).requires_grad_() for _ in range(3))
        grad = torch.randn(shape).to(q.dtype)
        attended = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
        with torch.no_grad():
            scores = q.float() @ k.float().transpose(-1, -2) / math.sqrt(shape[3])
            if causal:
                scores.masked_fill_(torch.ones(shape[2], shape[2], dtype=torch.bool).triu(1), -math.inf)
            lse = torch.logsumexp(scores, -1)
            del scores
        theirs = lambda: torch.autograd.grad(attended, (q, k, v), grad, retain_graph=True)
        expected = theirs()
        given = [tensor.detach() for tensor in (q, k, v, attended)]
        scratch, out = module.empty_scratch(given[0]), [torch.empty_like(given[0]) for _ in range(3)]
        ours = lambda: module.attention_backward(*given, lse, grad, causal, scratch=scratch, out=out)
        name, short = named("attention backward", dtype, causal)
        ours()
        for mine, other in zip(out, expected):
            require_close(mine.float(), other.float(), name, 1e-4 if short == "fp32" else 3e-2)
        compared(bench, name, "x".join(map(str, shape[1:])), short, bench.max_threads, module.flops(*shape, causal), ours, theirs, 1.0, 2.0)
