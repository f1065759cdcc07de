"""Records the launches of the measured rows: kernel, signature, integers, tensors' bytes, grid and options, with the measured time.

    PYTHONPATH=PACKAGE tests/gpu/run --launches FILE.jsonl

`tilewright explain --recorded FILE.jsonl` predicts these launches with the model of an SM and compares the times. It needs no GPU.
"""

import json
import math
import os
import re

import torch

from loading import ROOT

# Triton's names of types, in signatures.
TYPES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.int8: "i8", torch.uint8: "u8", torch.int32: "i32",
         torch.int64: "i64", torch.float8_e4m3fn: "fp8e4nv", torch.float8_e5m2: "fp8e5"}
# The peaks of a Hopper GPU's data sheet in TFLOP/s; any other type counts as 16-bit.
PEAKS = {"fp8": 1979, "int8": 1979, "tf32": 494}
HALF_PEAK = 989
MEMORY_PEAKS = {"H200": 4800, "H100": 3350}  # GB/s


def word(name, value, text):
    """The word of a signature, the integers that a launch passes for it, and the bytes of its tensor."""
    if torch.is_tensor(value):
        aligned = ":16" if value.data_ptr() % 16 == 0 else ""
        return f"{name}=*{TYPES[value.dtype]}{aligned}", {}, {name: math.prod(value.shape) * value.element_size()}
    if hasattr(value, "block_shape"):
        block = ",".join(map(str, value.block_shape))
        numbers = {f"{name}.{what}[{i}]": int(number) for what in ("shape", "strides") for i, number in enumerate(getattr(value, what))}
        return (f"{name}=tensordesc<{TYPES[value.base.dtype]}[{block}]>", numbers,
                {name: math.prod(value.shape) * value.base.element_size()})
    if re.search(rf"%{name}:", text):  # a run-time value
        if isinstance(value, float):
            return f"{name}=fp32", {}, {}
        kind = "i32" if -2**31 <= value < 2**31 else "i64"
        return f"{name}={kind}" + (":16" if value % 16 == 0 else ""), {name: value}, {}
    known = {"triton.language.float32": "fp32", "triton.language.int32": "i32"}
    return f"{name}={known.get(repr(value), repr(value))}", {}, {}


def described(launch):
    kernel, args, keywords, grid = launch
    bound = kernel._bind(*args, **keywords)
    grid = grid(bound) if callable(grid) else grid
    grid = list(grid) if isinstance(grid, (tuple, list)) else [grid]
    compiled = kernel.prepare(*args, **keywords)
    words, values, sizes = [], {}, {}
    for name, value in bound.items():
        text, numbers, tensor = word(name, value, compiled.asm["ttir"])
        words.append(text)
        values |= numbers
        sizes |= tensor
    meta = compiled.metadata
    path = os.path.relpath(kernel.fn.__code__.co_filename, ROOT)
    return dict(kernel=f"{path}:{kernel.__name__}", signature=", ".join(words), grid=[int(extent) for extent in grid], values=values,
                bytes=sizes, registers=compiled.n_regs, num_warps=meta.num_warps, num_stages=meta.num_stages, num_ctas=meta.num_ctas)


def launches_of(ours, function):
    """The launches of one call."""
    seen = []
    see = lambda metadata: seen.append(metadata.launch)
    ours.knobs.runtime.launch_enter_hook.add(see)
    try:
        function()
        torch.cuda.synchronize()
    finally:
        ours.knobs.runtime.launch_enter_hook.remove(see)
    return [described(launch) for launch in seen]


def record(ours, row, measure, rate):
    """The finished row, or None if ours cannot run it."""
    if row.ours is None or row.unit not in ("GB/s", "TFLOP/s"):
        return None
    function, _ = row.ours()
    function()  # tunes
    torch.cuda.synchronize()
    gpu = torch.cuda.get_device_name()
    memory = next((peak for name, peak in MEMORY_PEAKS.items() if name in gpu), None)
    milliseconds = measure({"ours": function})["ours"]
    return dict(name=row.name, size=row.size, dtype=row.dtype, unit=row.unit, us=round(1e3 * milliseconds, 2), rate=rate(milliseconds, row),
                peak=memory if row.unit == "GB/s" else PEAKS.get(row.dtype, HALF_PEAK), launches=launches_of(ours, function))


def write(ours, rows, wanted, measure, rate, write_line):
    for row in rows:
        if not wanted(row.title):
            continue
        line = record(ours, row, measure, rate)
        if line:
            write_line(line)
        torch.cuda.empty_cache()


def write_file(path, head, ours, makers, wanted, measure, rate):
    with open(path, "w") as file:
        def write_line(row):
            print("     ", row["name"] if "name" in row else row, flush=True)
            file.write(json.dumps(row) + "\n")
            file.flush()
        write_line(head)
        for rows in makers:
            torch.manual_seed(0)
            write(ours, rows, wanted, measure, rate, write_line)
