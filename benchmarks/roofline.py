"""The rows of a run under the machine's roofs, as SVG: how far each is from what arithmetic and memory allow at its intensity.

    benchmarks/roofline.py cpu_xeon_emeraldrapids 2026-11-24_amx [RUN ...] > docs/roofline_xeon.svg

The roofs are those of the runs' first line (bench.py), of the most threads that a row has. Bytes are those that have to be moved once: operands
and results. What stays in a cache may be above the roof of memory.
"""

import json
import math
import pathlib
import sys

import plot

BYTES = {"fp32": 4, "fp16": 2, "bf16": 2, "int8": 1}
COLORS = {"fp32": plot.COLORS[0], "fp16": plot.COLORS[3], "bf16": plot.COLORS[1], "int8": plot.COLORS[2]}
PER_BYTE = {"vector add": 1 / 12, "softmax": 5 / 8, "layer norm": 1}  # operations on an element, by the bytes read and written of it
X, Y = (0.03, 3000), (0.5, 12000)  # of the axes


def intensity(row):
    """Operations a byte; None for what is neither arithmetic nor memory's."""
    if row["unit"] == "GB/s":
        return PER_BYTE.get(row["name"])
    if row["unit"] != "GFLOP/s":
        return None
    size, each = BYTES[row["dtype"]], [int(part) for part in str(row["size"]).split("x")]
    if row["name"].startswith("attention"):
        heads, rows, columns = each
        is_backward = "backward" in row["name"]
        operations = (10 if is_backward else 4) * rows * (0.5 if "causal" in row["name"] else 1)
        return operations / ((8 if is_backward else 4) * size)
    m, n, k = each * 3 if len(each) == 1 else each
    result = 8 if row["dtype"] == "int8" else size  # the example has two results
    return 2 * m * n * k / (size * (m * k + k * n) + result * m * n)


def place(x, y):
    share = lambda value, bounds: math.log(value / bounds[0]) / math.log(bounds[1] / bounds[0])
    across, upward = plot.WIDTH - 2 * plot.MARGIN, plot.HEIGHT - 2 * plot.MARGIN
    return plot.MARGIN + share(x, X) * across, plot.HEIGHT - plot.MARGIN - share(y, Y) * upward


def grid():
    parts = []
    for power in range(-1, 4):
        x, bottom = place(10.0**power, Y[0])
        parts.append(plot.line(x, plot.MARGIN, x, bottom) + plot.text(x, bottom + 18, f"{10.0**power:g}"))
    for power in range(0, 5):
        left, y = place(X[0], 10.0**power)
        parts.append(plot.line(left, y, plot.WIDTH - plot.MARGIN, y) + plot.text(left - 6, y + 4, f"{10.0**power:g}", "end"))
    return parts


def roof(dtype, peak, bandwidth):
    corners = [(max(X[0], Y[0] / bandwidth), max(X[0] * bandwidth, Y[0])), (peak / bandwidth, peak), (X[1], peak)]
    points = " ".join("{:.1f},{:.1f}".format(*place(*corner)) for corner in corners)
    x, y = place(X[1], peak)
    return (f'<polyline points="{points}" fill="none" stroke="{COLORS[dtype]}"/>'
            + plot.text(x, y - 6, f"{dtype} {peak:.0f}", "end", f'fill="{COLORS[dtype]}"'))


def draw(title, rows, peaks, threads):
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plot.WIDTH} {plot.HEIGHT}" width="{plot.WIDTH}" height="{plot.HEIGHT}">',
             '<rect width="100%" height="100%" fill="white"/>', plot.text(plot.WIDTH / 2, 24, title, more='font-weight="bold"'), *grid()]
    bandwidth = peaks["GB/s, 2"]
    parts += [roof(dtype, peaks[f"{dtype}, {threads}"], bandwidth) for dtype in ("fp32", "bf16", "int8") if f"{dtype}, {threads}" in peaks]
    for row in rows:
        x, y = place(intensity(row), row["ours"] * (intensity(row) if row["unit"] == "GB/s" else 1))
        what = f'{row["name"]} {row["size"]} {row["dtype"]}: {row["ours"]:.3g} {row["unit"]}'
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLORS[row["dtype"]]}" fill-opacity="0.7"><title>{what}</title></circle>')
    parts.append(plot.text(plot.WIDTH / 2, plot.HEIGHT - 14, f"operations a byte; memory {bandwidth:.0f} GB/s"))
    parts.append(plot.text(16, plot.HEIGHT / 2, "GFLOP/s", more=f'transform="rotate(-90 16 {plot.HEIGHT / 2})"'))
    return "\n".join([*parts, "</svg>", ""])


def main():
    file, *runs = sys.argv[1:]
    lines = [json.loads(line) for line in (pathlib.Path(__file__).parent / "results" / f"{file}.jsonl").read_text().splitlines()]
    lines = [line for line in lines if line["run"] in runs]
    facts = next(line for line in lines if "peaks" in line)
    rows = [line for line in lines if line.get("ours") and intensity(line)]
    threads = max(row["threads"] for row in rows)
    rows = [row for row in rows if row["threads"] == threads]
    machine = facts["machine"]
    print(draw(f'{machine["processor"]} ({machine["cpu"]}), {threads} thread{"s" * (threads > 1)}', rows, facts["peaks"], threads), end="")


if __name__ == "__main__":
    main()
