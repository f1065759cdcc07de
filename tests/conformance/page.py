#!/usr/bin/env python3
"""Writes docs/conformance.md from tests/conformance/results.json, where `run` and `libraries` store what they counted.

    tests/conformance/page.py            writes the page
    tests/conformance/page.py --check    exits with 1 if the page is not what the file says
"""

import collections
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA, PAGE = ROOT / "tests/conformance/results.json", ROOT / "docs/conformance.md"
FEW, ALONE = 2, {"other", "extension", "WRONG NUMBER"}  # a class of so few cases has no line of its own, but these have one
DEVICES = {"cpu": "CPU", "cuda": "GPU", "simulate": "simulator"}

HEAD = """# Conformance

`tests/conformance/run` runs the test files and tutorials of a checkout of triton-cpu, unchanged, with Tilewright in Triton's place. The rates leave out cases that need
hardware or a tool that the machine does not have, cases that are skipped, and cases that are expected to fail. Cases that only compile count. If only a sample of a file ran,
its result stands for the whole file. Tests of Triton's C++ classes and of Gluon do not run (`LEFT_OUT` in the script). [Third-party libraries](clients.md) has the tests of libraries, [PyTorch](howto/pytorch.md) the models under `torch.compile`.
"""


def load(data=DATA):
    return json.loads(data.read_text()) if data.exists() else {}


def store(data, name, value):
    """Replaces one part of the data file."""
    everything = load(data) | {name: value}
    data.write_text(json.dumps(everything, indent=1) + "\n")
    return everything


def rate(suites):
    passed, failed = (sum(suite["weighed"][i] for suite in suites) for i in (0, 1))
    return f"{100 * passed / (passed + failed):.1f}%" if passed + failed else ""


def pass_rates(data):
    devices = [device for device in DEVICES if device in data]
    lines = ["## Triton's tests", ""]
    for device in devices:
        one = data[device]
        skips = ", ".join(f"`{skip['test']}` (\"{skip['reason']}\")" for skip in one.get("skips", []))
        skipped = f" Tutorials that end without a kernel count as skipped: {skips}." if skips else ""
        lines.append(f"- **{DEVICES[device]}**: {one['machine'] + ', ' if one['machine'] else ''}Triton at {one['checkout']}, {one['date']}.{skipped}")
    lines += ["", "| suite | " + " | ".join(f"{DEVICES[device]}: passed | failed | no hardware or tool | rate" for device in devices) + " |",
              "| --- |" + " --- | --- | --- | --- |" * len(devices)]
    names = sorted({name for device in devices for name in data[device]["suites"]})
    for name in [*names, "**all**"]:
        cells = [name]
        for device in devices:
            suites = data[device]["suites"]
            mine = list(suites.values()) if name == "**all**" else [suites[name]] if name in suites else []
            counts = [sum(suite[key] for suite in mine) for key in ("passed", "failed", "elsewhere")]
            cells += [counts[0], counts[1] - counts[2], counts[2] or "", rate(mine)] if mine else [""] * 4
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines + [""]


def failures(data):
    """One line for each class, with its cases on each device. Extensions are one class; classes of one or two cases are joined."""
    devices = [device for device in DEVICES if device in data]
    counts, reasons, examples = collections.defaultdict(collections.Counter), collections.defaultdict(dict), {}
    for device in devices:
        for one in data[device]["classes"]:
            counts[one["kind"]][device] += one["cases"]
            reasons[one["kind"]][one["reason"]] = None
            examples.setdefault(one["kind"], one["example"])
    for kind in [kind for kind, count in counts.items() if count.total() <= FEW and kind not in ALONE]:
        counts["other"] += counts.pop(kind)
        reasons["other"] |= reasons.pop(kind)
        examples.setdefault("other", examples[kind])
    if "extension" in reasons:
        reasons["extension"] = {"asserts that Triton refuses what Tilewright accepts ([extensions](language.md))": None}
    lines = ["## Why cases do not pass", "", "| class | reason | " + " | ".join(DEVICES[device] for device in devices) + " | example |",
             "| --- | --- |" + " --- |" * len(devices) + " --- |"]
    for kind in sorted(counts, key=lambda kind: -counts[kind].total()):
        cells = [kind, ". ".join(reason[0].upper() + reason[1:] for reason in reasons[kind]), *(counts[kind][device] or "" for device in devices), f"`{examples[kind].partition('[')[0]}`"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return lines + [""]


def listed(title, rows):
    """Files without a failure, of one machine and day, are one line."""
    passed = collections.defaultdict(list)
    for row in rows:
        if not row["failed"]:
            passed[row["machine"], row["date"]].append(row)
    joined = [one[0] | {"tests": "`, `".join(row["tests"] for row in one)} | {key: sum(row[key] for row in one) for key in ("passed", "skipped")} for one in passed.values()]
    rows = [row for row in rows if row["failed"]] + joined
    lines = [f"## {title}", "", "| tests | machine | passed | skipped | failed | why |", "| --- | --- | --- | --- | --- | --- |"]
    return lines + [f"| `{row['tests']}` | {row['machine']}, {row['date']} | {row['passed']} | {row['skipped'] or ''} | {row['failed'] or ''} | {row['why']} |" for row in rows] + [""]


def libraries(data):
    total = collections.Counter()
    for counts in data["libraries"]["rows"].values():
        total.update(counts)
    lines = ["## Kernels of libraries", "",
             f"`tests/conformance/libraries` compiles kernels of {len(data['libraries']['rows'])} libraries for guessed signatures ({data['libraries']['date']}): of {total['sampled']} kernels "
             f"{total['compiled']} compile, {total['CPU']} to an object for CPUs and {total['PTX']} to PTX. Of the others, Triton refuses {total['guess']} as well. "
             f"Triton cannot import the module of {total['another Triton']}, {total['not asked']} were not tried with Triton, and Triton accepts {total['refused here alone']}."]
    numbers = [f"{one['right']} of {one['cases']} on {one['machine']}" for one in data.get("numbers", [])]
    if numbers:
        lines.append(f"`tests/conformance/library_numbers` compares results and gradients of {data['numbers'][0]['operators']} operators with PyTorch ({data['numbers'][0]['date']}): "
                     f"right cases: {' and '.join(numbers)}.")
    return lines + [""]


def text(data):
    lines = [HEAD.rstrip(), ""]
    if any(device in data for device in DEVICES):
        lines += pass_rates(data) + failures(data)
    if "simulated" in data:
        lines += listed("Triton's tests and tutorial 10 with a simulated Blackwell GPU", data["simulated"])
    if "inductor" in data:
        lines += listed("PyTorch's tests of Inductor", data["inductor"])
    if "libraries" in data:
        lines += libraries(data)
    return "\n".join(lines)


def main():
    if sys.argv[1:] == ["--check"]:
        if PAGE.read_text() != text(load()):
            sys.exit("docs/conformance.md is not what tests/conformance/results.json says: run tests/conformance/page.py")
        return
    PAGE.write_text(text(load()))


if __name__ == "__main__":
    main()
