#!/usr/bin/env python3
"""Tests torch.compile on the GPU: models built from torch.nn and single patterns, compared with eager PyTorch, with the time of each.

    python -m tilewright tests/gpu/device/inductor.py -o ours.jsonl        Inductor's kernels through Tilewright
    python tests/gpu/device/inductor.py -o theirs.jsonl                    then the same with the Triton that is installed: to compare speed with
    python tests/gpu/device/inductor.py --compare ours.jsonl theirs.jsonl -o rows.jsonl      both, as rows for tools/results.py
    python -m tilewright tests/gpu/device/inductor.py --device cpu --small mlp softmax       without a GPU

Each program writes a line of JSON: its name, whether it is right, the largest error against eager, seconds to compile, microseconds for a call,
microseconds of its kernels on the GPU, and the same of each kernel that Inductor generated. Two processes at once disturb each other.
"""

import argparse
import collections
import json
import statistics
import time
import traceback

import torch
import torch.nn.functional as F
from torch import nn

PROGRAMS = {}


def program(**options):
    """Registers a function of (device, small) that returns (module or function, its inputs). options: Inductor's settings."""

    def register(make):
        PROGRAMS[make.__name__] = (make, options)
        return make

    return register


def images(device, small, channels=3, batch=16):
    size = 32 if small else 128
    return torch.randn(2 if small else batch, channels, size, size, device=device)


class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


def convolution(inputs, outputs, size=3, stride=1, groups=1, activation=nn.ReLU):
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), nn.BatchNorm2d(outputs), activation())


def head(channels):
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 100))


# ---- models


@program()
def resnet(device, small):
    blocks = [nn.Sequential(Residual(nn.Sequential(convolution(c, c), convolution(c, c, activation=nn.Identity))), nn.ReLU(), convolution(c, 2 * c, stride=2))
              for c in (32, 64, 128)]
    return nn.Sequential(convolution(3, 32, 7, 2), nn.MaxPool2d(3, 2, 1), *blocks, head(256)), [images(device, small)]


@program()
def vgg(device, small):
    layers = [layer for a, b in ((3, 32), (32, 64), (64, 128)) for layer in (convolution(a, b), convolution(b, b), nn.MaxPool2d(2))]
    return nn.Sequential(*layers, head(128), nn.ReLU(), nn.Linear(100, 10)), [images(device, small)]


@program()
def mobilenet(device, small):
    def inverted(c):
        return Residual(nn.Sequential(convolution(c, 4 * c, 1, activation=nn.Hardswish), convolution(4 * c, 4 * c, 3, groups=4 * c, activation=nn.Hardswish),
                                      convolution(4 * c, c, 1, activation=nn.Identity)))
    return nn.Sequential(convolution(3, 32, 3, 2), inverted(32), convolution(32, 64, 3, 2), inverted(64), inverted(64), head(64)), [images(device, small)]


class Dense(nn.Module):
    def __init__(self, channels, growth, count):
        super().__init__()
        self.layers = nn.ModuleList(nn.Sequential(nn.BatchNorm2d(channels + i * growth), nn.ReLU(), nn.Conv2d(channels + i * growth, growth, 3, padding=1))
                                    for i in range(count))

    def forward(self, x):
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return x


@program()
def densenet(device, small):
    return nn.Sequential(convolution(3, 32, 3, 2), Dense(32, 16, 4), nn.AvgPool2d(2), Dense(96, 16, 4), head(160)), [images(device, small)]


class Branches(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.branches = nn.ModuleList([convolution(channels, 16, 1), convolution(channels, 24, 3), convolution(channels, 24, 5),
                                       nn.Sequential(nn.MaxPool2d(3, 1, 1), convolution(channels, 16, 1))])

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


@program()
def inception(device, small):
    return nn.Sequential(convolution(3, 32, 3, 2), Branches(32), Branches(80), nn.MaxPool2d(2), Branches(80), head(80)), [images(device, small)]


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.ModuleList([convolution(3, 32), convolution(32, 64), convolution(64, 128)])
        self.up = nn.ModuleList([convolution(192, 64), convolution(96, 32)])
        self.last = nn.Conv2d(32, 4, 1)

    def forward(self, x):
        a = self.down[0](x)
        b = self.down[1](F.max_pool2d(a, 2))
        c = self.down[2](F.max_pool2d(b, 2))
        b = self.up[0](torch.cat([F.interpolate(c, scale_factor=2, mode="bilinear"), b], 1))
        return self.last(self.up[1](torch.cat([F.interpolate(b, scale_factor=2, mode="nearest"), a], 1)))


@program()
def unet(device, small):
    return UNet(), [images(device, small, batch=4)]


class Attention(nn.Module):
    def __init__(self, width, heads, causal):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(x).reshape(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5
        if self.causal:
            scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, width))


def transformer(width, heads, causal):
    return nn.Sequential(Residual(nn.Sequential(nn.LayerNorm(width), Attention(width, heads, causal), nn.Dropout(0.1))),
                         Residual(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))))


@program()
def vit(device, small):
    width = 64 if small else 384
    patches = nn.Sequential(nn.Conv2d(3, width, 16, 16), nn.Flatten(2))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.blocks, self.norm, self.head = patches, nn.Sequential(*[transformer(width, 4, False) for _ in range(2)]), nn.LayerNorm(width), nn.Linear(width, 100)

        def forward(self, x):
            return self.head(self.norm(self.blocks(self.patches(x).transpose(1, 2))).mean(1))

    return Model(), [images(device, small)]


@program()
def gpt(device, small):
    width, words = (64, 100) if small else (512, 8000)
    model = nn.Sequential(nn.Embedding(words, width), *[transformer(width, 4, True) for _ in range(2)], nn.LayerNorm(width), nn.Linear(width, words))
    return model, [torch.randint(words, (2, 32 if small else 512), device=device)]


@program()
def convnext(device, small):
    class LayerNorm2d(nn.LayerNorm):
        def forward(self, x):
            return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    def block(c):
        return Residual(nn.Sequential(nn.Conv2d(c, c, 7, padding=3, groups=c), LayerNorm2d(c), nn.Conv2d(c, 4 * c, 1), nn.GELU(), nn.Conv2d(4 * c, c, 1)))
    return nn.Sequential(nn.Conv2d(3, 64, 4, 4), LayerNorm2d(64), block(64), block(64), nn.Conv2d(64, 128, 2, 2), block(128), head(128)), [images(device, small)]


@program()
def mixer(device, small):
    width, tokens = (64, 16) if small else (512, 196)

    class Mix(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.tokens = nn.LayerNorm(width), nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))

        def forward(self, x):
            return x + self.tokens(self.norm(x).transpose(1, 2)).transpose(1, 2)

    mlp = Residual(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width)))
    return nn.Sequential(Mix(), mlp, Mix(), nn.LayerNorm(width)), [torch.randn(4 if small else 16, tokens, width, device=device)]


MODELS = list(PROGRAMS)


# ---- patterns


def matrix(device, small, rows=4096, columns=4096, dtype=torch.float32):
    return torch.randn(64 if small else rows, 128 if small else columns, device=device, dtype=dtype)


@program()
def elementwise(device, small):
    return lambda x, y: torch.where(x > 0, torch.sin(x) * y.exp(), x.tanh() + torch.log1p(y.abs())).to(torch.bfloat16), [matrix(device, small), matrix(device, small)]


@program()
def transposed_add(device, small):
    size = 128 if small else 4096
    return lambda x, y: x.t() + y * 2, [torch.randn(size, size, device=device), torch.randn(size, size, device=device)]


@program()
def row_sums(device, small):
    return lambda x: (x.sum(1), x.amax(1), (x * x).mean(1)), [matrix(device, small)]


@program()
def column_sums(device, small):
    return lambda x: (x.sum(0), x.var(0)), [matrix(device, small)]


@program()
def whole_sum(device, small):
    return lambda x: (x.double().sum(), x.argmax(), x.norm()), [matrix(device, small)]


@program()
def softmax(device, small):
    return lambda x: torch.softmax(x, 1), [matrix(device, small)]


@program()
def log_softmax_loss(device, small):
    x = matrix(device, small)
    return F.cross_entropy, [x, torch.randint(x.shape[1], (x.shape[0],), device=device)]


@program()
def layer_norm(device, small):
    x = matrix(device, small)
    return nn.LayerNorm(x.shape[1]), [x]


@program()
def rms_norm_gelu(device, small):
    return lambda x: F.gelu(x * torch.rsqrt((x.float() ** 2).mean(-1, keepdim=True) + 1e-6).to(x.dtype)), [matrix(device, small, dtype=torch.bfloat16)]


@program()
def running_sums(device, small):
    return lambda x: (x.cumsum(1), x.cumprod(0)[:2], x.logcumsumexp(1)), [matrix(device, small, 256, 2048)]


@program()
def sorted_rows(device, small):
    return lambda x: torch.sort(x, dim=1, stable=True), [matrix(device, small, 1024, 256)]


@program()
def gathered(device, small):
    x = matrix(device, small)
    return lambda x, i: x[i] * 2 + x.gather(0, i[:, None].expand(-1, x.shape[1])), [x, torch.randint(x.shape[0], (x.shape[0],), device=device)]


@program()
def scattered(device, small):
    x = matrix(device, small, 1024, 1024)
    return lambda x, i: torch.zeros_like(x).index_add(0, i, x), [x, torch.randint(x.shape[0], (x.shape[0],), device=device)]


@program()
def rotary(device, small):
    def rotate(q, cos, sin):
        a, b = q.chunk(2, -1)
        return q * cos + torch.cat([-b, a], -1) * sin
    length = 64 if small else 2048
    return rotate, [torch.randn(2, 8, length, 64, device=device), torch.randn(length, 64, device=device), torch.randn(length, 64, device=device)]


TEMPLATES = dict(max_autotune_gemm=True, max_autotune_gemm_backends="TRITON")


def halves(device, *shapes):
    return [torch.randn(*shape, device=device, dtype=torch.float16) for shape in shapes]


@program(**TEMPLATES)
def mm_template(device, small):
    n = 128 if small else 2048
    return lambda a, b, c: F.relu(a @ b + c), halves(device, (n, n), (n, n), (n,))


@program(**TEMPLATES)
def bmm_template(device, small):
    n = 64 if small else 512
    return lambda a, b: torch.bmm(a, b) * 0.5, halves(device, (8, n, n), (8, n, n))


@program(**TEMPLATES, autotune_in_subproc=True)
def mm_tuned_in_a_process(device, small):
    n = 128 if small else 1024
    return lambda a, b: (a @ b).float().sigmoid(), halves(device, (n, n), (n, n))


@program(**TEMPLATES)
def addmm_template(device, small):
    n = 128 if small else 1024
    return lambda a, b, c: torch.addmm(c, a, b, alpha=0.5).tanh(), halves(device, (n, n), (n, 2 * n), (n, 2 * n))


@program(**TEMPLATES)
def two_matmuls_template(device, small):
    n = 128 if small else 1024
    return lambda a, b, c, d: a @ b + c @ d, halves(device, (n, n), (n, n), (n, n), (n, n))


@program(**TEMPLATES)
def integers_template(device, small):
    n = 128 if small else 1024
    return lambda a, b: torch._int_mm(a, b) * 2, [torch.randint(-128, 128, (n, n), device=device, dtype=torch.int8) for _ in range(2)]


@program(max_autotune=True, max_autotune_conv_backends="TRITON")
def convolution_template(device, small):
    return nn.Sequential(nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.ReLU(), nn.Conv2d(32, 32, 1, bias=False)), [images(device, small, 16, 8)]


def only(choice, **options):
    """Makes Inductor use one template, which it offers only on a GPU, and no other."""
    return TEMPLATES | options | ({"test_configs.autotune_choice_name_regex": choice} if torch.cuda.is_available() else {})


@program(**only("mm_persistent_tma", **{"triton.enable_persistent_tma_matmul": True}))
def descriptors_template(device, small):
    n = 128 if small else 2048
    return lambda a, b: F.gelu(a @ b.t()), halves(device, (n, n), (n, n))


@program(**only("mm_persistent_tma", **{"triton.enable_persistent_tma_matmul": True, "triton.enable_template_tma_store": True}))
def descriptor_stores_template(device, small):
    n = 128 if small else 2048
    return lambda a, b: a @ b, halves(device, (n, n), (n, n))


@program(**TEMPLATES)
def split_k_template(device, small):
    k = 1024 if small else 65536
    return lambda a, b: (a @ b) * k ** -0.5, halves(device, (32, k), (k, 32))


@program(**{"triton.cudagraphs": True})
def graphs(device, small):
    return lambda x: torch.softmax(x.sin(), 1).cumsum(1).cos(), [matrix(device, small, 256, 1024)]


@program(**{"triton.cooperative_reductions": True})
def cooperative_sums(device, small):
    return lambda x: (x.sum(1), torch.softmax(x, 1)), [matrix(device, small, 8, 1 << 18)]


@program(**{"triton.multi_kernel": 1})
def several_kernels(device, small):
    return lambda x: torch.softmax(x, 1) + x.amax(1, keepdim=True), [matrix(device, small, 1024, 1024)]


@program()
def optimizer_step(device, small):
    def adam(*tensors):
        weights, gradients, means, squares = (list(tensors[i::4]) for i in range(4))
        means = torch._foreach_lerp(means, gradients, 0.1)
        squares = torch._foreach_addcmul(torch._foreach_mul(squares, 0.99), gradients, gradients, 0.01)
        roots = torch._foreach_add(torch._foreach_sqrt(squares), 1e-6)
        return torch._foreach_addcdiv(weights, means, roots, -1e-3) + means + squares
    return adam, [torch.rand(n, 64, device=device) for n in (8, 64, 256, 1000) for _ in range(4)]


def flex(causal):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    def make(device, small):
        length = 128 if small else 2048
        mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, length, length, device=device) if causal else None
        shape = (2, 4, length, 64)
        return lambda q, k, v: flex_attention(q, k, v, block_mask=mask, score_mod=lambda s, b, h, i, j: s + 0.01 * (i - j)), halves(device, shape, shape, shape)

    return make


@program()
def flex_attention(device, small):
    return flex(False)(device, small)


@program()
def flex_attention_causal(device, small):
    return flex(True)(device, small)


@program()
def flex_decoding(device, small):
    from torch.nn.attention.flex_attention import flex_attention

    length = 128 if small else 8192
    q, k, v = halves(device, (2, 16, 1, 64), (2, 4, length, 64), (2, 4, length, 64))
    return lambda q, k, v: flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: 20 * torch.tanh(s / 20), enable_gqa=True), [q, k, v]


@program()
def flex_window_grouped(device, small):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    length, window = (256, 64) if small else (4096, 512)
    mask = create_block_mask(lambda b, h, i, j: (i >= j) & (i - j < window), None, None, length, length, device=device)
    q, k, v = halves(device, (1, 8, length, 128), (1, 2, length, 128), (1, 2, length, 128))
    return lambda q, k, v: flex_attention(q, k, v, block_mask=mask, enable_gqa=True), [q, k, v]


# ---- running them

TRAINED = ("resnet", "vit", "gpt", "convnext", "layer_norm", "log_softmax_loss", "flex_attention", "flex_attention_causal",
           "flex_window_grouped")


def flat(value):
    return [value] if isinstance(value, torch.Tensor) else [tensor for each in value for tensor in flat(each)]


def step(function, parameters, inputs):
    """Forward and backward: the loss, and the gradients of parameters and inputs. The loss is a sum, because a mean's gradients vanish in fp16, of
    elements with different weights, because the squares of a normalized row always have the same sum, and so no gradient."""
    wanted = [*parameters, *[x for x in inputs if x.is_floating_point()]]
    loss = 0
    for output in flat(function(*inputs)):
        weights = torch.linspace(0.5, 1.5, output.shape[-1] if output.dim() else 1, device=output.device)
        loss = loss + (output.float().square() * weights).sum()
    return [loss, *torch.autograd.grad(loss, wanted)]


def error(got, expected):
    """The largest error, relative to the largest number of each tensor; infinite if shapes, types or the places of NaN differ."""
    worst = 0.0
    for a, b in zip(flat(got), flat(expected), strict=True):
        if a.shape != b.shape or a.dtype != b.dtype or not torch.equal(a.isnan(), b.isnan()):
            return float("inf")
        a, b = a.double().nan_to_num(0, 0, 0), b.double().nan_to_num(0, 0, 0)
        worst = max(worst, ((a - b).abs().max() / b.abs().max().clamp_min(1e-6)).item()) if a.numel() else worst
    return worst


def microseconds(call, device):
    if device == "cpu":
        times = []
        for _ in range(3):
            start = time.perf_counter()
            call()
            times.append((time.perf_counter() - start) * 1e6)
        return statistics.median(times)
    for _ in range(3):
        call()
    times = []
    for _ in range(50):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 500)
    return statistics.median(times)


def kernel_times(call, repeats=15):
    """Microseconds on the GPU: of all kernels of a call, and {name: [launches in a call, the median]} of those that Inductor generated."""
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(repeats):
            call()
        torch.cuda.synchronize()
    times = collections.defaultdict(list)
    for event in profiler.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            times[event.name].append(event.device_time)
    medians = {name: [len(each) / repeats, round(statistics.median(each), 2)] for name, each in times.items()}
    total = sum(launches * median for launches, median in medians.values())
    return {"kernels_us": round(total, 1), "kernels": {name: each for name, each in medians.items() if name.startswith("triton_")}}


def run(name, train, device, small):
    make, options = PROGRAMS[name]
    torch.manual_seed(0)
    torch._dynamo.reset()
    function, inputs = make(device, small)
    parameters = []
    if isinstance(function, nn.Module):
        function = function.to(device).eval()  # without dropout, whose random numbers would differ
        parameters = list(function.parameters())
    if train:
        inputs = [x.requires_grad_() if x.is_floating_point() else x for x in inputs]
    if device == "cpu":  # Inductor generates invalid Python when it measures a template fused with an epilogue on a CPU
        options = options | {"benchmark_epilogue_fusion": False}
    compiled = torch.compile(function, options=options or None)

    def call(f):
        if train:
            return step(f, parameters, inputs)
        with torch.no_grad():
            return f(*inputs)

    expected = call(function)
    start = time.perf_counter()
    got = call(compiled)
    seconds = time.perf_counter() - start
    worst = error(got, expected)
    half = any(tensor.dtype in (torch.float16, torch.bfloat16) for tensor in flat([inputs, got]))
    row = {"name": name + (" training" if train else ""), "right": worst < (2e-2 if half else 2e-3), "error": worst, "compile_s": round(seconds, 2)}
    row |= {"us": round(microseconds(lambda: call(compiled), device), 1), "eager_us": round(microseconds(lambda: call(function), device), 1)}
    return row if device == "cpu" else row | kernel_times(lambda: call(compiled))


def rows_of(ours, theirs):
    """Rows of the models, for tools/results.py; and of generated kernels, one for each program whose kernels have the same names in both files."""
    read = lambda path: {row["name"]: row for row in map(json.loads, open(path)) if row["right"]}
    ours, theirs = read(ours), read(theirs)
    for name in filter(theirs.get, ours):
        mine, other = ours[name], theirs[name]
        row = lambda title, unit, a, b: {"name": title, "size": name, "dtype": "", "unit": unit, "ours": a, "rivals": {"triton": b}}
        if name.removesuffix(" training") in MODELS and "kernels" in mine:
            yield row("torch.compile", "us", mine["us"], other["us"])
            yield row("torch.compile, kernels", "us", mine["kernels_us"], other["kernels_us"])
            yield row("torch.compile, first call", "s", mine["compile_s"], other["compile_s"])
        if mine.get("kernels") and mine["kernels"].keys() == other["kernels"].keys():
            generated = lambda row: round(sum(launches * each for launches, each in row["kernels"].values()), 2)
            yield row("torch.compile, generated kernels", "us", generated(mine), generated(other))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="sizes for a machine without a GPU")
    parser.add_argument("--part", default="0/1", help="I/N: every N-th program from the I-th on")
    parser.add_argument("--compare", nargs=2, metavar=("OURS", "THEIRS"), help="make rows of two outputs; runs nothing")
    parser.add_argument("-o", "--output")
    arguments = parser.parse_args()
    if arguments.compare:
        with open(arguments.output or "/dev/stdout", "w") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows_of(*arguments.compare))
        return 0
    import torch._inductor.config as config

    if arguments.device == "cpu":
        config.cpu_backend = "triton"
    else:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    part, parts = map(int, arguments.part.split("/"))
    wanted = [(name, train) for name in arguments.names or PROGRAMS for train in (False, True) if not train or name in TRAINED]
    wrong = 0
    with open(arguments.output or "/dev/stdout", "a") as file:
        for name, train in wanted[part::parts]:
            try:
                row = run(name, train, arguments.device, arguments.small)
            except Exception as failure:
                row = {"name": name + (" training" if train else ""), "right": False, "failure": "".join(traceback.format_exception(failure))[-1500:]}
            wrong += not row["right"]
            file.write(json.dumps(row) + "\n")
            file.flush()
    return min(wrong, 100)


if __name__ == "__main__":
    raise SystemExit(main())
