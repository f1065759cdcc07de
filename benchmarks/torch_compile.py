"""torch.compile on a CPU: Inductor with Tilewright's kernels next to Inductor's C++ back end. Needs PyTorch and a C++ compiler.

    PYTHONPATH=build/python python benchmarks/torch_compile.py [--only TEXT] [--seconds 1]

Each engine has a process of its own, so that the threads of one do not wait next to those of the other. Both results are compared with eager
PyTorch's before anything is timed. The processes measure alternately, and the ratio is our median time over the C++ back end's. The last line has
the geometric mean of the ratios.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # no other process compiles while something is timed

import tilewright

tilewright.install()

import torch
import torch._inductor.config
from torch import nn

F = nn.functional


def embedding_rows():
    return torch.randn(1000, 96), torch.randint(0, 1000, (693,))


class Lstm(nn.Module):
    """Steps of one cell, which Inductor sees as they are."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(32, 64)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[1], 64)
        for step in x:
            h, c = self.cell(step, (h, c))
        return h


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(128), nn.Linear(128, 384), nn.Linear(128, 128)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(*x.shape[:2], 3, 4, 32).permute(2, 0, 3, 1, 4)
        scores = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(32), -1)
        return x + self.out((scores @ v).transpose(1, 2).reshape(x.shape))


def rms_norm(x, w):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w


def rotary(q, cos, sin):
    left, right = q.chunk(2, -1)
    return q * cos + torch.cat((-right, left), -1) * sin


def between_matmuls(x, *weights):
    for weight in weights:
        x = torch.tanh(x @ weight) + 1
    return x


def programs():
    """name: (function, inputs, how): how has "backward" for gradients of all parameters and float inputs, "dynamic" for sizes that vary."""
    conv = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16),
                         nn.ReLU())
    mlp = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 256), nn.LayerNorm(256))
    norm = nn.BatchNorm2d(16)
    weights, rows = embedding_rows()
    table = nn.Embedding(1000, 96)
    image = torch.randn(4, 3, 33, 33)
    scaled = lambda w, i: w[i] * 1.5
    block = lambda x, y: torch.softmax(F.gelu(x) + y.sin(), -1)
    yield "10 numbers", lambda x: x + 1, (torch.randn(10),), {}
    yield "eight kernels between matmuls", between_matmuls, (torch.randn(8, 32), *(torch.randn(32, 32) / 6 for _ in range(8))), {}
    yield "gelu 2^20", F.gelu, (torch.randn(1 << 20),), {}
    yield "softmax 1024x1000", lambda x: torch.softmax(x, -1), (torch.randn(1024, 1000),), {}
    yield "layer norm 1024x768", lambda x: F.layer_norm(x, (768,)), (torch.randn(1024, 768),), {}
    yield "rms norm 512x1024", rms_norm, (torch.randn(512, 1024), torch.randn(1024)), {}
    yield "cross entropy 256x5000", F.cross_entropy, (torch.randn(256, 5000), torch.randint(0, 5000, (256,))), {}
    yield "column sums 2048x512", lambda x: x.sum(0), (torch.randn(2048, 512),), {}
    yield "row sums 2048x512", lambda x: x.sum(1), (torch.randn(2048, 512),), {}
    yield "w[i] * 1.5, 693x96", scaled, (weights, rows), {}
    yield "index_put accumulate 693x96", lambda i, g: torch.zeros(1000, 96).index_put((i,), g, accumulate=True), (rows, torch.randn(693, 96)), {}
    yield "embedding", lambda i: F.relu(table(i)), (rows.view(21, 33),), {"parameters": table}
    yield "embedding, backward", lambda i: F.relu(table(i)), (rows.view(21, 33),), {"parameters": table, "backward": True}
    yield "batch norm, training, 4x16x33x33", lambda x: norm(x), (torch.randn(4, 16, 33, 33),), {"parameters": norm}
    yield "conv block", conv, (image,), {"parameters": conv}
    yield "conv block, backward", conv, (image,), {"parameters": conv, "backward": True}
    yield "mlp", mlp, (torch.randn(64, 256),), {"parameters": mlp}
    yield "mlp, backward", mlp, (torch.randn(64, 256),), {"parameters": mlp, "backward": True}
    attention, lstm = Attention(), Lstm()
    yield "attention block 4x64x128", attention, (torch.randn(4, 64, 128),), {"parameters": attention}
    yield "attention block, backward", attention, (torch.randn(4, 64, 128),), {"parameters": attention, "backward": True}
    yield "lstm, 12 steps", lstm, (torch.randn(12, 8, 32),), {"parameters": lstm}
    yield "rotary 4x128x8x64", rotary, (torch.randn(4, 128, 8, 64), torch.randn(128, 1, 64), torch.randn(128, 1, 64)), {}
    yield "dynamic shapes 37x129", block, (torch.randn(37, 129), torch.randn(37, 129)), {"dynamic": True}
    yield "dynamic shapes, broadcast", lambda x, y: (x * y).relu() + x.transpose(0, 1).sum(0)[:, None], (torch.randn(211, 93), torch.randn(93)), {"dynamic": True}
    yield "transpose and add 500x300", lambda x, y: (x.t() + y).contiguous(), (torch.randn(500, 300), torch.randn(300, 500)), {}
    yield "cat and pad", lambda x, y: F.pad(torch.cat((x, y), 1), (1, 2)), (torch.randn(200, 61), torch.randn(200, 70)), {}


def stepped(function, inputs, how):
    """What is timed: a call, and with "backward" the gradients as well. Returns its results."""
    if not how.get("backward"):

        def call():
            with torch.no_grad():
                return [function(*inputs)]

        return call
    parameters = list(how["parameters"].parameters())

    def call():
        out = function(*inputs)
        return [out, *torch.autograd.grad(out.square().sum(), parameters)]

    return call


def restored(how, call):
    """The results of a call that leaves running statistics as they were."""
    module = how.get("parameters")
    kept = {name: value.clone() for name, value in module.state_dict().items()} if module else {}
    results = [result.detach().clone() for result in call()]
    if module:
        module.load_state_dict(kept)
    return results


def compiled(engine, name, function, inputs, how):
    """The compiled call, whose results are right."""
    torch._dynamo.reset()
    tolerance = 1e-2 if how.get("backward") else 1e-3  # gradients through batch norm cancel
    expected = restored(how, stepped(function, inputs, how))
    call = stepped(torch.compile(function, dynamic=how.get("dynamic", False), options={"cpu_backend": engine}), inputs, how)
    for mine, right in zip(restored(how, call), expected, strict=True):
        off = (mine - right).abs().max().item()
        if not off <= tolerance * (1 + right.abs().max().item()):
            raise AssertionError(f"{name}, {engine}: wrong result, off by {off}; nothing is timed")
    return call


def sample(call, seconds):
    """Seconds of one call, on average over a few, several times. The first millisecond does not count: threads wake up. Of one thread, its own
    time: what other processes take of the CPU does not count."""
    clock = time.thread_time if torch.get_num_threads() == 1 else time.perf_counter
    samples, start = [], time.perf_counter()
    while time.perf_counter() - start < 0.001:
        call()
    before = time.perf_counter()
    call()
    repeats = max(1, int(0.001 / (time.perf_counter() - before)))
    while time.perf_counter() - start < seconds or len(samples) < 3:
        before = clock()
        for _ in range(repeats):
            call()
        samples.append((clock() - before) / repeats)
    return samples


def serve(engine, only):
    """The process of one engine: a line of input asks for samples of the current program, an empty one for the next program."""
    for name, function, inputs, how in programs():
        if only not in name:
            continue
        call = compiled(engine, name, function, inputs, how)
        print(json.dumps(name), flush=True)
        while seconds := sys.stdin.readline().strip():
            print(json.dumps(sample(call, float(seconds))), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="programs whose name contains this text")
    parser.add_argument("--seconds", type=float, default=1, help="of measurement for each program and engine")
    parser.add_argument("--threads", type=int, default=2, help="of PyTorch and of kernels")
    parser.add_argument("--engine", choices=("triton", "cpp"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(options.threads)
    torch._inductor.config.cpp.threads = options.threads
    tilewright._core.set_default_threads(options.threads)
    if options.engine:
        return serve(options.engine, options.only)
    processes = {
        engine: subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--engine", engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for engine in ("triton", "cpp")
    }

    def ask(engine, text):
        processes[engine].stdin.write(text + "\n")
        processes[engine].stdin.flush()

    ratios, rounds = [], 10
    print(f"PyTorch {torch.__version__}, {options.threads} threads; microseconds: Tilewright, Inductor's C++, ratio")
    while all(lines := [process.stdout.readline() for process in processes.values()]):
        samples = {engine: [] for engine in processes}
        for _ in range(rounds):
            for engine, process in processes.items():
                ask(engine, str(options.seconds / rounds))
                samples[engine] += json.loads(process.stdout.readline())
        for engine in processes:
            ask(engine, "")
        ours, other = (statistics.median(samples[engine]) for engine in ("triton", "cpp"))
        ratios.append(ours / other)
        print(f"{json.loads(lines[0]):<36} {1e6 * ours:>9.1f} {1e6 * other:>9.1f} {ratios[-1]:>6.2f}", flush=True)
    failed = [engine for engine, process in processes.items() if process.wait()]
    print(f"geometric mean of {len(ratios)}: {statistics.geometric_mean(ratios):.3f}" + (f"; failed: {failed}" if failed else ""))
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
