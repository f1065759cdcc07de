"""Installs the wheels of dist/ into virtual environments and runs tests/wheel there, outside of the checkout. Closes with "N passed, N failed".

    tools/wheel_test.py [--only TEXT...] [--list] [--keep] [--folder FOLDER]
    tools/wheel_test.py --arch aarch64      the wheel for 64-bit ARM, in an emulated Python

An environment's name says what is in it: 3.12-numpy2-torch2.15. --only takes those whose names contain one of the texts. Environments are made
fresh, which downloads up to 2 GB each with PyTorch; with --keep they stay in FOLDER, and the next run with --keep replaces Tilewright alone.
"""

import argparse
import collections
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

from wheel import SYSROOT, find_python, root

PURE = ["filelock", "typing-extensions", "sympy", "networkx", "jinja2", "fsspec", "setuptools", "expecttest"]
# What is installed by name. PyTorch comes with --no-deps: its CUDA libraries are gigabytes that a CPU does not use, but for those it is linked to.
PACKAGES = {
    "numpy1.26": ["numpy==1.26.4"],
    "numpy2": ["numpy>=2"],
    "torch2.11": ["torch==2.11.0", "nvidia-cufile==1.15.1.6", "nvidia-cusparselt-cu13==0.8.0", "nvidia-nvshmem-cu13==3.4.5"],
    "torch2.15": ["torch==2.15.0", "nvidia-cusparselt-cu13==0.8.1", "nvidia-nvshmem-cu13==3.7.2", "nvidia-cufile", "nvidia-nccl-cu13==2.30.7"],
    "triton3.9": ["triton==3.9.0"],
}
# NumPy 1.26 has no wheel for Python 3.13, nor PyTorch 2.15 for 3.10.
ENVIRONMENTS = [
    "3.10", "3.10-numpy1.26", "3.10-numpy2", "3.10-numpy1.26-torch2.11",
    "3.11", "3.11-numpy1.26", "3.11-numpy2-torch2.11", "3.11-numpy2-torch2.15",
    "3.12", "3.12-numpy1.26", "3.12-numpy2-torch2.11", "3.12-numpy2-torch2.15", "3.12-numpy2-triton3.9",
    "3.13", "3.13-numpy2", "3.13-numpy2-torch2.11", "3.13-numpy2-torch2.15",
]  # fmt: skip
SECONDS = 60  # of CPU time, for the tests of one environment: wall time depends on what else the machine does


def run(command, **options):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)


def outside():
    """The environment of a user's shell: nothing of it leads into a checkout."""
    names = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH")
    return {name: value for name, value in os.environ.items() if name not in names and not name.startswith(("TILEWRIGHT_", "TRITON_", "TORCHINDUCTOR_"))}


def wheel_for(version):
    wheels = list((root / "dist").glob("*.whl"))
    own = [wheel for wheel in wheels if f"-cp{version.replace('.', '')}-cp" in wheel.name]
    stable = [wheel for wheel in wheels if "-abi3-" in wheel.name and tuple(map(int, version.split("."))) >= (3, int(re.search(r"-cp3(\d+)-", wheel.name)[1]))]
    found = own or stable
    if not found:
        raise RuntimeError(f"there is no wheel for Python {version} in dist; make wheel builds it")
    return max(found, key=lambda wheel: wheel.stat().st_mtime)


def make(name, folder, keep):
    """The Python of an environment with everything but Tilewright."""
    version, *parts = name.split("-")
    python = folder / "bin" / "python"
    if keep and (folder / "complete").exists():
        return python
    base = find_python(version)
    if not base:
        raise RuntimeError(f"there is no Python {version} (with venv) in PATH or ~/.pyenv/versions")
    shutil.rmtree(folder, ignore_errors=True)
    packages = ["pytest"] + [package for part in parts if not part.startswith("torch") for package in PACKAGES[part]]
    torch = [package for part in parts if part.startswith("torch") for package in PACKAGES[part]]
    steps = [[base, "-m", "venv", folder], [python, "-m", "pip", "install", "-q", *packages, *(PURE if torch else [])]]
    if torch:
        steps.append([python, "-m", "pip", "install", "-q", "--no-deps", *torch])
    for step in steps:
        done = run(step, env=outside())
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, step))}:\n{done.stdout}")
    (folder / "complete").touch()
    return python


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def files_for(name):
    parts = [re.sub(r"[\d.]+$", "", part) for part in name.split("-")[1:]]
    return [f"smoke_{part}.py" for part in ["base", *parts]]


def test(name, folder, keep):
    """Returns the numbers of passed and failed tests; prints what failed."""
    start = time.time()
    try:
        python = make(name, folder, keep)
        wheel = wheel_for(name.split("-")[0])
        made = time.time()
        done = run([python, "-m", "pip", "install", "-q", "--force-reinstall", "--no-index", "--no-deps", wheel], env=outside())
        if done.returncode:
            raise RuntimeError(done.stdout)
    except RuntimeError as error:
        print(f"{name}: {error}", flush=True)
        return 0, 1
    with tempfile.TemporaryDirectory() as scratch:
        for file in (root / "tests" / "wheel").glob("*.py"):
            shutil.copy(file, scratch)
        env = outside() | {"TILEWRIGHT_CACHE_DIR": scratch + "/cache", "TORCHINDUCTOR_CACHE_DIR": scratch + "/inductor"}
        begun, used = time.time(), cpu_seconds()
        done = run([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=3", *files_for(name)], cwd=scratch, env=env)
        wall, taken = time.time() - begun, cpu_seconds() - used
    passed, failed = count_of(done.stdout, done.returncode)
    if failed:
        print(done.stdout)
    if taken > SECONDS:
        print(f"{name}: the tests took {taken:.0f} s of CPU time, more than {SECONDS}")
        print(done.stdout[-800:])
        failed += 1
    print(f"{name:<26} {wheel.name.split('-')[2]}-{wheel.name.split('-')[3]:<6} {passed:>3} passed {failed:>2} failed   "
          f"{wall:3.0f} s, {taken:.0f} s of CPU time (environment {made - start:.0f} s)", flush=True)
    return passed, failed


def count_of(output, status):
    counts = collections.Counter({word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|errors?|skipped)", output)})
    failed = counts["failed"] + counts["error"] + counts["errors"] + counts["skipped"]
    return counts["passed"], failed or int(status != 0)


def test_arm():
    """Unpacks the wheel and runs tests in the sysroot's Python, under an emulator. It cannot start other emulated programs, such as pip."""
    wheels = list((root / "dist").glob("*-cp311-*_aarch64.whl"))
    if not wheels:
        print("there is no wheel for aarch64 in dist; tools/wheel.py --arch aarch64 builds it")
        return 0, 1
    run([root / "tools" / "arm_sysroot.sh", SYSROOT])
    with tempfile.TemporaryDirectory() as scratch:
        with zipfile.ZipFile(max(wheels, key=lambda wheel: wheel.stat().st_mtime)) as wheel:
            wheel.extractall(scratch)
        shutil.copy(root / "tests" / "wheel" / "smoke_aarch64.py", scratch)
        python = ["qemu-aarch64", "-cpu", "max,sve256=on,sve512=off", "-L", SYSROOT, SYSROOT / "usr" / "bin" / "python3.11"]
        env = outside() | {"TILEWRIGHT_CACHE_DIR": scratch + "/cache", "PYTHONPATH": scratch}
        done = run([*python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "smoke_aarch64.py"], cwd=scratch, env=env)
    passed, failed = count_of(done.stdout, done.returncode)
    if failed:
        print(done.stdout)
    return passed, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="TEXT")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, default=root / "build" / "wheel-test")
    parser.add_argument("--arch", choices=["x86_64", "aarch64"], default="x86_64")
    options = parser.parse_args()
    if options.arch == "aarch64":
        passed, failed = test_arm()
        print(f"{passed} passed, {failed} failed")
        sys.exit(failed > 0 or passed == 0)
    chosen = [name for name in ENVIRONMENTS if not options.only or any(text in name for text in options.only)]
    if options.list:
        return print("\n".join(chosen))
    passed = failed = 0
    for name in chosen:
        folder = options.folder / name
        one = test(name, folder, options.keep)
        passed, failed = passed + one[0], failed + one[1]
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0 or passed == 0)


if __name__ == "__main__":
    main()
