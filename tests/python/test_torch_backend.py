"""torch.compile(model, backend="tilewright"), as PyTorch finds it by the package's metadata: without a launcher, and without an import of Tilewright."""

import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import tilewright

pytest.importorskip("torch")
PACKAGE = pathlib.Path(tilewright.__file__).absolute().parents[1]


def run(tmp_path, text, env={}):
    (tmp_path / "program.py").write_text(textwrap.dedent(text))
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=900,
                          env={**os.environ, "PYTHONPATH": str(PACKAGE), "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), **env})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


MODELS = """
    import torch
    from torch import nn
    torch.manual_seed(0)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(32), nn.Linear(32, 96), nn.Linear(32, 32)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).view(2, -1, 3, 4, 8).permute(2, 0, 3, 1, 4)
            return x + self.out(nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape))

    mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 8))
    conv = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
    lstm = nn.LSTM(8, 16, batch_first=True)

    def agrees(model, *inputs, **how):
        compiled = torch.compile(model, backend="tilewright", **how)
        results = []
        for run in (compiled, model):
            model.zero_grad()
            out = run(*inputs)
            out = out[0] if isinstance(out, tuple) else out
            out.square().sum().backward()
            results.append([out, *(p.grad.clone() for p in model.parameters())])
        for mine, theirs in zip(*results):
            torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)
        return compiled
"""


def test_models_and_their_gradients(tmp_path):
    out = run(tmp_path, MODELS + """
    agrees(mlp, torch.randn(16, 32))
    agrees(Attention(), torch.randn(2, 7, 32))
    agrees(conv, torch.randn(2, 3, 13, 13))
    agrees(lstm, torch.randn(2, 5, 8))
    sized = agrees(mlp, torch.randn(5, 32), dynamic=True)
    for rows in (3, 40):
        x = torch.randn(rows, 32)
        torch.testing.assert_close(sized(x), mlp(x))
    from torch._inductor.utils import run_and_get_code
    result, (code, *_) = run_and_get_code(torch.compile(lambda x: x.sin() + 1, backend="tilewright"), torch.ones(100))
    import triton
    print(triton.__name__, "async_compile.triton" in code, "async_compile.cpp" in code)
    """)
    assert out.split() == ["tilewright", "True", "False"]


def test_modes_and_options(tmp_path):
    run(tmp_path, MODELS + """
    x = torch.randn(16, 32)
    tuned = torch.compile(lambda x: torch.softmax(x, 1) + 1, backend="tilewright", mode="max-autotune")
    torch.testing.assert_close(tuned(x), torch.softmax(x, 1) + 1)
    from torch._inductor.utils import run_and_get_code
    function = torch.compile(lambda x: x.sin() + 1, backend="tilewright", options={"cpu_backend": "cpp"})
    result, (code, *_) = run_and_get_code(function, torch.ones(100))
    assert "async_compile.cpp" in code and "async_compile.triton" not in code
    """)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_blocks_of_reductions(tmp_path, workers):
    """Where the kernels are compiled by other processes, too."""
    out = run(tmp_path, """
    import gc
    import torch

    def blocks(function, x):
        torch._dynamo.reset()
        gc.collect()
        compiled = torch.compile(function, backend="tilewright")
        torch.testing.assert_close(compiled(x), function(x), rtol=1e-4, atol=1e-4)  # sums in another order
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner
        kernels = [k for k in gc.get_objects() if type(k) is CachingAutotuner]
        return {(c.kwargs["XBLOCK"], c.kwargs["R0_BLOCK"]) for k in kernels for c in k.configs or [k.launchers[0].config] if "R0_BLOCK" in c.kwargs}

    if __name__ == "__main__":
        images, variance = torch.randn(4, 16, 33, 33), lambda x: x.var((0, 2, 3))
        print((64, 1) in blocks(variance, images.to(memory_format=torch.channels_last)), (8, 128) in blocks(variance, images))
    """, {"TORCHINDUCTOR_COMPILE_THREADS": workers})
    assert out.split() == ["True", "True"]


def test_who_watches_sees_launches(tmp_path):
    """A profiler that begins after the first launches, and hooks."""
    out = run(tmp_path, """
    import torch
    from torch.profiler import profile, ProfilerActivity
    function = torch.compile(lambda x: x.sin() + 1, backend="tilewright")
    x = torch.ones(100)
    for _ in range(3):
        function(x)
    with profile(activities=[ProfilerActivity.CPU]) as watched:
        function(x)
    print(any(event.key.startswith("triton_") for event in watched.key_averages()))
    torch.testing.assert_close(function(x), x.sin() + 1)
    """)
    assert out.strip() == "True"


def test_after_another_triton(tmp_path):
    """What Inductor has compiled without Tilewright cannot be compiled again: the message says what to do."""
    out = run(tmp_path, """
    import sys
    import torch, torch._dynamo
    import torch._inductor.runtime.triton_heuristics
    try:
        torch.compile(lambda x: x + 1, backend="tilewright")(torch.ones(3))
    except Exception as error:
        print("Inductor has been used with another Triton" in str(error), torch.ones(3).sum().item())
    """)
    assert out.split() == ["True", "3.0"]
