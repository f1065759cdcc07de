"""Rows for the kernels of model_kernels.py, compared with Triton on the same source."""

import torch

from loading import load
from numerics import randn, unwritten
from times import Row


def model_rows(ours, theirs):
    modules = {triton: load("model_kernels", triton) for triton in (ours, theirs)}

    def both(make):
        """(function that makes our call, one that makes Triton's): `make` takes a module, and returns a function and its output."""
        return (lambda: make(modules[ours])), {"triton": lambda: make(modules[theirs])}

    def with_torch(pair, function):
        mine, rivals = pair
        return mine, rivals | {"torch": lambda: (function, function)}

    batches, length, heads, size = 8, 4096, 16, 128
    x = randn(batches, length, heads, size, dtype="bf16")
    angle = torch.arange(length, device="cuda")[:, None] * 10000.0 ** (-torch.arange(size // 2, device="cuda") / (size // 2))
    cos, sin = (part.to(x.dtype).contiguous() for part in (angle.cos(), angle.sin()))

    def rotary(m):
        out = torch.empty_like(x)
        return lambda: m.rotary(x, cos, sin, out), lambda: out

    def torch_rotary():
        x0, x1 = x[..., 0::2].float(), x[..., 1::2].float()
        c, s = cos[None, :, None].float(), sin[None, :, None].float()
        return torch.stack((x0 * c - x1 * s, x0 * s + x1 * c), -1).flatten(-2).to(x.dtype)
    mine, rivals = with_torch(both(rotary), torch_rotary)
    yield Row("rotary interleaved", f"{batches}x{length}x{heads}x{size}", "bf16", "GB/s", 4 * x.numel(), mine, rivals, 1e-2)

    for rows, columns in ((16384, 11008), (8192, 4096)):
        gate, up = randn(rows, columns, dtype="bf16"), randn(rows, columns, dtype="bf16")

        def swiglu(m, gate=gate, up=up):
            out = torch.empty_like(gate)
            return lambda: m.swiglu(gate, up, out), lambda: out
        mine, rivals = with_torch(both(swiglu), lambda gate=gate, up=up: torch.nn.functional.silu(gate) * up)
        yield Row("swiglu", f"{rows}x{columns}", "bf16", "GB/s", 6 * rows * columns, mine, rivals, 1e-2)
        del gate, up

    for rows, columns in ((4096, 128256), (8192, 32000)):
        logits, target = randn(rows, columns, dtype="bf16"), torch.randint(0, columns, (rows,), device="cuda")

        def cross_entropy(m, logits=logits, target=target):
            own, loss = logits.clone(), unwritten(len(logits))
            m.cross_entropy(own, target, loss)
            losses = loss.clone()  # the measured calls use the logits as the first call has left them
            return lambda: m.cross_entropy(own, target, loss), lambda: losses

        def torch_loss(logits=logits, target=target):
            return torch.nn.functional.cross_entropy(logits.float(), target, reduction="none") / len(logits)
        mine, rivals = with_torch(both(cross_entropy), torch_loss)
        yield Row("cross entropy", f"{rows}x{columns}", "bf16", "GB/s", 6 * rows * columns, mine, rivals, 1e-4)
        del logits

    for name, rows, columns in (("layer norm backward", 16384, 4096), ("layer norm backward", 4096, 1024),
                                ("layer norm backward locked", 4096, 1024), ("layer norm backward locked", 4096, 4096),
                                ("layer norm backward locked", 4096, 8192)):
        x, dy, w = (randn(*shape, dtype="fp16") for shape in ((rows, columns), (rows, columns), (columns,)))
        mean, rstd = x.float().mean(1), x.float().var(1, correction=0).add(1e-5).rsqrt()

        def backward(m, name=name, x=x, dy=dy, w=w, mean=mean, rstd=rstd):
            dx, columns = torch.empty_like(x), len(w)
            if "locked" in name:
                groups = 256 if columns <= 1024 else 128 if columns <= 4096 else 96
                dw, db = (torch.empty(groups, columns, device="cuda", dtype=x.dtype) for _ in range(2))
                locks = torch.zeros(2 * groups, device="cuda", dtype=torch.int32)
                return lambda: m.norm_backward_locked(x, w, mean, rstd, dy, dx, dw, db, locks), lambda: dx
            programs = 2 * torch.cuda.get_device_properties(0).multi_processor_count * (2 if columns <= 1024 else 1)
            dw, db = (unwritten(programs, columns) for _ in range(2))
            return lambda: m.norm_backward(x, w, mean, rstd, dy, dx, dw, db), lambda: dx

        def torch_backward(x=x, dy=dy, w=w, mean=mean, rstd=rstd):
            return torch.ops.aten.native_layer_norm_backward(dy, x, [len(w)], mean[:, None], rstd[:, None], w, w, [True, True, True])[0]
        mine, rivals = with_torch(both(backward), torch_backward)
        yield Row(name, f"{rows}x{columns}", "fp16", "GB/s", 6 * rows * columns, mine, rivals, 5e-3)

    n = k = 8192
    w = randn(n, k, dtype="fp16")
    for m_size in (1, 16, 64, 128):
        x = randn(m_size, k, dtype="fp16")
        for block_n, block_k, stages in ((64, 128, 4), (32, 256, 4)):
            def skinny(m, x=x, block_n=block_n, block_k=block_k, stages=stages):
                out = torch.empty(len(x), n, device="cuda", dtype=x.dtype)
                return lambda: m.skinny(x, w, out, block_n, block_k, 4, stages), lambda: out
            mine, rivals = both(skinny)
            rivals["cublas"] = lambda x=x: (lambda: x @ w.T, lambda: x @ w.T)
            yield Row("skinny matmul", f"{m_size}x{k}x{n} by {block_n}x{block_k}", "fp16", "GB/s", 2 * n * k, mine, rivals, 2e-3)
