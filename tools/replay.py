#!/usr/bin/env python3
"""Shows whether two builds generate the same code: the CPU assembly and the PTX of every kernel of the examples, byte for byte.

    tools/replay.py BEFORE/bin/tilewright AFTER/bin/tilewright [--show]

A change that only moves or renames must end with "0 differ". --show prints the first lines in which a kernel differs, --code leaves out the
lines that name launch guards.
"""

import argparse
import difflib
import pathlib
import subprocess
import sys

from example_kernels import KERNELS

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGETS = [("cpu:avx2", "asm"), ("cpu:avx512", "asm"), ("cuda:sm_80", "ptx"), ("cuda:sm_90a", "ptx")]


def code(command, case, target, stage):
    """What the command says: the code, or why there is none."""
    example, kernel, signature, warps, stages = case
    done = subprocess.run([command, "compile", ROOT / "examples" / f"{example}.py", "--kernel", kernel, "--signature", signature, "--target",
                           target, "--emit", stage, "--num-warps", str(warps), "--num-stages", str(stages)], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"replay: {command} ended with status {done.returncode} on {example}, {target}: {done.stderr[-500:]}")
    return done.stdout if done.returncode == 0 else "refused: " + done.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--code", action="store_true")
    options = parser.parse_args()
    compared = made = differ = 0
    for case in KERNELS:
        for target, stage in TARGETS:
            before, after = (code(command, case, target, stage) for command in (options.before, options.after))
            if options.code:
                before, after = ("\n".join(line for line in text.splitlines() if not line.startswith(("# assumes: ", "// assumes: "))) for text in (before, after))
            compared += 1
            made += not before.startswith("refused: ")
            if before == after:
                continue
            differ += 1
            print("differs:", case[0], case[2], target, flush=True)
            if options.show:
                lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=0)
                print("\n".join(list(lines)[:20]))
    print(f"{compared} compared, {made} of them code, {differ} differ")
    sys.exit(1 if differ or not made else 0)


if __name__ == "__main__":
    main()
