"""Runs every example and prints one table (`make demo`). `--quick` checks small sizes without timing."""

import importlib.util
import pathlib
import sys

import common


def load(path):
    """Imports a file whose name starts with a digit."""
    spec = importlib.util.spec_from_file_location("example_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def main():
    quick = "--quick" in sys.argv
    print(common.ROW.format("kernel", "size", "dtype", "check", "time", "rate"))
    results = []
    for path in sorted(pathlib.Path(__file__).resolve().parent.glob("[0-9][0-9]_*.py")):
        results += load(path).run(quick)
    wrong = [result for result in results if not result.ok]
    print(f"\n{len(results) - len(wrong)} of {len(results)} checks agree with float64 NumPy")
    for result in wrong:
        print(f"  wrong: {result.kernel} {result.case.size} {result.case.dtype}: {result.error:.1f} x the allowed error")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
