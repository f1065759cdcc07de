"""How long the kernels of examples/cpp take to compile: CPU seconds of each C++ compiler, the best of several runs.

    python benchmarks/cpp_compile_time.py [--examples 06,13] [--compilers g++,clang++-22] [--flags=-O0,-O2] [--runs 3]

The last row of each column is the largest. Use an idle machine: CPU seconds grow if other programs share its caches and cores.
"""
import argparse
import resource
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", default="", help="numbers of examples; all by default")
    parser.add_argument("--compilers", default="g++,clang++-22,clang++-16")
    parser.add_argument("--flags", default="-O0,-O2")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--include", default=str(ROOT / "include"), help="the headers, to compare two versions")
    options = parser.parse_args()
    compilers = [name for name in options.compilers.split(",") if shutil.which(name)]
    columns = [(compiler, flag) for compiler in compilers for flag in options.flags.split(",")]
    wanted = tuple(filter(None, options.examples.split(",")))
    sources = [path for path in sorted((ROOT / "examples" / "cpp").glob("[0-9]*.cpp")) if not wanted or path.name.startswith(wanted)]
    print(" ".join([f"{'example':26}", *(f"{compiler + ' ' + flag:>15}" for compiler, flag in columns)]))
    largest = [0.0] * len(columns)
    for source in sources:
        row = []
        for compiler, flag in columns:
            command = [compiler, "-std=c++20", flag, f"-I{options.include}", "-c", "-o", "/dev/null", source]
            row.append(min(seconds(command) for _ in range(options.runs)))
        largest = [max(pair) for pair in zip(largest, row)]
        print(" ".join([f"{source.stem:26}", *(f"{value:15.2f}" for value in row)]), flush=True)
    print(" ".join([f"{'largest':26}", *(f"{value:15.2f}" for value in largest)]))


if __name__ == "__main__":
    main()
