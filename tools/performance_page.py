#!/usr/bin/env python3
"""Writes what the documents say about speed from benchmarks/results: docs/performance.md, its picture, and the tables of other pages. README's
line on Triton's tests is from tests/conformance/results.json.

    tools/performance_page.py            writes all of them
    tools/performance_page.py --check    says which are not what the result files say, and exits with 1 if any is not

In a page, the generated text stands between <!-- generated: NAME --> and <!-- end -->; the rest is written by hand. The reasons for low ratios are in
benchmarks/reasons.txt. A row with a ratio below 0.9 must have one there.
"""

import argparse
import fnmatch
import math
import pathlib
import re
import sys

import results

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests/conformance")]
import page as conformance  # noqa: E402
import svg  # noqa: E402

del sys.path[:2]

PICTURE = "docs/assets/performance.svg"
PAGES = ["docs/performance.md", "README.md", "docs/index.md", "docs/index.zh.md", "docs/howto/pytorch.md", "docs/howto/pytorch.zh.md"]
BLOCK = re.compile(r"(<!-- generated: ([\w ]+) -->\n).*?(<!-- end -->)", re.S)
NEEDS_REASON, SHORT = 0.9, 0.95

MACHINES = {  # by result file: (short name, what it is)
    "h100": ("H100", "NVIDIA H100 80GB"), "h200": ("H200", "NVIDIA H200"),
    "cpu_zen4": ("Zen 4", "AMD EPYC, 2 cores, AVX-512"), "cpu_zen5": ("Zen 5", "AMD EPYC, 2 cores, AVX-512"),
    "cpu_xeon": ("Xeon", "Emerald Rapids, 2 cores, AVX-512 without AMX"), "cpu_xeon_amx": ("Xeon AMX", "Emerald Rapids, 2 of 16 cores, AVX-512 and AMX")}
GPUS, CPUS = ["h100", "h200"], ["cpu_zen4", "cpu_zen5", "cpu_xeon", "cpu_xeon_amx"]


class Group:
    """Rows that the tables put together: their names (fnmatch), and the baselines with which they are compared."""

    def __init__(self, title, baseline, against, names, level="", glance=True):
        self.title, self.baseline, self.against, self.names, self.level, self.glance = title, baseline, against, names, level, glance

    def rows(self, rows):
        """[(ratio, row)], the lowest first."""
        mine = [row for row in rows if row.level == self.level and any(fnmatch.fnmatchcase(row.name, name) for name in self.names)]
        rated = [(row.ratio(self.against), row) for row in mine]
        return sorted(((ratio, row) for ratio, row in rated if ratio), key=lambda pair: pair[0])


LIBRARIES = ["triton", "cublas", "cudnn", "flash", "torch"]
ELEMENTS = ["sums of rows", "argmax of rows", "sums of columns", "running sums of rows", "sorted rows", "transposition", "rows of a table",
            "additions to places", "histogram", "GELU by erf", "random numbers"]
GROUPS = {
    "gpu": [
        Group("matmul fp16, bf16", "Triton, cuBLAS", LIBRARIES, ["matmul", "matmul persistent"]),
        Group("matmul fp8, int8, tf32", "Triton, cuBLAS", LIBRARIES, ["matmul, columns of B", "matmul fp8 with scales"]),
        Group("matmul, irregular sizes", "Triton, cuBLAS", LIBRARIES, ["sizes: matmul"], glance=False),
        Group("matmul of few rows, split-K, grouped", "Triton, cuBLAS", LIBRARIES, ["skinny matmul", "matmul split K", "matmul grouped"], glance=False),
        Group("microscaling (`dot_scaled`)", "fp16, bf16 matmul without scales", LIBRARIES, ["dot_scaled"], glance=False),
        Group("attention forward", "Triton, cuDNN", LIBRARIES, ["attention", "sizes: attention"]),
        Group("attention backward, atomic dQ", "Triton, cuDNN", LIBRARIES, ["attention backward, any order"]),
        Group("attention backward, deterministic", "Triton, cuDNN", LIBRARIES, ["attention backward"]),
        Group("attention backward, Triton's tutorial", "Triton, cuDNN", LIBRARIES, ["attention backward, tutorial"], glance=False),
        Group("softmax, norms, losses, rotary", "Triton, PyTorch", LIBRARIES,
              ["vector add", "softmax", "layer norm*", "rotary interleaved", "swiglu", "cross entropy", "sizes: softmax", "sizes: layer norm*"]),
        Group("kernels without a tuner", "Triton", ["triton"], ["untuned: *"]),
        Group("compile time", "Triton", ["triton"], ["compile"]),
        Group("launch from Python", "Triton", ["triton"], ["launch"]),
        Group("`torch.compile`, models", "Triton", ["triton"], ["torch.compile"], glance=False),
        Group("`torch.compile`, generated kernels", "Triton", ["triton"], ["torch.compile, generated kernels"], glance=False)],
    "cpu": [
        Group("matmul fp32", "OpenBLAS", ["OpenBLAS"], ["gemm sweep", "gemm, small", "gemm", "gemm thin", "gemm 128x128x32 masked"]),
        Group("matmul bf16", "PyTorch (oneDNN)", ["torch"], ["product bf16"]),
        Group("matmul int8", "PyTorch (oneDNN)", ["torch"], ["product int8"]),
        Group("softmax, layer norm", "PyTorch", ["torch"], ["softmax sweep", "layer norm sweep"]),
        Group("vector add, softmax, layer norm", "C with intrinsics", ["hand C"], ["vector add", "softmax", "layer norm"], glance=False),
        Group("attention forward fp32, bf16", "PyTorch", ["torch"], ["attention", "attention causal"]),
        Group("attention backward fp32, bf16", "PyTorch", ["torch"], ["attention backward", "attention backward causal"]),
        Group("reductions, sort, gather, GELU", "PyTorch", ["torch"], ELEMENTS),
        Group("AVX2 only: matmul fp32", "OpenBLAS", ["OpenBLAS"], ["gemm", "gemm, small", "gemm 128x128x32 masked"], level="avx2", glance=False),
        Group("AVX2 only: matmul int8", "PyTorch (oneDNN)", ["torch"], ["product int8"], level="avx2", glance=False)]}
# What the pages call the rows, where that is not the name in the result file.
NAMES = {"matmul, columns of B": "B as N x K", "matmul persistent": "persistent", "matmul fp8 with scales": "scaled", "skinny matmul": "few rows",
         "matmul split K": "split-K", "matmul grouped": "grouped", "gemm thin": "skinny", "gemm 128x128x32 masked": "128x128x32 blocks", "softmax sweep": "softmax",
         "layer norm sweep": "layer norm", "sorted rows": "sort", "sums of rows": "row sums", "argmax of rows": "argmax", "sums of columns": "column sums",
         "running sums of rows": "cumulative sums", "transposition": "transpose", "rows of a table": "gather rows", "additions to places": "scatter-add",
         "GELU by erf": "GELU", "layer norm backward locked": "layer norm backward, locks"}
PLAIN = {"matmul", "gemm", "gemm sweep", "gemm, small", "product bf16", "product int8", "attention", "attention backward", "attention backward, any order",
         "attention backward, tutorial", "dot_scaled", "launch", "compile", "torch.compile",
         "torch.compile, generated kernels"}  # rows whose group says enough


def measured():
    """{machine: (rows, newest run)}"""
    return {machine: results.load(machine) for machine in MACHINES}


def groups_of(machine):
    return GROUPS["gpu" if machine in GPUS else "cpu"]


def mean(rated):
    return math.exp(sum(math.log(ratio) for ratio, _ in rated) / len(rated))


def span(rated):
    """The geometric mean of the ratios, with the lowest and the highest: the form of all tables."""
    return f"**{mean(rated):.2f}** ({rated[0][0]:.2f}–{rated[-1][0]:.2f})" if rated else ""


def dtypes(text):
    """float32 as fp32: Triton's short names."""
    return re.sub(r"\b(b?)float(\d+)\b", lambda found: ("bf" if found[1] else "fp") + found[2], text)


def label(row, group):
    """What distinguishes a row from the others of its group: its name, size, type and threads."""
    name = row.name.removeprefix("sizes: ").removeprefix("untuned: ")
    words = ["causal"] if "causal" in name else [] if name in PLAIN and "untuned" not in row.name else [dtypes(NAMES.get(name, name).replace("product", "matmul"))]
    words.append(row.size.strip("()").replace(", ", "x") if "untuned" in row.name else row.size)
    if row.dtype and len({other.dtype for _, other in group}) > 1 and row.dtype not in words[-1]:
        words.append(row.dtype)
    return " ".join(words) + (f", {row.threads} thread{'s' * (row.threads > 1)}" if len({other.threads for _, other in group}) > 1 else "")


def number(value):
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def machine_table(machine, rows):
    lines = [f"| {MACHINES[machine][0]} | compared with | rows | geomean (worst to best) | worst row: ours, baseline | best row | median row: ours, baseline |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for group in groups_of(machine):
        rated = group.rows(rows)
        if not rated:
            continue
        (_, worst), (_, best), (_, typical) = rated[0], rated[-1], rated[len(rated) // 2]
        show = lambda row: f"{label(row, rated)}: {number(row.ours)}, {number(row.best_of(group.against))} {row.unit}"
        cells = [group.title, group.baseline, len(rated), span(rated)] + (["", "", show(worst)] if len(rated) == 1 else [show(worst), label(best, rated), show(typical)])
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines


def dates_of(rows, to=" to "):
    """When these rows were measured: a date, or the first and the last one."""
    dates = sorted({row.run["date"] for row in rows})
    return dates[0] if len(dates) == 1 else f"{dates[0]}{to}{dates[-1]}"


def machine_summary(machine, rows, newest):
    """A line about a machine: the date, the versions, and the times without a baseline."""
    runs = {row.run["run"]: row.run for row in rows}.values()
    when = dates_of(rows)
    found = {row.name: row for row in rows if not row.level}
    name, what = MACHINES[machine]
    if machine in GPUS:
        launch = found["launch from C++"]
        return (f"- **{name}**: {what}, {when}; driver {newest['driver']}, PyTorch {newest['torch']}, Triton {newest['triton']}. "
                f"A launch from C++ takes {launch.ours:.1f} us, `cuLaunchKernel` alone {launch.best_of(['cuLaunchKernel']):.1f}.")
    notes = [f"; {run['note']}" for run in runs if "note" in run]
    times = [f"{found[key].ours:.2f} us from {key[12:]}" for key in ("launch from Python", "launch from C++") if key in found]
    compiled = [found[key].ours for key in ("compile vector add", "compile matmul", "compile attention")]
    return (f"- **{name}**: {newest['machine'] if isinstance(newest.get('machine'), str) else what}, {when}{''.join(dict.fromkeys(notes))}. PyTorch {newest.get('pytorch', 'unknown')}, OpenBLAS {newest.get('openblas', 'unknown')}. "
            f"A launch takes {', '.join(times)}; the first compilation {min(compiled):.0f} to {max(compiled):.0f} ms.")


def machine_parts(data):
    lines = [machine_summary(machine, *data[machine]) for machine in MACHINES] + [""]
    for machine in MACHINES:
        lines += machine_table(machine, data[machine][0]) + [""]
    return lines[:-1]


def glance(data, machines):
    """One line for each kind of work, one column for each machine."""
    lines = ["| " + " | ".join(["work", "compared with", *(MACHINES[machine][0] for machine in machines)]) + " |", "| --- | --- |" + " --- |" * len(machines)]
    for group in groups_of(machines[0]):
        if group.glance:
            lines.append("| " + " | ".join([group.title, group.baseline, *(span(group.rows(data[machine][0])) for machine in machines)]) + " |")
    return lines


# The first screens and the picture show these machines.
SHOWN = {"gpu": "h200", "cpu": "cpu_zen4"}
# The first screens show these: {group: what it is called there}, in English and in Chinese.
FIRST = {"gpu": {"matmul fp16, bf16": ("matmul fp16, bf16", "矩阵乘法 fp16、bf16"), "attention forward": ("attention forward", "注意力前向"),
                 "attention backward, atomic dQ": ("attention backward, atomic dQ", "注意力反向（原子累加 dQ）"), "softmax, norms, losses, rotary": ("softmax, norms, losses", "softmax、归一化、损失"),
                 "kernels without a tuner": ("156 kernels, untuned", "156 个未调优的 kernel"), "compile time": ("compile time", "编译时间"), "launch from Python": ("launch from Python", "从 Python 启动")},
         "cpu": {"matmul fp32": ("matmul fp32", "矩阵乘法 fp32"), "matmul int8": ("matmul int8", "矩阵乘法 int8"), "softmax, layer norm": ("softmax, layer norm", "softmax、layer norm"),
                 "attention forward fp32, bf16": ("attention forward", "注意力前向"), "attention backward fp32, bf16": ("attention backward", "注意力反向")}}


def first_screen(data, language):
    """Both kinds of machines in one short table, and when its rows were measured."""
    lines, measured_on = [], []
    for kind, machine in SHOWN.items():
        name = MACHINES[machine][0] + ("" if kind == "gpu" else [", 2 cores", "（2 核）"][language])
        groups = {group: group.rows(data[machine][0]) for group in GROUPS[kind] if group.title in FIRST[kind]}
        for group, rated in groups.items():
            baseline = group.baseline if group.baseline.count(",") == 0 else ["best of ", "较快者："][language] + group.baseline
            lines.append(f"| {name}{[': ', '：'][language]}{FIRST[kind][group.title][language]} | {baseline} | {span(rated)} |")
        dates = dates_of([row for rated in groups.values() for _, row in rated], [" to ", " 至 "][language])
        measured_on.append([f"{dates} ({MACHINES[machine][0]})", f"{dates}（{MACHINES[machine][0]}）"][language])
    when = [f"Measured on {' and '.join(measured_on)}.", f"测量日期：{'、'.join(measured_on)}。"][language]
    head = ["| | compared with | geomean (worst to best) |", "| | 比较对象 | 几何平均（最差到最好） |"][language]
    return [when, "", head, "| --- | --- | --- |", *lines]


def picture(data):
    sections = []
    for machine in SHOWN.values():
        rows = []
        for group in groups_of(machine):
            rated = group.rows(data[machine][0])
            if group.glance and rated:
                rows.append((f"{group.title} vs. {group.baseline}", rated[0][0], mean(rated), rated[-1][0]))
        name, what = MACHINES[machine]
        sections.append((f"{name} ({what})", rows))
    return svg.ranges("Speed relative to the best baseline: worst, geometric mean, best", sections, 0.5, 5, [0.5, 0.75, 1, 1.5, 2, 3, 5])


def reasons():
    """[(machines, names, sizes, text)] of benchmarks/reasons.txt."""
    lines = (ROOT / "benchmarks/reasons.txt").read_text().splitlines()
    parsed = [[cell.strip() for cell in line.split("|")] for line in lines if line and not line.startswith("#")]
    return [(machines.split(), names.split("; "), sizes.split("; "), text) for machines, names, sizes, text in parsed]


def low_rows(data):
    """{(machine, group): [(ratio, row)]} of the ratios that are short."""
    found = {}
    for machine in MACHINES:
        for group in groups_of(machine):
            low = [(ratio, row) for ratio, row in group.rows(data[machine][0]) if ratio < SHORT]
            if low:
                found[machine, group] = low
    return found


def why_short(data):
    low, explained, lines = low_rows(data), set(), []
    for machines, names, sizes, text in reasons():
        where, level = [], None
        for machine in machines:
            level = "avx2" if machine.endswith(":avx2") else ""
            machine = machine.removesuffix(":avx2")
            matches = [(ratio, row) for (there, group), rated in low.items() if there == machine for ratio, row in rated
                       if row.level == level and any(fnmatch.fnmatchcase(row.name, name) for name in names) and any(fnmatch.fnmatchcase(row.size, size) for size in sizes)]
            explained |= {(machine, row.key) for _, row in matches}
            if matches:
                matches.sort(key=lambda pair: pair[0])
                first, last = f"{matches[0][0]:.2f}", f"{matches[-1][0]:.2f}"
                where.append(f"{MACHINES[machine][0]} {first}" + (f" to {last}" if last != first else ""))
        if not where:
            raise SystemExit(f"benchmarks/reasons.txt: no row is short any more: {text}")
        what, _, why = text.partition(": ")
        lines.append(f"- **{what}** ({', '.join(where)}): {why}")
    missing = [f"{machine}: {row.name} {row.size} {row.dtype} {row.level} {ratio:.2f}" for (machine, _), rated in low.items() for ratio, row in rated
               if ratio < NEEDS_REASON and (machine, row.key) not in explained]
    if missing:
        raise SystemExit("benchmarks/reasons.txt has no reason for\n  " + "\n  ".join(missing))
    return lines


def short_rows(data):
    """The sentence on where it loses, by count."""
    total = low = 0
    for machine in MACHINES:
        for group in groups_of(machine):
            rated = group.rows(data[machine][0])
            total, low = total + len(rated), low + sum(ratio < SHORT for ratio, _ in rated)
    worst = sorted(((ratio, MACHINES[machine][0], group.title) for (machine, group), rated in low_rows(data).items() for ratio, _ in rated[:1]))[:3]
    named = "; ".join(f"{title} on {machine} {ratio:.2f}" for ratio, machine, title in worst)
    return [f"Of {total} rows, {low} are below {SHORT}. The lowest: {named}."]


def models(data, head, mean):
    """torch.compile's models on a GPU, compared with Triton: a call, its kernels on the GPU, and the first call, as far as they were measured. That
    page has ratios of times: below 1 is faster."""
    rows = {(row.name, row.size): row for row in data["h200"][0] if row.name.startswith("torch.compile")}
    parts = ["torch.compile", "torch.compile, kernels", "torch.compile, first call"]
    lines, rated = [head, "| --- |" + " --- |" * 3 * len(parts)], {part: [] for part in parts}
    for size in [size for name, size in rows if name == parts[0]]:
        cells = [size]
        for part in parts:
            if row := rows.get((part, size)):
                rated[part].append(1 / row.ratio(["triton"]))
                cells += [row.ours, row.baselines["triton"], f"{rated[part][-1]:.2f}"]
            else:
                cells += ["", "", ""]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    means = [math.exp(sum(map(math.log, each)) / len(each)) for each in rated.values()]
    return [*lines, f"| {mean} |" + "".join(f" | | {each:.2f} |" for each in means)]


def conformance_line():
    data = conformance.load()
    rates = {device: conformance.rate(data[device]["suites"].values()) for device in ("cpu", "cuda")}
    return [f"- Of the cases of Triton's own tests that the machine can run, {rates['cpu']} pass on a CPU and {rates['cuda']} on an H200 ([conformance](docs/conformance.md))."]


def blocks(data):
    """{name: its lines}"""
    return {"at a glance": [*glance(data, GPUS), "", *glance(data, CPUS)], "machines": machine_parts(data), "why short": [*short_rows(data), "", *why_short(data)],
            "conformance": conformance_line(), "first screen": first_screen(data, 0), "first screen zh": first_screen(data, 1),
            "models": models(data, "| model | call, us: Tilewright | Triton | ratio | kernels, us: Tilewright | Triton | ratio | first call, s: Tilewright | Triton | ratio |",
                             "geometric mean"),
            "models zh": models(data, "| 模型 | 调用，微秒：Tilewright | Triton | 比值 | kernel，微秒：Tilewright | Triton | 比值 | 首次调用，秒：Tilewright | Triton | 比值 |",
                                "几何平均")}


def rewritten(text, made):
    def filled(match):
        return match[1] + "\n".join(made[match[2]]) + "\n" + match[3]
    return BLOCK.sub(filled, text)


def wanted():
    """{path: text} of all files that this tool writes."""
    data = measured()
    made = blocks(data)
    return {PICTURE: picture(data)} | {page: rewritten((ROOT / page).read_text(), made) for page in PAGES}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    options, wrong = parser.parse_args(), []
    for path, text in wanted().items():
        if options.check and (not (ROOT / path).exists() or (ROOT / path).read_text() != text):
            wrong.append(path)
        elif not options.check:
            (ROOT / path).write_text(text)
    if wrong:
        sys.exit(f"{', '.join(wrong)}: not what benchmarks/results says; run tools/performance_page.py")


if __name__ == "__main__":
    main()
