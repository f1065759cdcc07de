"""Awkward sizes: products, rows and attention at sizes that no block divides, and products with awkward strides.

They show the cost of one, two, four or eight elements more than a block, in each dimension alone and in all. The rows have the form of those of
times.py: a row's ratio is to Triton; `worst` lists the rows for which a rival, Triton or the library, is faster, and by how much.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import layer_norm, scaled_dot_product_attention

from loading import load, retune
from numerics import randn, unwritten

SQUARES = (1000, 1023, 1025, 4095, 4097, 4100, 4104)
# One dimension at a time: M (the number of rows of A and C), N (their length in B and C), K (the length of A's rows, and the number of B's).
ODD_IN_ONE = [size for odd, even in ((1000, 1024), (1025, 1024), (4095, 4096), (4100, 4096))
              for size in ((odd, even, even), (even, odd, even), (even, even, odd))]
PADS = (1, 2, 4, 8, 16)  # padding elements after each row of matmuls of 4096
COLUMNS = (1000, 1025, 5003, 50257)
CONTEXTS = (1000, 4097)


def padded(rows, columns, pad):
    """A random matrix whose rows are `pad` elements longer in memory."""
    return randn(rows, columns + pad, dtype="fp16")[:, :columns]


def size_rows(Row, ours, theirs, tiles, blocks):
    """The rows. `tiles` and `blocks` are Triton's configurations to tune over: for products, and for attention."""
    yield from matmul_rows(Row, ours, theirs, tiles)
    yield from norm_rows(Row, ours, theirs)
    yield from attention_rows(Row, ours, theirs, blocks)


def matmul_rows(Row, ours, theirs, tiles):
    modules = {triton: load("06_matmul_autotuned", triton) for triton in (ours, theirs)}
    retune(modules[theirs], "tuned_matmul_kernel", theirs, tiles, ["M", "N", "K", "stride_am", "stride_bk"])
    cases = [(size, size, size, 0) for size in SQUARES] + [(4096, 4096, 4096, pad) for pad in PADS] + [(*size, 0) for size in ODD_IN_ONE]
    for M, N, K, pad in cases:
        a, b = padded(M, K, pad), padded(K, N, pad)

        def product(m, a=a, b=b, pad=pad):
            def make():
                out = padded(len(a), b.shape[1], pad)
                return lambda: m.matmul(a, b, out=out), lambda: out
            return make

        def cublas(a=a, b=b, pad=pad):
            out = padded(len(a), b.shape[1], pad)
            return lambda: torch.matmul(a, b, out=out), lambda: out
        size = f"{M}x{K}x{N}" + (f", rows {4096 + pad} apart" if pad else "")
        rivals = {"triton": product(modules[theirs]), "cublas": cublas}
        yield Row("sizes: matmul", size, "fp16", "TFLOP/s", 2.0 * M * N * K, product(modules[ours]), rivals, 1e-3)


def norm_rows(Row, ours, theirs):
    softmax = {triton: load("02_fused_softmax", triton) for triton in (ours, theirs)}
    backward = {triton: load("model_kernels", triton) for triton in (ours, theirs)}
    norm = {triton: load("09_layer_norm", triton) for triton in (ours, theirs)}
    for columns in COLUMNS:
        rows = (1 << 26) // columns
        x, h = randn(rows, columns), randn(rows, columns, dtype="fp16")
        w, b = randn(columns, dtype="fp16"), randn(columns, dtype="fp16")

        def softmaxes(m, x=x):
            def make():
                out = torch.empty_like(x)
                return lambda: m.softmax(x, out=out), lambda: out
            return make

        def norms(m, h=h, w=w, b=b):
            def make():
                out = torch.empty_like(h), unwritten(len(h)), unwritten(len(h))
                return lambda: m.layer_norm(h, w, b, out=out), lambda: out[0]
            return make

        def torch_softmax(x=x):
            return lambda: torch.softmax(x, -1), lambda: torch.softmax(x, -1)

        def torch_norm(h=h, w=w, b=b):
            function = lambda: layer_norm(h, h.shape[1:], w, b, 1e-5)
            return function, function
        for name, tensor, functions, library, dtype, tolerance in (
                ("softmax", x, softmaxes, torch_softmax, "fp32", 1e-5), ("layer norm", h, norms, torch_norm, "fp16", 2e-3)):
            work = 2 * tensor.numel() * tensor.element_size()
            rivals = {"triton": functions({"softmax": softmax, "layer norm": norm}[name][theirs]), "torch": library}
            mine = functions({"softmax": softmax, "layer norm": norm}[name][ours])
            yield Row(f"sizes: {name}", f"{rows}x{columns}", dtype, "GB/s", work, mine, rivals, tolerance)
        del x
        grad = randn(rows, columns, dtype="fp16")
        mean, rstd = h.float().mean(1), h.float().var(1, correction=0).add(1e-5).rsqrt()

        def gradients(m, h=h, grad=grad, w=w, mean=mean, rstd=rstd):
            def make():
                programs = torch.cuda.get_device_properties(0).multi_processor_count * (4 if len(w) <= 2048 else 2)
                dx, dw, db = torch.empty_like(h), unwritten(programs, len(w)), unwritten(programs, len(w))
                return lambda: m.norm_backward(h, w, mean, rstd, grad, dx, dw, db), lambda: dx
            return make

        def torch_gradients(h=h, grad=grad, w=w, mean=mean, rstd=rstd):
            run = lambda: torch.ops.aten.native_layer_norm_backward(
                grad, h, [len(w)], mean[:, None], rstd[:, None], w, w, [True, True, True])[0]
            return run, run
        rivals = {"triton": gradients(backward[theirs]), "torch": torch_gradients}
        yield Row("sizes: layer norm backward", f"{rows}x{columns}", "fp16", "GB/s", 6 * h.numel(), gradients(backward[ours]), rivals, 5e-3)


def attention_rows(Row, ours, theirs, blocks):
    modules = {ours: load("07_attention", ours)}
    modules[theirs] = retune(load("07_attention", theirs), "attention_kernel", theirs, blocks, ["n_ctx", "HEAD_DIM", "CAUSAL"])
    for n in CONTEXTS:
        for d in (64, 128):
            for causal in (False, True):
                tensors = [randn(4, 32, n, d, dtype="fp16") for _ in range(3)]

                def example(m, tensors=tensors, causal=causal):
                    def make():
                        out = torch.empty_like(tensors[0])
                        return lambda: m.attention(*tensors, causal, out=out), lambda: out
                    return make

                def cudnn(tensors=tensors, causal=causal):
                    def function():
                        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
                            return scaled_dot_product_attention(*tensors, is_causal=causal)
                    return function, function
                flops = 4.0 * 4 * 32 * n * n * d * (0.5 if causal else 1)
                size = f"4x32x{n}x{d}" + (" causal" if causal else "")
                rivals = {"triton": example(modules[theirs]), "cudnn": cudnn}
                yield Row("sizes: attention", size, "fp16", "TFLOP/s", flops, example(modules[ours]), rivals, 4e-3)


def worst(rows, limit):
    """(ratio, title, the rival's name) of finished rows below `limit` of the better rival's speed, the worst first."""
    found = []
    for row in rows:
        if not row.get("rivals"):
            continue
        name, best = max(row["rivals"].items(), key=lambda rival: rival[1])
        share = (row["ours"] or 0) / best
        if share < limit:
            found.append((round(share, 3), f"{row['name']} {row['size']} {row['dtype']}", name))
    return sorted(found)
