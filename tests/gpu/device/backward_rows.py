"""Backward passes. Attention: the examples' kernels compared with cuDNN (through PyTorch) and tutorial 06; layer norm of tutorial 05.

Attention starts from cuDNN's output and logarithms, and gives the gradients of q, k and v. cuDNN's programs add to dQ in any order, as
PyTorch asks for it by default, and the examples' do so in separate rows. With a folder of upstream's tutorials their kernels are
rivals as the installed Triton compiles them, and rows of their own as this compiler does, unedited.
"""

import os
import types

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from loading import load, load_file
from numerics import DTYPES, randn

LOG2E = 1.4426950408889634


class Problem:
    """The inputs of a backward pass, and the functions that compute it."""

    def __init__(self, Z, H, n, d, causal):
        self.causal, self.head_dim = causal, d
        self.inputs = [randn(Z, H, n, d, dtype="fp16").requires_grad_() for _ in range(3)]
        self.plain = [x.detach() for x in self.inputs]
        self.grad = randn(Z, H, n, d, dtype="fp16")
        made = torch.ops.aten._scaled_dot_product_cudnn_attention(*self.plain, None, True, 0.0, causal, False)
        self.attended, self.lse = made[0].contiguous(), made[1].reshape(Z, H, n).float().contiguous()

    def example(self, module, deterministic):
        def make():
            out, scratch = [torch.empty_like(x) for x in self.plain], module.empty_scratch(self.plain[0], deterministic)
            run = lambda: module.attention_backward(*self.plain, self.attended, self.lse, self.grad, self.causal, deterministic, scratch, out)
            return run, lambda: torch.stack(out)
        return make

    def cudnn(self):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            attended = scaled_dot_product_attention(*self.inputs, is_causal=self.causal)
        run = lambda: torch.autograd.grad(attended, self.inputs, self.grad, retain_graph=True)
        return run, lambda: torch.stack(run())

    def tutorial(self, module):
        """The tutorial's backward pass, which uses the forward pass's saved tensors, with logarithms to base 2."""
        def make():
            saved = (*self.plain, self.attended, self.lse * LOG2E)
            context = types.SimpleNamespace(saved_tensors=saved, sm_scale=self.head_dim**-0.5, HEAD_DIM=self.head_dim, causal=self.causal)
            run = lambda: module._attention.backward(context, self.grad)[:3]
            return run, lambda: torch.stack(run())
        return make


def backward_rows(Row, ours, theirs, tutorials=None):
    example = load("13_attention_backward", ours)
    path = tutorials and os.path.join(tutorials, "06-fused-attention.py")
    modules = {triton: load_file(path, triton) for triton in (ours, theirs)} if path else {}
    for d in (64, 128):
        for causal in (False, True):
            for n in (1024, 4096, 8192):
                problem = Problem(4, 16, n, d, causal)
                rivals = {"cudnn": problem.cudnn}
                if modules:
                    rivals["triton"] = problem.tutorial(modules[theirs])
                flops = 10.0 * 4 * 16 * n * n * d * (0.5 if causal else 1)
                size = f"4x16x{n}x{d}" + (" causal" if causal else "")
                for name, deterministic in (("attention backward", True), ("attention backward, any order", False)):
                    yield Row(name, size, "fp16", "TFLOP/s", flops, problem.example(example, deterministic), rivals, 4e-3)
                if modules:
                    yield Row("attention backward, tutorial", size, "fp16", "TFLOP/s", flops, problem.tutorial(modules[ours]), rivals, 4e-3)


def tutorial_norm_rows(Row, ours, theirs, tutorials):
    """Rows for layer norm backward of upstream's unedited tutorial, with the tensors that it allocates and clears in each call."""
    path = tutorials and os.path.join(tutorials, "05-layer-norm.py")
    modules = {triton: load_file(path, triton) for triton in (ours, theirs)} if path else {}
    for n in (1024, 4096, 8192) if modules else ():
        rows = 4096
        x, grad = -2.3 + 0.5 * randn(rows, n, dtype="fp16"), 0.1 * randn(rows, n, dtype="fp16")
        weight, bias = torch.rand(n, device="cuda").half(), torch.rand(n, device="cuda").half()
        _, mean, rstd = torch.ops.aten.native_layer_norm(x, [n], weight, bias, 1e-5)

        def tutorial(module, x=x, grad=grad, weight=weight, bias=bias, mean=mean, rstd=rstd, n=n):
            def make():
                saved = (x, weight, bias, mean.view(-1), rstd.view(-1))
                context = types.SimpleNamespace(saved_tensors=saved, eps=1e-5, BLOCK_SIZE=n, num_warps=min(max(n // 256, 1), 8))
                run = lambda: module.LayerNorm.backward(context, grad)
                return run, lambda: run()[0]
            return make

        def library(x=x, grad=grad, weight=weight, bias=bias, mean=mean, rstd=rstd, n=n):
            run = lambda: torch.ops.aten.native_layer_norm_backward(grad, x, [n], mean, rstd, weight, bias, [True, True, True])
            return run, lambda: run()[0]
        rivals = {"triton": tutorial(modules[theirs]), "torch": library}
        moved = 3 * x.numel() * x.element_size()
        yield Row("layer norm backward, tutorial", f"{rows}x{n}", "fp16", "GB/s", moved, tutorial(modules[ours]), rivals, 1e-2)


def check(module, Z, H, n, d, causal, dtype, deterministic):
    """A check for numerics.py: a launch, the tensors that it writes, and their references in float64."""
    def make():
        q, k, v, grad = (randn(Z, H, n, d, dtype=dtype) for _ in range(4))
        wide = [x.double().requires_grad_() for x in (q, k, v)]
        scores = wide[0] @ wide[1].mT / d**0.5
        if causal:
            scores = scores.masked_fill(torch.ones(n, n, device="cuda", dtype=torch.bool).triu(1), float("-inf"))
        attended, lse = torch.softmax(scores, -1) @ wide[2], torch.logsumexp(scores, -1)
        made, lse = attended.detach().to(DTYPES[dtype]), lse.detach().float().contiguous()
        out, scratch = [torch.full_like(x, float("nan")) for x in (q, k, v)], module.empty_scratch(q, deterministic)
        run = lambda: module.attention_backward(q, k, v, made, lse, grad, causal, deterministic, scratch, out)
        return run, out, lambda: list(torch.autograd.grad(attended, wide, grad.double(), retain_graph=True))
    return make
