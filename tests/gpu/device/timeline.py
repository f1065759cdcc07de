#!/usr/bin/env python3
"""Draws the activities of each warp of a block over time: attention, and a product whose programs loop over tiles.

    PYTHONPATH=PACKAGE tests/gpu/device/timeline.py DIR       writes timeline_attention.svg, timeline_matmul.svg and timeline.json

The compiler assembles PTX by the program that TILEWRIGHT_PTXAS names. Here that is this script, which first inserts stamps into the text: one
lane of each warp of one block records the clock of its multiprocessor where the warp begins or ends a wait, and where it starts copies,
products or stores. So the kernel is the compiler's own, but for three registers, and two instructions for each stamp. The speed is measured with
stamps and without, because stamps must not change the timing that is shown.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../../benchmarks"))
import svg  # noqa: E402

CAPACITY = 1 << 14  # the maximum number of stamps of a warp
WARPS = 32

# The activities that begin at stamps: (name, color).
STATES = [("computes", "#9ecae1"), ("waits for copies", "#fdd0a2"), ("starts copies", "#e6550d"), ("starts products", "#31a354"),
          ("waits for products", "#c7e9c0"), ("waits for other warps", "#dadaeb"), ("stores", "#756bb1"), ("ended", "none")]
STATE = {name: number for number, (name, _) in enumerate(STATES)}

# Instructions before or after which there are stamps, and the activity that begins there.
STAMPS = [("mbarrier.try_wait", "waits for copies", "computes"), ("mbarrier.arrive.expect_tx", "starts copies", None),
          ("wgmma.fence", "starts products", None), ("wgmma.commit_group", None, "computes"),
          ("wgmma.wait_group", "waits for products", "computes"), ("bar.sync", "waits for other warps", "computes"),
          ("stmatrix", "stores", None), ("cp.async.bulk.commit_group", "stores", None), ("cp.async.bulk.wait_group", "stores", "computes"),
          ("ret;", "ended", None)]


def stamp(state):
    return (f"mov.u32 %stamp_clock, %clock; mov.u32 %stamp_state, {STATE[state]}; "
            "@%stamp_on st.global.v2.b32 [%stamp_at], {%stamp_state, %stamp_clock}; add.u64 %stamp_at, %stamp_at, 8;")


def with_stamps(text, address, block):
    """PTX with stamps, which the block with number `block` along the grid's first axis writes to memory at `address`."""
    declarations = ".reg .pred %stamp_on; .reg .b64 %stamp_at; .reg .b32 %stamp_clock, %stamp_state;"
    begin = ("mov.u32 %stamp_clock, %tid.x; and.b32 %stamp_state, %stamp_clock, 31; setp.eq.u32 %stamp_on, %stamp_state, 0; "
             f"mov.u32 %stamp_state, %ctaid.x; setp.eq.and.u32 %stamp_on, %stamp_state, {block}, %stamp_on; "
             "mov.u32 %stamp_state, %ctaid.y; setp.eq.and.u32 %stamp_on, %stamp_state, 0, %stamp_on; "
             f"shr.u32 %stamp_clock, %stamp_clock, 5; mul.wide.u32 %stamp_at, %stamp_clock, {8 * CAPACITY}; "
             f"add.u64 %stamp_at, %stamp_at, {address}; {stamp('computes')}")
    head, body = re.split(r"^\{\n", text, maxsplit=1, flags=re.M)
    lines, begun, last = [head + "{", declarations], False, None
    for line in body.splitlines():
        if not begun and not line.strip().startswith(".reg"):
            lines.append(begin)
            begun = True
        before, after = next(((before, after) for word, before, after in STAMPS if word in line), (None, None))
        if line.startswith("$L"):
            last = None
        if before and before != last:
            lines.append(stamp(before))
        lines.append(line)
        if after:
            lines.append(stamp(after))
        last = after or before or last
    # The producer stamps, too: it keeps more registers.
    return "\n".join(lines).replace("setmaxnreg.dec.sync.aligned.u32 24;", "setmaxnreg.dec.sync.aligned.u32 40;").replace(
        "setmaxnreg.inc.sync.aligned.u32 240;", "setmaxnreg.inc.sync.aligned.u32 232;")


def assemble(arguments):
    """Replaces ptxas, with the same arguments. The variable STAMPS_AT gives the address and the block."""
    address, block = os.environ["STAMPS_AT"].split(",")
    for name in arguments:
        if name.endswith(".ptx"):
            with open(name) as file:
                text = file.read()
            with open(name, "w") as file:
                file.write(with_stamps(text, int(address), int(block)))
    done = subprocess.run([os.environ["STAMPS_PTXAS"], *arguments], capture_output=True, text=True)
    spills = re.findall(r"\d+ bytes spill stores", done.stdout + done.stderr)
    print(f"stamped, with {', '.join(spills)}" if done.returncode == 0 else done.stderr, file=sys.stderr)
    sys.stdout.write(done.stdout)
    return done.returncode


class Assembler:
    """A context manager: within it, kernels are compiled with stamps, which go to this object's buffer."""

    def __init__(self, block):
        import torch

        self.buffer = torch.zeros(2 * CAPACITY * WARPS + 2 * CAPACITY, dtype=torch.int32, device="cuda")
        self.block, self.folder = block, tempfile.TemporaryDirectory()

    def __enter__(self):
        path = os.path.join(self.folder.name, "ptxas")
        with open(path, "w") as file:
            file.write(f'#!/bin/sh\nexec "{sys.executable}" "{os.path.abspath(__file__)}" --assemble "$@"\n')
        os.chmod(path, 0o755)
        real = os.environ.get("TILEWRIGHT_PTXAS") or subprocess.run(["which", "ptxas"], capture_output=True, text=True).stdout.strip()
        os.environ |= {"STAMPS_PTXAS": real, "STAMPS_AT": f"{self.buffer.data_ptr()},{self.block}", "TILEWRIGHT_PTXAS": path}
        return self

    def __exit__(self, *_):
        os.environ["TILEWRIGHT_PTXAS"] = os.environ["STAMPS_PTXAS"]

    def stamps(self, run):
        """The stamps of one run: for each warp a list of (state, cycles since the first stamp of all)."""
        import torch

        self.buffer.zero_()
        run()
        torch.cuda.synchronize()
        rows = self.buffer[:2 * CAPACITY * WARPS].view(WARPS, CAPACITY, 2).cpu().numpy().astype("int64") & 0xFFFFFFFF
        warps = [row[: (row[:, 1] != 0).sum()].tolist() for row in rows]
        start = min(row[0][1] for row in warps if row)
        return [[(state, (clock - start) & 0xFFFFFFFF) for state, clock in row] for row in warps]


# ---- the picture

WIDTH, LEFT, LANE, GAP = 1100, 120, 16, 4
LONGEST = 60000  # cycles


def takes_part(row, last):
    """Whether a warp does something: a producer's warpgroup has three warps that end at once."""
    return len(row) > 2 and row[-1][1] > last / 10


def panel(drawing, warps, first, last, top):
    """Draws the rows of all warps between two clocks; returns their height."""
    place = lambda clock: LEFT + (min(max(clock, first), last) - first) / (last - first) * (WIDTH - LEFT - 20)
    y = top
    for number, row in warps:
        drawing.text(LEFT - 8, y + LANE - 4, f"warp {number}", "end")
        shapes, end = {}, 0.0
        for (state, clock), (_, until) in zip(row, row[1:]):
            x, width = place(clock), place(until) - place(clock)
            if width <= 0 or x + width < end + 0.3:
                continue
            shapes.setdefault(state, []).append(f"M{x:.1f} {y}h{width:.1f}v{LANE}h-{width:.1f}z")
            end = x + width
        for state, drawn in shapes.items():
            drawing.path("".join(drawn), STATES[state][1])
        y += LANE + GAP
    step = 10 ** (len(str(int(last - first))) - 1)
    step = step if (last - first) / step > 4 else step // 2
    for clock in range(-(-int(first) // step) * step, int(last) + 1, step):
        drawing.line(place(clock), top, place(clock), y, "faint", 0.4)
        drawing.text(place(clock), y + 14, clock, size=11)
    return y + 24 - top


def picture(title, warps, excerpt):
    """A picture of the beginning of a block, or of all of it, and of an excerpt between two clocks."""
    last = max(row[-1][1] for row in warps if row)
    warps = [(number, row) for number, row in enumerate(warps) if takes_part(row, last)]
    drawing, x, y = svg.Picture(WIDTH), LEFT, 40
    drawing.text(WIDTH / 2, 22, title, size=14)
    for name, color in STATES[:-1]:
        drawing.rectangle(x, y, 12, 12, color)
        drawing.text(x + 16, y + 11, name, "start")
        x += 40 + 7 * len(name)
    y += 30
    for first, until in ((0, min(last, LONGEST)), excerpt):
        y += panel(drawing, warps, first, until, y) + 16
    drawing.text(WIDTH / 2, y, "cycles of the multiprocessor since the block's first stamp")
    drawing.height = y + 16
    return str(drawing)


def shares(warps):
    """The share of its time that each warp spends in each state."""
    result = {}
    for number, row in enumerate(warps):
        if not takes_part(row, max(other[-1][1] for other in warps if other)):
            continue
        spent = {}
        for (state, clock), (_, until) in zip(row, row[1:]):
            spent[STATES[state][0]] = spent.get(STATES[state][0], 0) + until - clock
        whole = row[-1][1] - row[0][1]
        result[f"warp {number}"] = {name: round(cycles / whole, 3) for name, cycles in spent.items()} | {"cycles": whole}
    return result


# ---- what is shown

def attention(tilewright, load, randn, torch):
    Z, H, n, d = 1, 66, 2048, 128
    q, k, v = (randn(Z, H, n, d, dtype="fp16") for _ in range(3))
    out = torch.empty_like(q)

    def make():
        kernel = load("07_attention", tilewright).attention_kernel.fn
        return lambda: kernel[(n // 128, Z * H)](q, k, v, out, d**-0.5, H, n, *q.stride(), *k.stride(), *v.stride(), *out.stride(),
                                                 HEAD_DIM=d, CAUSAL=False, BLOCK_M=128, BLOCK_N=128, num_warps=8, num_stages=3)
    return make, f"Attention, {n} keys of {d} columns: a block of 128 queries", 4.0 * Z * H * n * n * d


def matmul(tilewright, load, randn, torch):
    n, k = 8192, 512
    a, b, out = randn(n, k, dtype="fp16"), randn(k, n, dtype="fp16"), torch.empty(n, n, dtype=torch.float16, device="cuda")

    def make():
        m = load("persistent_matmul", tilewright)
        config = tilewright.Config({"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "SUBTILE": True}, num_warps=8, num_stages=4, pre_hook=m.set_blocks)
        m.persistent_matmul_kernel = tilewright.autotune(configs=[config], key=["M", "N", "K"])(m.persistent_matmul_kernel.fn)
        return lambda: m.matmul(a, b, out)
    return make, f"Product {n} x {k} x {n}: a program walks over tiles of 128 x 256", 2.0 * n * n * k


def main(folder):
    os.environ["TILEWRIGHT_CACHE"] = "0"
    import tilewright
    import torch

    from loading import load
    from numerics import randn
    from times import measure

    found = {}
    for name, case in (("attention", attention), ("matmul", matmul)):
        make, title, flops = case(tilewright, load, randn, torch)
        plain = make()
        plain()
        with Assembler(block=0) as stamped:
            run = make()
            run()
        rates = {key: round(flops / ms / 1e9, 1) for key, ms in measure({"plain": plain, "with stamps": run}).items()}
        warps = stamped.stamps(run)
        last = max(row[-1][1] for row in warps if row)
        svg = picture(title, warps, (0.3 * min(last, LONGEST), 0.5 * min(last, LONGEST)))
        with open(os.path.join(folder, f"timeline_{name}.svg"), "w") as file:
            file.write(svg)
        found[name] = dict(title=title, gpu=torch.cuda.get_device_name(), tflops=rates, cycles=last, shares=shares(warps), stamps=warps)
        print(title, rates, last, "cycles")
    with open(os.path.join(folder, "timeline.json"), "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    sys.exit(assemble(sys.argv[2:]) if sys.argv[1:2] == ["--assemble"] else main(sys.argv[1]))
