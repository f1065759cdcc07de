#!/usr/bin/env python3
"""Predicts how fast the inner loops of matmul are on 64-bit ARM CPUs, by llvm-mca. Nothing is measured.

    tools/predict_arm.py BUILD/bin/tilewright

compiles examples 03 and 10, takes the loop with the most multiply-adds, and prints a row for each type, level and CPU of the table in
docs/stages/cpu_gemm.md: multiply-add instructions in the loop, cycles of an iteration, and the part of the peak. The peak is the rate that
llvm-mca predicts for the same instruction alone, with independent operands. llvm-mca assumes that loads hit the L1 cache.
"""

import argparse
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZES = ("M=i32:16,N=i32:16,K=i32:16,stride_am=i32:16,stride_ak=1,stride_bk=i32:16,stride_bn=1,stride_cm=i32:16,stride_cn=1,"
         "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32")
FLOATS = ("examples/03_matmul_basic.py", "matmul_kernel", "a_ptr=*{0}:16,b_ptr=*{0}:16,c_ptr=*fp32:16," + SIZES)
BYTES = ("examples/10_int8_matmul.py", "int8_matmul_kernel",
         "a_ptr=*i8:16,b_ptr=*i8:16,row_scale_ptr=*fp32:16,column_scale_ptr=*fp32:16,exact_ptr=*i32:16,c_ptr=*fp32:16," + SIZES)
ROWS = (  # type, kernel, level, instruction, CPUs, the same instruction with independent operands
    ("fp32", FLOATS, "neon", "fmla", ("neoverse-v2", "neoverse-v1", "apple-m1", "apple-m4"), "fmla v{0}.4s, v30.4s, v31.s[1]"),
    ("fp32", FLOATS, "sve256", "fmla", ("neoverse-v1",), "fmla z{0}.s, z30.s, z7.s[1]"),
    ("bf16", FLOATS, "neon-dot", "bfmmla", ("neoverse-v2", "neoverse-v1", "apple-m4"), "bfmmla v{0}.4s, v30.8h, v31.8h"),
    ("int8", BYTES, "neon-dot", "smmla", ("neoverse-v2", "neoverse-v1", "apple-m4"), "smmla v{0}.4s, v30.16b, v31.16b"),
)
ITERATIONS = 200


def assembly(command, kernel, level, dtype):
    file, name, signature = kernel
    words = [command, "compile", ROOT / file, "--kernel", name, "--signature", signature.format(dtype), "--target", f"cpu:{level}", "--emit", "asm"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def inner_loop(code, instruction):
    """The lines of the loop without a loop in it that has the most instructions of this name."""
    lines, labels, found = code.splitlines(), {}, []
    for number, line in enumerate(lines):
        if label := re.match(r"(\.L\w+):", line):
            labels[label[1]] = number
        branch = re.match(r"\s+(?:b\.?\w*|cbn?z|tbn?z)\s+.*?(\.L\w+)", line)
        if not branch or branch[1] not in labels:
            continue
        body = lines[labels[branch[1]] + 1:number + 1]
        if not any(line.startswith(".L") for line in body):
            found.append((count(body, instruction), body))
    return max(found, key=lambda loop: loop[0])[1]


def count(lines, instruction):
    return sum(line.split()[:1] == [instruction] for line in lines)


def cycles(lines, cpu):
    """Of one iteration."""
    words = ["llvm-mca-22", "-mtriple=aarch64", f"-mcpu={cpu}", "-mattr=+bf16,+i8mm,+sve", f"-iterations={ITERATIONS}"]
    done = subprocess.run(words, input="\n".join(lines), capture_output=True, text=True, check=True)
    return int(re.search(r"Total Cycles:\s+(\d+)", done.stdout)[1]) / ITERATIONS


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", help="the command of a build")
    options = parser.parse_args()
    print("| operands | target | instruction | CPU | in the loop | cycles | part of the peak |\n| --- | --- | --- | --- | --- | --- | --- |")
    for dtype, kernel, level, instruction, cpus, alone in ROWS:
        loop = inner_loop(assembly(options.command, kernel, level, dtype), instruction)
        independent = [alone.format(number) for number in range(8, 30)]
        for cpu in cpus:
            number, taken = count(loop, instruction), cycles(loop, cpu)
            peak = len(independent) / cycles(independent, cpu)
            print(f"| {dtype} | `cpu:{level}` | {instruction} | {cpu} | {number} | {taken:.1f} | {min(number / taken / peak, 1):.1%} |")


if __name__ == "__main__":
    main()
