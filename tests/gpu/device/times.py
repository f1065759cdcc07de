"""Compares times with PyTorch (cuBLAS, cuDNN) and the installed Triton, all in one run and interleaved, on random normal data.

Each row: name, size, dtype, unit, ours, rivals, ratio. The ratio compares ours with the best of Triton's and is above 1 if ours is faster,
for rates (GB/s, TFLOP/s) and for times (us, ms) alike. If ours refuses a row, it has "ours": null and an "error". Rates are those of the GPU alone;
times are the host's. Compile rows also give the part of "ours" until the PTX was complete, and the assembler's part; launch
rows give the part that is not the driver's.
"""

import functools
import json
import math
import os
import shutil
import statistics
import subprocess
import time

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import layer_norm, scaled_dot_product_attention

from loading import first_line, load, retune
from numerics import DTYPES, randn, unwritten

# The configurations of Triton's own tutorial for 16-bit matmuls on such a GPU, without those that never win, and the examples' tiles
# for small products.
TRITON_TILES = [({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, warps, stages) for m, n, k, warps, stages in (
    (128, 256, 64, 8, 3), (256, 128, 64, 8, 3), (128, 128, 64, 4, 4), (128, 128, 64, 8, 4), (128, 128, 32, 4, 4), (64, 256, 32, 4, 4),
    (128, 64, 64, 4, 4), (64, 128, 64, 4, 4), (64, 64, 64, 4, 4), (64, 128, 64, 4, 6), (64, 32, 128, 4, 6))]
TRITON_ATTENTION = [({"BLOCK_M": m, "BLOCK_N": n, "PERSISTENT": False}, warps, stages) for m, n, warps, stages in (
    (128, 64, 4, 3), (128, 64, 8, 3), (128, 128, 8, 2), (128, 128, 8, 3), (64, 64, 4, 3))]


# The cycles that the GPU waits before each measured call, about half a millisecond: the host has queued the call by then, however slow it is,
# so that the time of small problems is not that of their launch.
DELAY_CYCLES = 900_000


def measure(functions, milliseconds=30.0, rounds=3):
    """The median milliseconds on the GPU alone for each function; they alternate, with the L2 cache emptied before every call."""
    flush = torch.empty(2 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.int8, device="cuda")

    def sample(function, count):
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]
        for start, end in events:
            flush.zero_()
            torch.cuda._sleep(DELAY_CYCLES)
            start.record()
            function()
            end.record()
        torch.cuda.synchronize()
        return statistics.median(start.elapsed_time(end) for start, end in events)

    counts = {name: max(5, min(60, int(milliseconds / max(sample(function, 3), 1e-3)))) for name, function in functions.items()}
    times = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            times[name].append(sample(function, counts[name]))
    return {name: statistics.median(values) for name, values in times.items()}


class Row:
    """A row. `ours` and `rivals` make functions to measure, each with output tensors of its own. The rate is the `work` of one call by its time."""

    def __init__(self, name, size, dtype, unit, work, ours, rivals, tolerance=None):
        self.name, self.size, self.dtype, self.unit, self.work = name, size, dtype, unit, work
        self.ours, self.rivals, self.tolerance = ours, rivals, tolerance

    @property
    def title(self):
        return f"{self.name} {self.size} {self.dtype}"


def rate(milliseconds, row):
    per_ms = row.work / milliseconds
    return round(per_ms / 1e9, 1) if row.unit == "TFLOP/s" else round(per_ms / 1e6)


def finish(row, ours, rivals, error):
    """The row as a dict to be written."""
    best = [value for name, value in rivals.items() if name.startswith("triton")]
    ratio = None
    if ours and best:
        ratio = round(min(best) / ours, 3) if row.unit in ("us", "ms") else round(ours / max(best), 3)
    line = dict(name=row.name, size=row.size, dtype=row.dtype, unit=row.unit, ours=ours, rivals=rivals, ratio=ratio)
    return line | ({"error": error} if error else {})


def run_row(row):
    """(the finished row, whether our result agrees with a rival's)."""
    functions, outs, error, rival_errors = {}, {}, None, {}
    for name, make in {"ours": row.ours, **row.rivals}.items():
        if make is None:
            continue
        try:
            function, out = make()
            function()
            torch.cuda.synchronize()
            functions[name], outs[name] = function, out
        except Exception as problem:
            torch.cuda.synchronize()
            if name == "ours":
                error = first_line(problem)
            else:
                rival_errors[name] = first_line(problem)
    good = True
    reference = next((name for name in ("torch", "cublas", "cudnn", "flash", "triton") if name in outs), None)
    if row.tolerance and "ours" in outs and reference:
        want = outs[reference]().double()
        off = ((outs["ours"]().double() - want).norm() / want.norm()).item()
        good = off <= row.tolerance
        if not good:
            error = f"relative error {off:.1e} against {reference}"
        del want
    milliseconds = measure(functions) if functions else {}
    rates = {name: rate(value, row) for name, value in milliseconds.items()}
    ours = rates.pop("ours", None)
    line = finish(row, ours, rates, error)
    return line | ({"rival_errors": rival_errors} if rival_errors else {}), good


# ---- the rows

def memory_rows(ours, theirs):
    n = 1 << 28
    source = {}

    for shape, dtype, nbytes in (((n,), "fp32", 4), ((16384, 1024), "fp32", 4), ((16384, 1024), "fp16", 2)):  # also bounds the smallest rows
        def copy(shape=shape, dtype=dtype):
            x, y = randn(*shape, dtype=dtype), unwritten(*shape, dtype=dtype)
            return lambda: y.copy_(x), lambda: y
        yield Row("copy", "x".join(map(str, shape)), dtype, "GB/s", 2 * nbytes * math.prod(shape), None, {"torch": copy})

    def add(triton):
        def make():
            m, x, y, out = load("01_vector_add", triton), *source["inputs"], unwritten(n)
            return lambda: m.add_kernel[(n // 1024,)](x, y, out, n, BLOCK_SIZE=1024), lambda: out
        return make

    def torch_add():
        (x, y), out = source["inputs"], unwritten(n)
        return lambda: torch.add(x, y, out=out), lambda: out
    source["inputs"] = randn(n), randn(n)
    yield Row("vector add", str(n), "fp32", "GB/s", 12 * n, add(ours), {"triton": add(theirs), "torch": torch_add}, 1e-6)
    source.clear()

    for columns in (1024, 4096, 12288, 32768, 65536, 131072):
        rows = 16384 if columns <= 12288 else (1 << 28) // columns
        x = randn(rows, columns)

        def softmax(triton, x=x):
            def make():
                m, out = load("02_fused_softmax", triton), torch.empty_like(x)
                return lambda: m.softmax(x, out=out), lambda: out
            return make
        rivals = {"triton": softmax(theirs), "torch": lambda x=x: (lambda: torch.softmax(x, -1), lambda: torch.softmax(x, -1))}
        yield Row("softmax", f"{rows}x{columns}", "fp32", "GB/s", 8 * rows * columns, softmax(ours), rivals, 1e-5)
    for columns in (1024, 4096, 8192, 32768, 65536, 131072):
        rows = 16384 if columns <= 8192 else (1 << 28) // columns
        x, w, b = randn(rows, columns, dtype="fp16"), randn(columns, dtype="fp16"), randn(columns, dtype="fp16")

        def norm(triton, x=x, w=w, b=b):
            def make():
                m, out = load("09_layer_norm", triton), (torch.empty_like(x), unwritten(len(x)), unwritten(len(x)))
                return lambda: m.layer_norm(x, w, b, out=out), lambda: out[0]
            return make

        def torch_norm(x=x, w=w, b=b):
            function = lambda: layer_norm(x, x.shape[1:], w, b, 1e-5)
            return function, function
        rivals = {"triton": norm(theirs), "torch": torch_norm}
        yield Row("layer norm", f"{rows}x{columns}", "fp16", "GB/s", 4 * rows * columns, norm(ours), rivals, 2e-3)


def matmul_rows(ours, theirs):
    modules = {}

    def module(triton, name):
        """The module of a kernel file, one for all rows, so that its tuned and compiled kernels are used again."""
        if (triton, name) not in modules:
            made = load(name, triton)
            if triton is theirs and name == "06_matmul_autotuned":
                retune(made, "tuned_matmul_kernel", triton, TRITON_TILES, ["M", "N", "K"])
            modules[triton, name] = made
        return modules[triton, name]

    odd = (1000, 1023, 1025, 4095, 4097, 4100, 4104)  # rows of multiples of 16, 2, 2, 2, 2, 8 and 16 bytes
    for dtype, sizes in (("fp16", (512, 1024, 2048, 4096, 8192, 16384, *odd)), ("bf16", (1024, 4096, 8192))):
        for size in sizes:
            M, N, K = (512, 512, 1024) if size == 512 else (size, size, size)
            a, b = randn(M, K, dtype=dtype), randn(K, N, dtype=dtype)

            def product(triton, name, a=a, b=b):
                def make():
                    m, out = module(triton, name), torch.empty(len(a), b.shape[1], device="cuda", dtype=a.dtype)
                    return lambda: m.matmul(a, b, out=out), lambda: out
                return make

            def cublas(a=a, b=b):
                out = torch.empty(len(a), b.shape[1], device="cuda", dtype=a.dtype)
                return lambda: torch.matmul(a, b, out=out), lambda: out
            rivals = {"triton": product(theirs, "06_matmul_autotuned"), "triton persistent": product(theirs, "persistent_matmul"),
                      "cublas": cublas}
            if size in odd:
                del rivals["triton persistent"]  # descriptors need rows of multiples of 16 bytes
            shape, flops, tolerance = f"{M}x{K}x{N}", 2.0 * M * N * K, 1e-3 if dtype == "fp16" else 8e-3
            yield Row("matmul", shape, dtype, "TFLOP/s", flops, product(ours, "06_matmul_autotuned"), rivals, tolerance)
            if size in (4096, 8192):
                rivals = {name: rivals[name] for name in ("triton persistent", "cublas")}
                yield Row("matmul persistent", shape, dtype, "TFLOP/s", flops, product(ours, "persistent_matmul"), rivals, tolerance)


def few_steps_rows(ours, theirs):
    """Products whose tiles have few steps of K, so that much of the time passes between tiles."""
    modules = {triton: load("persistent_matmul", triton) for triton in (ours, theirs)}
    examples = {triton: load("06_matmul_autotuned", triton) for triton in (ours, theirs)}
    retune(examples[theirs], "tuned_matmul_kernel", theirs, TRITON_TILES, ["M", "N", "K"])
    n = 8192
    for K in (512, 1024, 2048):
        a, b = randn(n, K, dtype="fp16"), randn(K, n, dtype="fp16")

        def product(m, a=a, b=b):
            def make():
                out = torch.empty(n, n, device="cuda", dtype=a.dtype)
                return lambda: m.matmul(a, b, out=out), lambda: out
            return make

        def cublas(a=a, b=b):
            out = torch.empty(n, n, device="cuda", dtype=a.dtype)
            return lambda: torch.matmul(a, b, out=out), lambda: out
        rivals = {"triton": product(examples[theirs]), "triton persistent": product(modules[theirs]), "cublas": cublas}
        for name, m in (("matmul", examples[ours]), ("matmul persistent", modules[ours])):
            yield Row(name, f"{n}x{K}x{n}", "fp16", "TFLOP/s", 2.0 * n * n * K, product(m), rivals, 1e-3)


def typed_rows(ours, theirs):
    """Products of fp8, int8 and tf32, with the second operand as N x K. cuBLAS adds fp8 products with the tensor cores' precision, like us and Triton."""
    modules = {triton: load("typed_matmul", triton) for triton in (ours, theirs)}
    one = torch.ones((), device="cuda")
    kinds = (  # input, output, what the library calls, allowed error, unit, sizes
        ("fp8", torch.float16, lambda a, b, out: torch._scaled_mm(a, b.T, one, one, out_dtype=out.dtype, use_fast_accum=True, out=out), 3e-3,
         "TFLOP/s", (1024, 4096, 8192)),
        ("int8", torch.int32, lambda a, b, out: torch._int_mm(a, b.T, out=out), 1e-9, "TFLOP/s", (1024, 4096, 8192)),
        ("tf32", torch.float32, lambda a, b, out: torch.matmul(a, b.T, out=out), 1e-3, "TFLOP/s", (1024, 4096, 8192)),
    )

    def tensor(kind, n):
        if kind == "int8":
            return torch.randint(-127, 128, (n, n), device="cuda", dtype=torch.int8)
        return randn(n, n).to(torch.float8_e4m3fn) if kind == "fp8" else randn(n, n)

    for kind, result, library, tolerance, unit, sizes in kinds:
        for n in sizes:
            a, b = tensor(kind, n), tensor(kind, n)

            def product(m, a=a, b=b, result=result):
                def make():
                    out = torch.empty(len(a), len(b), device="cuda", dtype=result)
                    return lambda: m.matmul(a, b, out), lambda: out
                return make

            def cublas(a=a, b=b, result=result, library=library):
                torch.backends.cuda.matmul.allow_tf32 = True
                out = torch.empty(len(a), len(b), device="cuda", dtype=result)
                return lambda: library(a, b, out), lambda: out
            rivals = {"triton": product(modules[theirs]), "cublas": cublas}
            yield Row("matmul, columns of B", f"{n}x{n}x{n}", kind, unit, 2.0 * n**3, product(modules[ours]), rivals, tolerance)
    torch.backends.cuda.matmul.allow_tf32 = False


def attention_cases():
    """(batches, heads, heads of keys, context, columns, whether it is causal, type) for each case."""
    for d in (64, 128):
        for causal in (False, True):
            for n in (1024, 4096, 16384):
                yield 1 if n == 16384 else 4, 32, 32, n, d, causal, "fp16"
    # Awkward contexts, other types and columns, and one head of keys for all queries.
    for d in (64, 128):
        for n in (1000, 4097):
            yield 4, 32, 32, n, d, True, "fp16"
        yield 4, 32, 32, 4096, d, True, "bf16"
        yield 4, 32, 1, 4096, d, False, "fp16"
    yield 4, 16, 16, 4096, 256, False, "fp16"


def attention_rows(ours, theirs):
    modules = {ours: load("07_attention", ours)}
    modules[theirs] = retune(load("07_attention", theirs), "attention_kernel", theirs, TRITON_ATTENTION, ["n_ctx", "HEAD_DIM", "CAUSAL"])
    for Z, H, own, n, d, causal, dtype in attention_cases():
        tensors = [randn(Z, H, n, d, dtype=dtype), *(randn(Z, own, n, d, dtype=dtype).expand(Z, H, n, d) for _ in range(2))]

        def examples(triton, tensors=tensors, causal=causal):
            def make():
                m, out = modules[triton], torch.empty_like(tensors[0])
                return lambda: m.attention(*tensors, causal, out=out), lambda: out
            return make

        def backend(choice, tensors=tensors, causal=causal):
            def make():
                def function():
                    with sdpa_kernel(choice):
                        return scaled_dot_product_attention(*tensors, is_causal=causal)
                return function, function
            return make
        rivals = {"triton": examples(theirs), "cudnn": backend(SDPBackend.CUDNN_ATTENTION), "flash": backend(SDPBackend.FLASH_ATTENTION)}
        flops = 4.0 * Z * H * n * n * d * (0.5 if causal else 1)
        size = f"{Z}x{H}x{n}x{d}" + (f", {own} of keys" if own != H else "") + (" causal" if causal else "")
        yield Row("attention", size, dtype, "TFLOP/s", flops, examples(ours), rivals, 4e-3 if dtype == "fp16" else 3e-2)


# ---- launches and compilation

def launch_rows(ours, theirs):
    def median(function):
        """Microseconds of one launch: batches are timed by the host's clock, and are so small that the GPU's queue never fills."""
        for _ in range(200):
            function()
        times, batch = [], range(100)
        for _ in range(50):
            torch.cuda.synchronize()
            start = time.perf_counter_ns()
            for _ in batch:
                function()
            times.append((time.perf_counter_ns() - start) / len(batch))
        torch.cuda.synchronize()
        return round(statistics.median(times) / 1e3, 2)

    x, y, out = randn(1024), randn(1024), unwritten(1024)
    def call(triton, size, programs=1):
        if size == "no arguments":
            kernel = load("small", triton).empty_kernel
            target = kernel[(1,)]().metadata.target.backend
            if target != "cuda":
                raise RuntimeError(f"a kernel without arguments ran on {target}")
            return lambda: kernel[(programs,)]()
        kernel = load("01_vector_add", triton).add_kernel
        if size == "three tensors":
            return lambda: kernel[(programs,)](x, y, out, 1024, BLOCK_SIZE=1024)
        return lambda: kernel[lambda meta: (programs * triton.cdiv(1024, meta["BLOCK_SIZE"]),)](x, y, out, 1024, BLOCK_SIZE=1024)

    def mine(size):
        # A launch of no programs does everything but the driver's call.
        call(ours, size)()
        return median(call(ours, size)), dict(own_us=median(call(ours, size, 0)))

    for size in ("no arguments", "three tensors", "three tensors, grid function"):
        yield Row("launch", size, "", "us", 0, lambda: mine(size), {"triton": lambda: (median(call(theirs, size)), {})})


def compile_rows(ours, theirs):
    """The time from a kernel's source to its first launch, with nothing cached, in a process that has compiled other kernels before."""
    os.environ["TILEWRIGHT_CACHE"] = "0"
    theirs.knobs.compilation.always_compile = True
    n = 512
    x, out = randn(n, n), unwritten(n, n)
    a, b, c = (randn(n, n, dtype="fp16") for _ in range(3))
    q = randn(1, 2, n, 64, dtype="fp16")
    tile = [({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP_M": 8}, 4, 3)]
    block = [({"BLOCK_M": 128, "BLOCK_N": 64, "PERSISTENT": False}, 4, 3)]

    def calls(triton):
        yield "vector add", load("01_vector_add", triton), lambda m: m.add_kernel[(1,)](x, x, out, 1024, BLOCK_SIZE=1024)
        yield "softmax", load("02_fused_softmax", triton), lambda m: m.softmax(x, out=out)
        yield "layer norm", load("09_layer_norm", triton), lambda m: m.layer_norm(a, b[0], b[1], out=(c, x[0], x[1]))
        product = retune(load("06_matmul_autotuned", triton), "tuned_matmul_kernel", triton, tile, ["M", "N", "K"])
        yield "matmul", product, lambda m: m.matmul(a, b, out=c)
        causal = retune(load("07_attention", triton), "attention_kernel", triton, block, ["n_ctx", "HEAD_DIM", "CAUSAL"])
        yield "attention", causal, lambda m: m.attention(q, q, q, True, out=torch.empty_like(q))

    def clock(call, kind=None):
        compiled = []
        if kind:  # every launch of the package goes through this function, so that it sees what is compiled
            kind.launch = lambda kernel, *args, **kwargs: compiled.append(ours._core.Kernel.launch(kernel, *args, **kwargs)) or compiled[-1]
            kind.__getitem__ = lambda kernel, grid: functools.partial(kernel.run, grid=grid, warmup=False)
        try:
            torch.cuda.synchronize()
            start = time.perf_counter()
            call[2](call[1])
            torch.cuda.synchronize()
            whole = time.perf_counter() - start
        finally:
            if kind:
                del kind.launch, kind.__getitem__
        if not kind:
            return round(whole * 1e3, 1), {}
        assembling = sum(kernel.assemble_seconds for kernel in {id(kernel): kernel for kernel in compiled}.values())
        return round(whole * 1e3, 1), dict(ours_ptx_ms=round((whole - assembling) * 1e3, 1), ours_assemble_ms=round(assembling * 1e3, 1),
                                           assembler="ptxas" if shutil.which("ptxas") or os.environ.get("TILEWRIGHT_PTXAS") else "driver")

    try:
        for mine, rival in zip(calls(ours), calls(theirs)):
            yield Row("compile", mine[0], "", "ms", 0, lambda: clock(mine, ours.JITFunction), {"triton": lambda: clock(rival)})
    finally:
        os.environ.pop("TILEWRIGHT_CACHE")
        theirs.knobs.compilation.always_compile = False


def run_time_row(row):
    """The finished row whose functions measure themselves, and return other fields to write, too."""
    ours = error = None
    more, rivals = {}, {}
    try:
        ours, more = row.ours()
    except Exception as problem:
        error = first_line(problem)
    for name, measured in row.rivals.items():
        try:
            rivals[name], _ = measured()
        except Exception as problem:
            error = error or f"{name}: {first_line(problem)}"
    return finish(row, ours, rivals, error) | more


def launcher_row(path):
    """Launches from C++ (benchmarks/launch_gpu.cpp), compared with the driver's own function. They may cost 1 us more."""
    done = subprocess.run([path], capture_output=True, text=True, timeout=120)
    row = Row("launch from C++", "no arguments", "", "us", 0, None, {})
    if done.returncode:
        return finish(row, None, {}, first_line(done.stderr))
    measured = json.loads(done.stdout)
    return finish(row, measured.pop("ours"), {"cuLaunchKernel": measured.pop("raw")}, None) | measured


def machine(theirs):
    """The first line: the GPU and the versions of its software."""
    def query(field):
        try:
            return subprocess.run(["nvidia-smi", "--id=0", "--format=csv,noheader", "--query-gpu=" + field], capture_output=True, text=True,
                                  timeout=20).stdout.strip()
        except (OSError, subprocess.TimeoutExpired):
            return ""
    return dict(card=torch.cuda.get_device_name(), driver=query("driver_version"), torch=torch.__version__, cuda=torch.version.cuda,
                cudnn=torch.backends.cudnn.version(), triton=theirs.__version__, clocks=query("clocks.sm,clocks.mem"),
                max_clocks=query("clocks.max.sm,clocks.max.mem"), power_limit=query("power.limit"), data="random normal, fixed seed")


def write_rows(rows, wanted, write):
    """Measures and writes the wanted rows. Returns how many are wrong."""
    failed = 0
    for row in rows:
        if not wanted(row.title):
            continue
        line, good = run_row(row)
        failed += not good
        write(line)
        torch.cuda.empty_cache()
    return failed


def run_sweep(ours, theirs, wanted, write):
    """Measures awkward sizes. At the end, it prints those below 0.9 of the better rival."""
    from size_rows import size_rows, worst

    limit, lines = 0.9, []
    write(machine(theirs))
    torch.manual_seed(0)
    rows = size_rows(Row, ours, theirs, TRITON_TILES, TRITON_ATTENTION)
    failed = write_rows(rows, wanted, lambda line: (lines.append(line), write(line)))
    for share, title, rival in worst(lines, limit):
        print(f"  {title}: {share} of {rival}", flush=True)
    return failed


def run_choices(ours, theirs, wanted, write):
    from choices import run_choices

    write(machine(theirs))
    run_choices(ours, wanted, write, measure)


def all_rows(ours, theirs, tutorials=None):
    """The rows that measure kernels, group by group."""
    from backward_rows import backward_rows, tutorial_norm_rows
    from model_rows import model_rows
    from quantized_rows import example_rows, scaled_rows

    backward, norm = (lambda ours, theirs, rows=rows: rows(Row, ours, theirs, tutorials) for rows in (backward_rows, tutorial_norm_rows))
    scaled, examples = (lambda ours, theirs, rows=rows: rows(Row, ours, theirs) for rows in (scaled_rows, example_rows))
    for make in (memory_rows, matmul_rows, few_steps_rows, typed_rows, attention_rows, backward, norm, model_rows, scaled, examples):
        yield make(ours, theirs)


def run_launches(ours, theirs, wanted, path):
    import launches

    launches.write_file(path, machine(theirs), ours, all_rows(ours, theirs), wanted, measure, rate)


def run_times(ours, theirs, wanted, write, launcher=None, tutorials=None):
    """Calls `write` with every row when it is finished. Returns how many are wrong."""
    failed = 0
    write(machine(theirs))
    for rows in all_rows(ours, theirs, tutorials):
        torch.manual_seed(0)
        failed += write_rows(rows, wanted, write)
    for make in (launch_rows, compile_rows):
        for row in make(ours, theirs):
            if wanted(row.title):
                write(run_time_row(row))
    if launcher and wanted("launch from C++"):
        write(launcher_row(launcher))
    return failed
