"""Builds the wheels and checks them: dist/tilewright-VERSION-*-manylinux_2_36_x86_64.whl.

    tools/wheel.py [--python 3.10 3.11 3.12] [--arch x86_64] [--jobs N] [--check WHEEL...]

The wheel of 3.12 uses Python's stable interface and serves all later versions. Each wheel is built as `pip wheel .` builds it; then it is checked
against the tags in its name, and rewritten with the name's platform and the best compression. With --check, wheels that exist are checked.

With --arch aarch64, a wheel of Python 3.11 for 64-bit ARM is cross-compiled against Debian's packages, which tools/arm_sysroot.sh unpacks.
"""

import argparse
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import zipfile

root = pathlib.Path(__file__).resolve().parent.parent
MACHINES = {"x86_64": "X86-64", "aarch64": "AArch64"}  # as readelf prints them
SYSROOT = pathlib.Path(os.environ.get("TILEWRIGHT_ARM_SYSROOT", root / "build" / "arm64-sysroot"))
MAX_MB = 32.0  # LLVM's code generator for AArch64 and LLD are 10 of it
# What the platform's policy allows, and the newest versions of symbols in it: those of Debian 12.
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6", "ld-linux-x86-64.so.2",
             "ld-linux-aarch64.so.1"}
NEWEST = {"GLIBC": (2, 36), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0)}
# What each library of the package may show to others in a process.
EXPORTS = {"libtilewright_rt.so.0": r"tw\w+|TILEWRIGHT_RT_\d+", "libtilewright.so.0": r"(tw|__jit_debug_)\w+|_Z\w+|TILEWRIGHT_\w+[\d.]*", "_core": r"PyInit__core"}


def find_python(version):
    """An interpreter of this version: from PATH, or one of pyenv's."""
    candidates = [shutil.which(f"python{version}") or ""]
    candidates += sorted(map(str, pathlib.Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")), reverse=True)
    for candidate in filter(None, candidates):
        done = subprocess.run([candidate, "-c", "import ensurepip, venv, sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    return None


def run_with_progress(command, env, log):
    """Runs a build, keeps what it prints in a file, and prints how far it is."""
    shown, start = -1, time.time()
    with open(log, "w") as kept, subprocess.Popen(command, cwd=root, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            kept.write(line)
            step = re.match(r"\s*\[(\d+)/(\d+)\]", line)
            if step and int(step[1]) * 10 // int(step[2]) > shown:
                shown = int(step[1]) * 10 // int(step[2])
                print(f"  [{step[1]}/{step[2]}] {time.time() - start:.0f} s", flush=True)
    if process.returncode:
        print(pathlib.Path(log).read_text()[-5000:])
        sys.exit(f"wheel: the build failed; all it printed is in {log}")


def platform_of(arch):
    return f"manylinux_2_36_{arch}"


def cross_settings(version, arch):
    """The environment in which CMake and scikit-build-core make a wheel of another machine with this machine's Python."""
    subprocess.run([root / "tools" / "arm_sysroot.sh", SYSROOT], check=True)
    data = next(SYSROOT.glob(f"usr/lib/python{version}/_sysconfigdata__{arch}-linux-gnu.py"), None)
    if data is None:
        sys.exit(f"wheel: the sysroot has no Python {version}")
    folder = root / "build" / f"sysconfig-{arch}"
    folder.mkdir(exist_ok=True)
    shutil.copy(data, folder)
    defines = {"CMAKE_TOOLCHAIN_FILE": root / "cmake" / f"{arch}.cmake", "TILEWRIGHT_SYSROOT": SYSROOT,
               "Python_INCLUDE_DIR": SYSROOT / "usr" / "include" / f"python{version}"}
    return {"PYTHONPATH": str(folder), "_PYTHON_SYSCONFIGDATA_NAME": data.stem, "_PYTHON_HOST_PLATFORM": f"linux-{arch}",
            "CMAKE_ARGS": " ".join(f"-D{name}={value}" for name, value in defines.items())}


def build(version, arch, jobs, scratch):
    python = find_python(version)
    if not python:
        sys.exit(f"wheel: there is no Python {version} (with venv) in PATH or ~/.pyenv/versions")
    print(f"wheel: Python {version}, {python}", flush=True)
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env["CMAKE_BUILD_PARALLEL_LEVEL"] = str(jobs)
    if shutil.which("ccache"):
        env |= {"CMAKE_C_COMPILER_LAUNCHER": "ccache", "CMAKE_CXX_COMPILER_LAUNCHER": str(root / "tools" / "ccache.sh"), "CCACHE_BASEDIR": str(root), "CCACHE_NOHASHDIR": "true"}
    # The build back end is installed once, at a place that does not change: else ccache would not find the bindings again.
    tools = root / "build" / f"wheel-venv-{version}"
    pip = [tools / "bin" / "python", "-m", "pip"]
    if not (tools / "complete").exists():
        subprocess.run([python, "-m", "venv", "--clear", tools], check=True)
        requires = tomllib.loads((root / "pyproject.toml").read_text())["build-system"]["requires"]
        subprocess.run([*pip, "install", "-q", "--disable-pip-version-check", *requires], env=env, check=True)
        (tools / "complete").touch()
    if arch != os.uname().machine:
        env |= cross_settings(version, arch)
    run_with_progress([*pip, "wheel", "-v", "--no-deps", "--no-build-isolation", "--wheel-dir", scratch, "."], env, root / "build" / f"wheel-{version}-{arch}.log")
    (built,) = pathlib.Path(scratch).glob("*.whl")
    return built


def write_wheel(source, target, arch):
    """Copies a wheel under the platform's tag. Equal contents give equal bytes."""
    with zipfile.ZipFile(source) as wheel, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
        entries = {entry.filename: (entry, wheel.read(entry)) for entry in wheel.infolist() if not entry.is_dir()}
        info = next(name for name in entries if name.endswith(".dist-info/WHEEL"))
        tagged = re.sub(rb"(?m)^(Tag: .*-)linux_\w+$", rb"\1" + platform_of(arch).encode(), entries[info][1])
        entries[info] = (entries[info][0], tagged)
        record = info.removesuffix("WHEEL") + "RECORD"
        rows = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
                       for name, (_, data) in sorted(entries.items()) if name != record)
        entries[record] = (entries[record][0], (rows + f"{record},,\n").encode())
        for name in sorted(entries, key=lambda name: (".dist-info/" in name, name == record, name)):  # the metadata last, as the format advises
            old, data = entries[name]
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr, entry.compress_type = old.external_attr, zipfile.ZIP_DEFLATED
            out.writestr(entry, data)


def output_of(*command):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True).stdout


def faults_of_library(path):
    dynamic = output_of("readelf", "-dW", path)
    for library in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if library not in LIBRARIES and library != "libtilewright.so.0":
            yield f"{path.name} needs {library}"
    for folder in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic):
        if folder != "$ORIGIN":
            yield f"{path.name} looks for libraries in {folder}"
    if "STATIC_TLS" in dynamic:
        yield f"{path.name} takes all of its thread-local memory from the little that a process has for libraries loaded later"
    needed = output_of("readelf", "-VW", path).partition(".gnu.version_r")[2]
    for kind, number in sorted(set(re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC)_([\d.]+)", needed))):
        if tuple(map(int, number.split("."))) > NEWEST[kind]:
            yield f"{path.name} needs {kind}_{number}"
    allowed = next((names for stem, names in EXPORTS.items() if path.name.startswith(stem)), None)
    if allowed is None:
        yield f"{path.name} is not a library of this package"
    else:
        names = {line.split()[-1].partition("@")[0] for line in output_of("llvm-nm-22", "-D", "--defined-only", path).splitlines()}
        yield from (f"{path.name} exports {name}" for name in sorted(names) if not re.fullmatch(allowed, name))
    if str(root).encode() in path.read_bytes():
        yield f"{path.name} names the folder that it was built in"
    if ".symtab" in output_of("readelf", "-SW", path):
        yield f"{path.name} is not stripped"


def check(wheel):
    """Prints what is wrong with a wheel and what it weighs. Returns whether it is as its name promises."""
    megabytes = wheel.stat().st_size / 1e6
    arch = next((arch for arch in MACHINES if wheel.stem.endswith("-" + platform_of(arch))), None)
    faults = [f"{megabytes:.1f} MB are more than {MAX_MB}"] if megabytes > MAX_MB else []
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(wheel) as archive:
        archive.extractall(scratch)
        names = archive.namelist()
        sizes = sorted(((entry.compress_size, entry.file_size, entry.filename) for entry in archive.infolist()), reverse=True)
        libraries = [pathlib.Path(scratch, name) for name in names if ".so" in name]
        for path in libraries:
            faults += faults_of_library(path)
            if arch and MACHINES[arch] not in output_of("readelf", "-h", path):
                faults.append(f"{path.name} is not for {arch}")
    if len(libraries) != len(EXPORTS):
        faults.append(f"it holds {len(libraries)} libraries, not libtilewright.so.0, libtilewright_rt.so.0 and _core")
    for wanted in ("sboms/tilewright.cdx.json", "licenses/LICENSE", "licenses/third_party/LLVM.txt", "licenses/third_party/MLIR.txt", "entry_points.txt"):
        if not any(name.endswith(".dist-info/" + wanted) for name in names):
            faults.append(f"its metadata has no {wanted}")
    if not arch or not re.fullmatch(r"tilewright-[\d.]+-cp3\d+-(cp3\d+|abi3)-" + platform_of(arch) + r"\.whl", wheel.name):
        faults.append("its name is not that of a wheel of a known platform")
    print(f"{wheel.name}  {megabytes:.1f} MB")
    for packed, full, name in sizes[:3]:
        print(f"  {packed / 1e6:6.2f} MB packed, {full / 1e6:6.2f} unpacked  {name}")
    for fault in faults:
        print(f"  WRONG: {fault}")
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="+", metavar="VERSION", help="default: 3.10, 3.11 and 3.12; for another machine 3.11")
    parser.add_argument("--arch", choices=list(MACHINES), default=os.uname().machine)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--check", nargs="+", type=pathlib.Path, metavar="WHEEL")
    options = parser.parse_args()
    wheels = options.check or []
    for version in [] if options.check else options.python or (["3.11"] if options.arch != os.uname().machine else ["3.10", "3.11", "3.12"]):
        with tempfile.TemporaryDirectory() as scratch:
            built = build(version, options.arch, options.jobs, scratch)
            target = root / "dist" / built.name.replace(f"linux_{options.arch}", platform_of(options.arch))
            target.parent.mkdir(exist_ok=True)
            write_wheel(built, target, options.arch)
        wheels.append(target)
    if not all([check(wheel) for wheel in wheels]):
        sys.exit(1)


if __name__ == "__main__":
    main()
