"""Compiles each kernel that a test launches for a GPU, to a cubin if ptxas is there."""

import functools
import shutil

import tilewright


def assemble(monkeypatch, target):
    """From now on, each launch also compiles its kernel for the target, to a cubin if there is ptxas."""

    def launch(kernel, grid, *args, **kwargs):
        if grid is not None:
            with tilewright.engine("cpu"):
                made = tilewright._core.Kernel.launch(kernel, None, *args, **{**kwargs, "arch": target.removeprefix("cuda:")})
            assert made.asm["cubin" if shutil.which("ptxas") else "ptx"]
        return tilewright._core.Kernel.launch(kernel, grid, *args, **kwargs)

    monkeypatch.setattr(tilewright.JITFunction, "launch", launch, raising=False)
    monkeypatch.setattr(tilewright.JITFunction, "__getitem__", lambda kernel, grid: functools.partial(kernel.run, grid=grid, warmup=False),
                        raising=False)
