"""Rows of products with scales (microscaling formats, fp8), of split K and of groups. Besides Triton's, the fp16 product of the same
size by cuBLAS is a rival: smaller formats are compared with it if a chip has no products of them."""

import torch

from loading import load
from numerics import randn

E4M3 = torch.float8_e4m3fn


def e2m1(pairs):
    values = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6], device="cuda")
    values = torch.cat([values, -values])
    return torch.stack([values[(pairs & 15).long()], values[(pairs >> 4).long()]], -1).flatten(1)


def operand(kind, n):
    """(numbers of a format as kernels take them, the same numbers as fp32)."""
    if kind == "bf16":
        made = randn(n, n, dtype="bf16")
        return made, made.float()
    if kind == "e2m1":
        made = torch.randint(0, 256, (n, n // 2), device="cuda", dtype=torch.uint8)
        return made, e2m1(made)
    made = randn(n, n).to(E4M3)
    return made.view(torch.uint8), made.float()


def scales(n, group):
    if group == 16:
        made = (torch.rand(n, n // group, device="cuda") + 0.5).to(E4M3)
        return made, made.float()
    made = torch.randint(124, 130, (n, n // group), device="cuda", dtype=torch.uint8)
    return made, 2.0 ** (made.float() - 127)


def scaled_rows(Row, ours, theirs):
    """Rows of scaled matmuls. Triton 3.6 crashes the process on nvfp4 on Hopper: such rows have no Triton time."""
    modules = {triton: load("scaled_matmuls", triton) for triton in (ours, theirs)}
    half = {}
    for title, first, second, scale_first, group in (
            ("mxfp8 x mxfp8", "e4m3", "e4m3", True, 32), ("bf16 x mxfp4", "bf16", "e2m1", False, 32),
            ("mxfp8 x mxfp4", "e4m3", "e2m1", True, 32), ("nvfp4 x nvfp4", "e2m1", "e2m1", True, 16)):
        for n in (4096, 8192):
            a, b = operand(first, n), operand(second, n)
            a_scale, b_scale = scales(n, group), scales(n, group)

            def product(triton, a=a[0], b=b[0], a_scale=a_scale[0] if scale_first else None, b_scale=b_scale[0], kinds=(first, second),
                        group=group, n=n):
                def make():
                    out = torch.empty(n, n, device="cuda", dtype=torch.bfloat16)
                    return lambda: modules[triton].product(a, a_scale, kinds[0], b, b_scale, kinds[1], group, out), lambda: out
                return make

            def torch_matmul(a=a[1], b=b[1], a_scale=a_scale[1] if scale_first else None, b_scale=b_scale[1], group=group):
                """The product of the numbers in bf16, as if they had been unpacked to memory."""
                left = (a if a_scale is None else a * a_scale.repeat_interleave(group, 1)).bfloat16()
                right, out = (b * b_scale.repeat_interleave(group, 1)).bfloat16(), torch.empty_like(left)
                return lambda: torch.matmul(left, right.T, out=out), lambda: out

            def cublas(n=n):
                if n not in half:
                    half[n] = randn(n, n, dtype="fp16"), randn(n, n, dtype="fp16")
                x, y = half[n]
                return lambda: torch.matmul(x, y), lambda: None
            rivals = {"torch": torch_matmul, "cublas fp16": cublas}
            if group == 32:
                rivals["triton"] = product(theirs)
            yield Row("dot_scaled", f"{title} {n}", "bf16", "TFLOP/s", 2.0 * n**3, product(ours), rivals, 8e-3)


def example_rows(Row, ours, theirs):
    def both(name):
        return {triton: load(name, triton) for triton in (ours, theirs)}

    fp8, split, grouped = both("16_fp8_matmul"), both("14_split_k_matmul"), both("15_grouped_matmul")
    one = torch.ones((), device="cuda")
    for n in (1024, 4096, 8192):
        a, b = randn(n, n).to(E4M3), randn(n, n).to(E4M3)
        ones = torch.ones(n, device="cuda")

        def product(triton, a=a, b=b, ones=ones, n=n):
            def make():
                out = torch.empty(n, n, device="cuda", dtype=torch.bfloat16)
                columns = None if triton is ours else 128  # Triton spills registers with more columns
                run = lambda: fp8[triton].fp8_matmul(a.view(torch.uint8), b.view(torch.uint8), ones, ones, out=out, columns=columns)
                return run, lambda: out
            return make

        def cublas(a=a, b=b):
            function = lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=False)
            return function, function
        yield Row("matmul fp8 with scales", f"{n}x{n}x{n}", "fp8", "TFLOP/s", 2.0 * n**3, product(ours),
                  {"triton": product(theirs), "cublas": cublas}, 8e-3)
    n = 8192
    weights = randn(n, n, dtype="fp16")
    for rows in (1, 16, 64):
        x = randn(rows, n, dtype="fp16")

        def product(triton, x=x):
            def make():
                m, out = split[triton], torch.empty_like(x)
                sums = None if triton is ours else torch.empty(m.parts_of(len(x), n, n), len(x), n, device="cuda")  # our kernel adds up in clusters
                return lambda: m.split_k_matmul(x, weights, out=out, sums=sums), lambda: out
            return make
        yield Row("matmul split K", f"{rows}x{n}x{n}", "fp16", "GB/s", 2.0 * n * n, product(ours),
                  {"triton": product(theirs), "cublas": lambda x=x: (lambda: x @ weights, lambda: x @ weights)}, 2e-3)
    sizes = [300, 0, 1000, 64, 513, 2000, 129, 90]
    x, w = randn(sum(sizes), 4096, dtype="fp16"), randn(len(sizes), 4096, 4096, dtype="fp16")

    def product(triton):
        def make():
            m, out = grouped[triton], torch.empty_like(x)
            table = torch.from_numpy(m.table_of(sizes)).cuda()
            return lambda: m.grouped_matmul(x, w, sizes, out=out, table=table), lambda: out
        return make

    def torch_groups():
        parts = list(zip(torch.split(x, sizes), w))
        function = lambda: torch.cat([rows @ matrix for rows, matrix in parts])
        return function, function
    yield Row("matmul grouped", f"{len(sizes)} groups {sum(sizes)}x4096x4096", "fp16", "TFLOP/s", 2.0 * sum(sizes) * 4096**2, product(ours),
              {"triton": product(theirs), "torch": torch_groups}, 2e-3)
