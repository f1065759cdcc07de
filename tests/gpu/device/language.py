"""Runs tests/run on the GPU: each file in a process of its own, because a process cannot use the device after a fault."""

import concurrent.futures
import importlib.util
import os
import subprocess
import sys

from loading import ROOT

AT_ONCE = 6


def run_file(path, only):
    select = " or ".join(only)
    command = [sys.executable, "-m", "pytest", "-q", "--tb=line", "-p", "no:cacheprovider", "-k", f"cuda and ({select})" if select else "cuda"]
    done = subprocess.run([*command, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    return path, done.returncode, done.stdout


def run(only):
    missing = [name for name in ("pytest", "numpy") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"the tests of the language need {', '.join(missing)}")
        return 1
    folder = os.path.join(ROOT, "tests", "run")
    files = sorted(name for name in os.listdir(folder) if name.startswith("test_") and name.endswith(".py"))
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        for path, code, output in pool.map(lambda name: run_file(os.path.join(folder, name), only), files):
            good = code in (0, 5)  # 5: nothing selected
            failed += not good
            lines = output.strip().splitlines()
            print(f"{os.path.basename(path)}: {lines[-1] if lines else code}", flush=True)
            if not good:
                print("\n".join("    " + line for line in lines[:-1] if " " in line)[:20000], flush=True)
    print(f"{len(files) - failed} files passed, {failed} failed")
    return 1 if failed else 0
