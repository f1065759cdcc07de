#!/usr/bin/env python3
"""Shows whether two builds generate the same code, byte for byte: CPU assembly and PTX of many kernels.

    tools/replay.py OLD/bin/tilewright NEW/bin/tilewright [--show] [--code] [--only TEXT]

The kernels are those of the examples, for five targets each, and those that the tests in tests/gpu and tests/cpu compile, with the options of
their RUN lines. A change that only moves or renames must end with "0 differ". --show prints the first lines in which a kernel differs, --code
leaves out the lines that name assumptions about launches, --only takes the kernels whose options contain a text.
"""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

from example_kernels import KERNELS

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGETS = ["cpu:avx2", "cpu:avx512", "cuda:sm_80", "cuda:sm_90a", "cuda:sm_100a"]
OUTPUT_OPTIONS = {"--emit", "--until", "--dump", "-o"}  # of RUN lines, with a value each


def of_examples():
    for example, kernel, signature, warps, stages in KERNELS:
        for target in TARGETS:
            yield [f"examples/{example}.py", "--kernel", kernel, "--signature", signature, "--target", target, "--num-warps", str(warps), "--num-stages",
                   str(stages)]


def run_lines(path):
    """The commands of a lit test, with %s and %S replaced."""
    text = re.sub(r"\\\n.*?RUN:", " ", path.read_text())
    for line in re.findall(r"RUN: *(.*)", text):
        yield line.replace("%S", path.parent.as_posix()).replace("%s", path.as_posix())


def of_tests():
    """The options of each `tilewright compile` for a named target in the RUN lines."""
    for path in sorted(path for folder in ("gpu", "cpu") for path in (ROOT / "tests" / folder).iterdir() if path.suffix in (".py", ".test", ".mlir")):
        for line in run_lines(path):
            try:
                words = shlex.split(line)
            except ValueError:  # the macro of a test that is no shell text
                continue
            if words[:2] != ["tilewright", "compile"] or "%" in line.split("|")[0]:
                continue
            words = words[2:words.index("|") if "|" in words else None]
            options, skip = [], False
            for word in words:
                if not skip and word not in OUTPUT_OPTIONS and word not in ("2>&1", "--text"):
                    options.append(os.path.relpath(word, ROOT) if word.startswith("/") else word)
                skip = word in OUTPUT_OPTIONS
            if any(word.startswith(("cuda:", "cpu:")) for word in options):
                yield options


def code(command, options):
    """What the command prints: the code, or why there is none."""
    stage = "ptx" if any(option.startswith("cuda:") for option in options) else "asm"
    done = subprocess.run([command, "compile", *options, "--emit", stage], capture_output=True, text=True, cwd=ROOT)
    if done.returncode not in (0, 1):
        sys.exit(f"replay: {command} ended with status {done.returncode} on {shlex.join(options)}: {done.stderr[-500:]}")
    return done.stdout if done.returncode == 0 else "refused: " + done.stderr


def without_assumptions(text):
    return "\n".join(line for line in text.splitlines() if not line.startswith(("# assumes: ", "// assumes: ")))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--code", action="store_true")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    commands = [pathlib.Path(command).resolve() for command in (options.before, options.after)]
    cases = [case for case in dict.fromkeys(map(tuple, [*of_examples(), *of_tests()])) if options.only in shlex.join(case)]
    made = differ = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, (before, after) in zip(cases, pool.map(lambda case: [code(command, case) for command in commands], cases)):
            if options.code:
                before, after = without_assumptions(before), without_assumptions(after)
            made += not before.startswith("refused: ")
            if before == after:
                continue
            differ += 1
            print("differs:", shlex.join(case), flush=True)
            if options.show:
                lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=0)
                print("\n".join(list(lines)[:20]))
    print(f"{len(cases)} compared, {made} of them code, {differ} differ")
    sys.exit(1 if differ or not made else 0)


if __name__ == "__main__":
    main()
