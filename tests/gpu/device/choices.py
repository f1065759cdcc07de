"""Compares the tuner's choice with all configurations of its list, which are measured in turn as times.py measures.

Each row: name, size, the choice, the ratio of its time to the best one's (1: it is the best), seconds of tuning when nothing was
compiled and when everything was, and, for each configuration that is not much slower, the microseconds by the tuner and by this measurement. Earlier
tuning results are ignored, and the tuner does not affect what is measured here.
"""

import math
import os
import time

import torch

from loading import load
from numerics import randn

CLOSE = 1.6  # configurations that take longer than so many times the best are not measured carefully


def product(module, M, N, K, dtype="fp16"):
    a, b = randn(M, K, dtype=dtype), randn(K, N, dtype=dtype)
    out = torch.empty(M, N, device="cuda", dtype=a.dtype)
    return lambda: module.matmul(a, b, out=out)


def typed(module, kind, n):
    def tensor():
        if kind == "int8":
            return torch.randint(-127, 128, (n, n), device="cuda", dtype=torch.int8)
        return randn(n, n).to(torch.float8_e4m3fn) if kind == "fp8" else randn(n, n)
    a, b = tensor(), tensor()
    out = torch.empty(n, n, device="cuda", dtype={"int8": torch.int32, "fp8": torch.float16, "tf32": torch.float32}[kind])
    return lambda: module.matmul(a, b, out)


def attention(module, n, d, causal):
    q, k, v = (randn(4, 32, n, d, dtype="fp16") for _ in range(3))
    out = torch.empty_like(q)
    return lambda: module.attention(q, k, v, causal, out=out)


def cases():
    """(name, size, the module's name, a function that makes a call of it) for each case."""
    for kind, sizes in (("fp8", (8192, 4096)), ("int8", (8192, 1024)), ("tf32", (8192, 4096))):
        for n in sizes:
            yield f"matmul, columns of B {kind}", str(n), "typed_matmul", lambda m, kind=kind, n=n: typed(m, kind, n)
    for n in (4104, 4096, 8192, 1024, 1000, 4097):
        yield "matmul fp16", str(n), "06_matmul_autotuned", lambda m, n=n: product(m, n, n, n)
    for n in (4096, 8192):
        yield "matmul persistent fp16", str(n), "persistent_matmul", lambda m, n=n: product(m, n, n, n)
    yield "matmul fp16", "8192x512x8192", "06_matmul_autotuned", lambda m: product(m, 8192, 8192, 512)
    for n, d, causal in ((4096, 64, False), (4096, 128, True), (1024, 128, False)):
        yield "attention fp16", f"4x32x{n}x{d}" + (" causal" if causal else ""), "07_attention", lambda m, a=(n, d, causal): attention(m, *a)


def shown(config):
    blocks = f" c{config.num_ctas}" if config.num_ctas > 1 else ""
    sizes = " ".join(str(value) for value in config.kwargs.values() if value is not False)
    return f"{sizes} w{config.num_warps} s{config.num_stages}{blocks}"


def choice_of(ours, call, measure):
    """Tunes twice, measures all configurations that work, and compares."""
    Autotuner, seen = ours.runtime.autotuner.Autotuner, []
    choose = Autotuner._choose

    def watched(tuner, key, args, kwargs):
        start = time.perf_counter()
        measured = choose(tuner, key, args, kwargs)
        seen.append((tuner, key, tuner.cache[key], round(time.perf_counter() - start, 3)))
        return measured

    Autotuner._choose = watched
    try:
        call()
        tuner, key, chosen, first = seen[-1]
        timings = dict(tuner.configs_timings)
        del tuner.cache[key]
        call()
        again = seen[-1]
    finally:
        Autotuner._choose = choose
    functions = {}
    for config in (config for config, times in timings.items() if math.isfinite(times[0])):
        def run(config=config):
            tuner.cache[key] = config
            call()
        functions[config] = run
    rough = measure(functions, milliseconds=0.0, rounds=1)
    near = CLOSE * min(rough.values())
    times = measure({config: run for config, run in functions.items() if rough[config] <= near}, milliseconds=10.0)
    best, all_times = min(times, key=times.get), {**rough, **times}
    return dict(chosen=shown(chosen), best=shown(best), to_best=[round(all_times[each] / times[best], 4) for each in (chosen, again[2])],
                tuning_s=[first, again[3]], us={shown(config): [round(timings[config][0] * 1e3, 1), round(value * 1e3, 1)]
                                                for config, value in sorted(times.items(), key=lambda item: item[1])})


def run_choices(ours, wanted, write, measure):
    os.environ["TILEWRIGHT_CACHE_AUTOTUNING"] = "0"
    for name, size, module, make in cases():
        if wanted(f"{name} {size}"):
            torch.manual_seed(0)
            write(dict(name=name, size=size) | choice_of(ours, make(load(module, ours)), measure))
            torch.cuda.empty_cache()
