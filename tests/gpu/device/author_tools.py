#!/usr/bin/env python3
"""Tests the tools for kernel authors on the GPU: verify, bench, autotune with a list, with "auto" and by several processes at once, profile.

    python tests/gpu/device/author_tools.py -o results.jsonl [STEP ...]

Each step writes a line of JSON. verify compares the examples' wrappers on PyTorch tensors with their references in NumPy.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback

TREE = pathlib.Path(__file__).resolve().parents[3]
STEPS = {}
DEVICE = "cuda"

EXAMPLE = """
import importlib, sys
import numpy as np
import torch
sys.path.insert(0, {folder!r})
example = importlib.import_module({name!r})

def on_gpu(value):
    return torch.as_tensor(value).to("DEVICE") if isinstance(value, (np.ndarray, np.generic)) else value

def on_host(value):
    return value.cpu().numpy() if isinstance(value, torch.Tensor) else value

def get_inputs():
    return [on_gpu(value) for value in example.get_inputs()]

kernel_fn = example.kernel_fn

def reference_fn(*inputs):
    results = example.reference_fn(*(on_host(value) for value in inputs))
    return [on_gpu(result) for result in results] if isinstance(results, (tuple, list)) else on_gpu(results)
"""
ADD = """
import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask) + tl.load(y_ptr + at, mask=mask), mask=mask)

def kernel_fn(x, y):
    x, y = x.contiguous(), y.contiguous()
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out

def reference_fn(x, y):
    return x + y

def get_inputs():
    return [torch.randn(1 << 23, device="DEVICE") for _ in range(2)]
"""
PRODUCT = """
import sys
import torch
sys.path.insert(0, {folder!r})
from importlib import import_module
example = import_module("06_matmul_autotuned")
kernel_fn = example.kernel_fn

def reference_fn(a, b):
    return a @ b

def get_inputs():
    return [torch.randn({size}, {size}, device="DEVICE", dtype=torch.float16) for _ in range(2)]
"""
TUNED = """
import json, os, sys, time
import torch
import triton
import triton.language as tl

@triton.autotune(configs={configs}, key=["n"])
@triton.jit
def add_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)

x = torch.randn({size}, device="DEVICE")
out = torch.empty_like(x)
torch.ones(1, device="DEVICE").item()
start = time.time()
add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
torch.ones(1, device="DEVICE").item()
print(json.dumps({{"seconds": time.time() - start, "right": bool((out == 2 * x).all()), "best": str(add_kernel.best_config),
                   "measured": len(add_kernel.configs_timings), "us": 1e3 * triton.testing.do_bench(
                       lambda: add_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel()))}}), flush=True)
"""
LIST = "[triton.Config({'BLOCK': 1 << power}, num_warps=warps) for power in range(8, 13) for warps in (4, 8)]"


def step(function):
    STEPS[function.__name__] = function
    return function


def start(*words, **env):
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **env})


def finish(process, seconds=150):
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    return {"status": process.returncode, "out": out[-6000:], "err": err[-1500:]}


def write(folder, name, text):
    path = pathlib.Path(folder) / name
    path.write_text(textwrap.dedent(text).replace("DEVICE", DEVICE))
    return str(path)


@step
def verify_examples(folder):
    """Verifies every example, with its own inputs and their variants, on the GPU."""
    from tilewright import verify
    for example in sorted((TREE / "examples").glob("[01]*.py")):
        began = time.time()
        try:
            report = verify.verify(write(folder, f"on_gpu_{example.stem}.py", EXAMPLE.format(folder=str(example.parent), name=example.stem)))
            wrong = [[result.variant, result.outcome, result.details[:300]] for result in report.results if result.outcome != "right"]
            yield {"example": example.stem, "correct": report.correct, "variants": len(report.results), "others": wrong,
                   "seconds": time.time() - began}
        except Exception as error:
            yield {"example": example.stem, "error": f"{type(error).__name__}: {error}"[:500], "seconds": time.time() - began}


@step
def commands(folder):
    """Runs verify and bench as commands: text, JSON, exit statuses, the roofline."""
    add = write(folder, "add.py", ADD)
    yield {"verify": finish(start("-m", "tilewright.verify", add))}
    wrong = write(folder, "wrong.py", ADD.replace("triton.cdiv(x.numel(), 1024)", "x.numel() // 1024"))
    yield {"wrong": finish(start("-m", "tilewright.verify", wrong, "--variants", "given,odd"))}
    yield {"bench add": finish(start("-m", "tilewright.bench", add, "--output", f"{folder}/add.json", "--roofline", f"{folder}/add.svg"))}
    yield {"bench add again": finish(start("-m", "tilewright.bench", add, "--output", f"{folder}/again.json"))}
    yield {"compare": finish(start("-m", "tilewright.bench", "--compare", f"{folder}/add.json", f"{folder}/again.json"))}
    product = write(folder, "product.py", PRODUCT.format(folder=str(TREE / "examples"), size=4096 if DEVICE == "cuda" else 256))
    yield {"bench product": finish(start("-m", "tilewright.bench", product, "--rtol", "1e-2", "--atol", "1e-1"))}


@step
def tune(folder):
    """Tunes ten configurations, then finds the winner in the store; and configs="auto" for the same problem."""
    for name, configs, size in (("list", LIST, 20000), ("list again", LIST, 20000), ("auto", "'auto'", 20000), ("list", LIST, 1 << 26),
                                ("auto", "'auto'", 1 << 26)):
        script = write(folder, "tuned.py", TUNED.format(configs=configs, size=size))
        yield {"configs": name, "n": size, **finish(start("-m", "tilewright", script, TILEWRIGHT_CACHE_DIR=f"{folder}/tuned"))}
    yield {"list": finish(start("-m", "tilewright._command", "tune", "--list", TILEWRIGHT_CACHE_DIR=f"{folder}/tuned"))}


WRONG = """
import json, warnings
import torch
import triton
import triton.language as tl

for dtype in (torch.float32, torch.float16, torch.int32, torch.float64):
    @triton.autotune(configs=[triton.Config({"BLOCK": block, "MISS": miss}) for block in (1024, 2048) for miss in (0, 1)], key=["n"])
    @triton.jit
    def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, MISS: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n - MISS)

    n = 3000003
    x = (torch.randn(n, device="DEVICE") * 100).to(dtype)
    out = torch.full_like(x, 30000)  # further off than what sums in another order may differ by
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        double_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    found = sum("computes other results" in str(warning.message) for warning in caught)
    print(json.dumps({"dtype": str(dtype), "right": bool((out == 2 * x).all()), "found": found, "of": 2}), flush=True)
"""


@step
def wrong_configurations(folder):
    """Results are compared on the GPU: configurations that leave out one of three million elements do not win."""
    yield finish(start("-m", "tilewright", write(folder, "wrong_configurations.py", WRONG), TILEWRIGHT_CACHE_DIR=f"{folder}/wrong"))


@step
def device_commands(folder):
    """Runs the commands `tune` and `run` on a device."""
    script = write(folder, "tuned_command.py", TUNED.partition("x = torch")[0].format(configs=LIST, size=0).replace("import torch", ""))
    launch = ["--device", DEVICE, "--grid", "cdiv(n, BLOCK)", "--arg", "x_ptr=ones:f32[20000]",
              "--arg", "out_ptr=zeros:f32[20000]", "--arg", "n=20000"]
    for words in (["tune"], ["tune", "--space", "BLOCK=128,512,2048 num_warps=2,4"], ["run", "--time", "--print", "out_ptr"]):
        yield finish(start("-m", "tilewright._command", *words, script, *launch, TILEWRIGHT_CACHE_DIR=f"{folder}/commands"))


CLOCKS = """
import json, statistics
import torch
import triton
import triton.language as tl
from tilewright.profiler import clock

@triton.jit
def double_kernel(x_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)

def spans(call, cache, make):
    found = []
    for _ in range(40):
        cache.zero_()
        span = make()
        call()
        span.end()
        found.append(span)
    return statistics.median(span.nanoseconds() for span in found) / 1e3

cache = torch.empty(256 << 20, dtype=torch.int8, device="DEVICE")
for n in (4096, 1 << 20, 1 << 23, 1 << 26):
    x = torch.ones(n, device="DEVICE")
    call = lambda: double_kernel[(triton.cdiv(n, 1024),)](x, n, BLOCK=1024)
    call()
    print(json.dumps({"n": n, "do_bench": 1e3 * triton.testing.do_bench(call, return_mode="median"), "span": spans(call, cache, clock.span),
                      "why": clock.recorder.why}), flush=True)
"""


@step
def clocks(folder):
    """Microseconds by do_bench, which uses events, and by CUPTI, or the reason why CUPTI is not available."""
    yield finish(start("-m", "tilewright", write(folder, "clocks.py", CLOCKS)))


@step
def auto_matmul(folder):
    """Compares the guess for a product with the tuned configuration."""
    script = write(folder, "auto_matmul.py", AUTO_MATMUL)
    for size in (1024, 4096) if DEVICE == "cuda" else (128,):
        yield {"size": size, **finish(start("-m", "tilewright", script, str(size)))}


AUTO_MATMUL = """
import json, sys, time
import torch
import triton
import triton.language as tl

def product(configs):
    @triton.autotune(configs=configs, key=["M", "N", "K"])
    @triton.jit
    def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
        m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
        n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for step in range(0, tl.cdiv(K, BLOCK_K)):
            row, column = step * BLOCK_K + tl.arange(0, BLOCK_K)[None, :], step * BLOCK_K + tl.arange(0, BLOCK_K)[:, None]
            a = tl.load(a_ptr + m * K + row, mask=(m < M) & (row < K), other=0.0)
            b = tl.load(b_ptr + column * N + n, mask=(column < K) & (n < N), other=0.0)
            total = tl.dot(a, b, total)
        tl.store(c_ptr + m * N + n, total.to(tl.float16), mask=(m < M) & (n < N))
    return matmul_kernel

size = int(sys.argv[1])
a, b = (torch.randn(size, size, device="DEVICE", dtype=torch.float16) for _ in range(2))
listed = [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_warps=w, num_stages=4)
          for m in (64, 128) for n in (64, 128, 256) for k in (32, 64) for w in (4, 8)]
for name, configs in (("auto", "auto"), ("list", listed)):
    kernel, c = product(configs), torch.empty(size, size, device="DEVICE", dtype=torch.float16)
    call = lambda: kernel[lambda meta: (triton.cdiv(size, meta["BLOCK_M"]), triton.cdiv(size, meta["BLOCK_N"]))](a, b, c, size, size, size)
    start = time.time()
    call()
    torch.ones(1, device="DEVICE").item()
    seconds = time.time() - start
    error = float((c.float() - (a @ b).float()).abs().max())
    times = triton.testing.do_bench(call, quantiles=[0.5])
    print(json.dumps({"configs": name, "seconds": seconds, "best": str(kernel.best_config), "tflops": 2 * size**3 / times / 1e9, "error": error}), flush=True)
"""


@step
def share(folder):
    """Starts three workers as torchrun does, and kills one while it measures; the others end with the same winner."""
    configs = "[triton.Config({'BLOCK': 1 << power}, num_warps=warps, num_stages=stages) for power in range(6, 14) for warps in (2, 4, 8) for stages in (2, 3, 4)]"
    script = write(folder, "share.py", TUNED.format(configs=configs, size=1 << 22))
    env = {"TILEWRIGHT_CACHE_DIR": f"{folder}/share", "WORLD_SIZE": "3"}
    workers = [start("-m", "tilewright", script, **env, RANK=str(rank)) for rank in range(3)]
    kept = pathlib.Path(folder) / "share"
    while len(list(kept.glob("*/*.measured"))) < 3 and workers[0].poll() is None:
        time.sleep(0.01)
    workers[0].send_signal(signal.SIGKILL)
    for worker in workers:
        yield finish(worker)


@step
def profile(folder):
    script = write(folder, "tuned.py", TUNED.format(configs=LIST, size=1 << 22))
    yield finish(start("-m", "tilewright.profile", "--trace", f"{folder}/trace.json", script))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", metavar="STEP", nargs="*", help=", ".join(STEPS))
    parser.add_argument("--device", default=DEVICE, help="cpu: without a GPU")
    parser.add_argument("-o", "--output", default="/dev/stdout")
    options = parser.parse_args()
    globals()["DEVICE"] = options.device
    with open(options.output, "a") as file, tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("TILEWRIGHT_CACHE_DIR", f"{folder}/cache")
        for name in options.steps or STEPS:
            try:
                for result in STEPS[name](folder):
                    print(json.dumps({"step": name, **result}), file=file, flush=True)
            except Exception:
                print(json.dumps({"step": name, "error": traceback.format_exc()[-2000:]}), file=file, flush=True)


if __name__ == "__main__":
    main()
