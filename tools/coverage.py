"""Runs tests of an instrumented build (`make coverage`), and reports how much of each folder they execute.

    tools/coverage.py --build build/coverage [--test-flags "--only unit"] [--record] [--report-only]

The tests are those of `make check` unless --test-flags names others. The table has a row for each folder of src/, cli/ and python/.
Functions that no test executed are listed in unexecuted.txt of the build folder. Some of these run only on a GPU, or in other tests.
It fails if a test fails, or if a folder is below its floor: the percentage of its lines in tests/coverage.json. --record replaces
this file by the measured percentages, rounded down.
"""

import argparse
import collections
import json
import pathlib
import shlex
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
llvm = pathlib.Path("/usr/lib/llvm-22/bin")
FLOORS = root / "tests" / "coverage.json"
HAVE_FLOORS = ["src/cpu", "src/gpu", "src/runtime"]


def output_of(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{command[0]} failed")
    return done.stdout


def objects(build):
    """Programs and libraries that hold instrumented code."""
    candidates = [*(build / "bin").iterdir(), *(build / "lib").glob("*.so*"), *(build / "python" / "tilewright").glob("_core.*")]
    found = {path.resolve() for path in candidates if path.is_file()}
    return sorted(path for path in found if "__llvm_covmap" in output_of(llvm / "llvm-readelf", "-S", "-W", path))


class File:
    def __init__(self):
        self.lines = {}  # how often each was executed
        self.functions = collections.defaultdict(int)  # the same by (line, name); instances of a template have one line
        self.names = {}


def executed(build):
    """A File for each source file, from the profiles of the tests."""
    profile = build / "all.profdata"
    output_of(llvm / "llvm-profdata", "merge", "-sparse", *(build / "profiles").glob("*.profraw"), "-o", profile)
    first, *others = objects(build)
    text = output_of(llvm / "llvm-cov", "export", "-format=lcov", "-skip-expansions", f"-instr-profile={profile}", first,
                     *(f"-object={path}" for path in others))
    files, file, places = collections.defaultdict(File), None, {}
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "SF":
            path = pathlib.Path(value)
            file, places = files[path.relative_to(root).as_posix()] if path.is_relative_to(root) else None, {}
        elif file is None:
            continue
        elif key == "DA":
            number, count = map(int, value.split(",")[:2])
            file.lines[number] = file.lines.get(number, 0) + count
        elif key == "FN":
            number, name = value.split(",", 1)
            places[name] = int(number)
            file.names.setdefault(int(number), name.rpartition(":")[2])
        elif key == "FNDA":
            count, name = value.split(",", 1)
            file.functions[places[name]] += int(count)
    return {name: file for name, file in files.items() if name.startswith(("src/", "cli/", "python/")) and file.lines}


def folder_of(name):
    """src/gpu and its folders have a row each; so do the other folders of src/."""
    *folders, _ = name.split("/")
    yield "/".join(folders[:2])
    if len(folders) > 2 and folders[:2] in (["src", "gpu"], ["src", "runtime"], ["src", "ir"]):
        yield "/".join(folders[:3])


def report(files):
    """Prints the table, and returns the percentage of executed lines by folder."""
    rows = collections.defaultdict(lambda: [0, 0, 0, 0])
    for name, file in files.items():
        counts = (len(file.lines), sum(map(bool, file.lines.values())), len(file.functions), sum(map(bool, file.functions.values())))
        for folder in folder_of(name):
            rows[folder] = [total + count for total, count in zip(rows[folder], counts)]
    print(f"{'folder':<24} {'lines':>7} {'executed':>9} {'functions':>10} {'executed':>9}")
    for folder, (lines, hit, functions, called) in sorted(rows.items()):
        print(f"{folder:<24} {lines:>7} {100 * hit / lines:>8.1f}% {functions:>10} {100 * called / max(functions, 1):>8.1f}%")
    return {folder: 100 * hit / lines for folder, (lines, hit, *_) in rows.items()}


def unexecuted(files, path):
    rows = [(name, line, file.names[line]) for name, file in sorted(files.items()) for line, count in sorted(file.functions.items()) if not count]
    names = subprocess.run([str(llvm / "llvm-cxxfilt")], input="\n".join(name for *_, name in rows), stdout=subprocess.PIPE, text=True).stdout
    path.write_text("".join(f"{file}:{line}: {name}\n" for (file, line, _), name in zip(rows, names.splitlines())))
    print(f"{len(rows)} functions that no test executed: {path}")


def main():
    parser = argparse.ArgumentParser(description="How much of each folder the tests execute.")
    parser.add_argument("--build", default="build/coverage", help="the build folder of the preset `coverage`")
    parser.add_argument("--test-flags", default="--only unit lit run --sample 20", help="what tools/run_tests.py runs")
    parser.add_argument("--record", action="store_true", help="write the floors")
    parser.add_argument("--report-only", action="store_true", help="run no test: report on the profiles that are there")
    options = parser.parse_args()
    build, failed = pathlib.Path(options.build).resolve(), False
    if not options.report_only:
        for old in (build / "profiles").glob("*.profraw"):
            old.unlink()
        tests = [sys.executable, root / "tools" / "run_tests.py", "--build", build, *shlex.split(options.test_flags)]
        failed = subprocess.run(tests).returncode != 0
    files = executed(build)
    found = report(files)
    unexecuted(files, build / "unexecuted.txt")
    if options.record:
        FLOORS.write_text(json.dumps({folder: int(found[folder]) for folder in HAVE_FLOORS}, indent=2) + "\n")
    for folder, floor in (json.loads(FLOORS.read_text()) if FLOORS.exists() else {}).items():
        if found.get(folder, 0) < floor:
            failed = True
            print(f"{folder}: tests execute {found.get(folder, 0):.1f}% of the lines, and the floor is {floor}%")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
