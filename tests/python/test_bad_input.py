"""Each kind of wrong input, through C, C++ and the command: an error with a code and a text, never a crash or a wrong number."""

import os
import re
import resource
import shutil
import subprocess

import pytest

from test_build import LIBRARIES, ROOT, SIGNATURES, build, command

PROGRAMS = ROOT / "tests" / "python" / "cpp"
COMPILERS = [("gcc", "bad_input.c", "-std=c99"), ("clang-22", "bad_input.c", "-std=c11"), ("g++", "bad_input.cpp", "-std=c++20"), ("clang++-22", "bad_input.cpp", "-std=c++20")]

ADD = """import triton
import triton.language as tl
@triton.jit
def add(x, out: tl.pointer_type(tl.float32), n: tl.int32, B: tl.constexpr = 16):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + 1.0, mask=i < n)
"""
LAST = "import triton\nimport triton.language as tl\n@triton.jit\ndef last(out):\n    tl.store(out, 3.0)\n"


def large_text():
    """10 MB that are right."""
    return "".join(f"unused_{i} = {i}  # {'-' * 80}\n" for i in range(100000)) + LAST


def deep_text():
    return "deep = " + "[" * 10000 + "1" + "]" * 10000 + "\n" + LAST


def reports(program, *words, **options):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=300, **options)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    found = re.findall(r"(?ms)^== (.*?)\n(\d+) (.*?)(?=^== |\Z)", done.stdout)
    return {name: (int(code), text) for name, code, text in found}


# Row: the codes that are right, a part of the text; the arguments of `tilewright run` that make the same mistake.
RIGHT = {"x": "ones:fp32[10]", "out": "zeros:fp32[10]", "n": "10"}
ROWS = {
    "right": ({0}, "no error", {}),
    "dtype of a tensor": ({1}, "parameter 'out' is declared as pointer<fp32> and cannot take a pointer to fp64", {"out": "zeros:fp64[10]"}),
    "a number for a tensor": ({1}, "parameter 'out' is declared as pointer<fp32> and cannot take 4096", {"out": "4096"}),
    "range of a number": ({1}, "parameter 'n' is declared as int32 and cannot take 5000000000", {"n": "5000000000"}),
    "a float for an integer": ({1}, "parameter 'n' is declared as int32 and cannot take a float", {"n": "9.5"}),
    "extent": ({10}, "after the end of 'x'", {"n": "11", "--sanitize": ""}),
    "extent of the grid": ({1}, "extent 0 of the grid is -1", {"--grid": "-1"}),
}


@pytest.mark.parametrize("compiler, source, standard", COMPILERS)
def test_programs(tmp_path, compiler, source, standard):
    (tmp_path / "large.py").write_text(large_text())
    (tmp_path / "deep.py").write_text(deep_text())
    assert (tmp_path / "large.py").stat().st_size > 10_000_000
    subprocess.run([compiler, standard, "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", PROGRAMS / source, f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}",
                    "-ltilewright", "-o", tmp_path / "program"], check=True)
    found = reports(tmp_path / "program", tmp_path / "large.py", tmp_path / "deep.py", env={**os.environ, "TILEWRIGHT_CACHE": "0"})
    expected = {name: row[:2] for name, row in ROWS.items()} | {"dtype of a tensor, prepared": ROWS["dtype of a tensor"][:2]}
    expected |= {"large text": ({0}, "no error"), "deep text": ({7}, "this is nested more than")}
    assert found.keys() == expected.keys()
    for name, (codes, part) in expected.items():
        assert found[name][0] in codes and part in found[name][1], (name, found[name])
    # The cache folder cannot have files of this size: a signal would end the program. Nothing is left there.
    environment = {**os.environ, "TILEWRIGHT_CACHE": "1", "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    again = reports(tmp_path / "program", env=environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256)))
    assert {name: code for name, (code, _) in again.items()} == {name: code for name, (code, _) in found.items() if "text" not in name}
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("row", ROWS)
def test_the_command(tmp_path, row):
    codes, part, changes = ROWS[row]
    (tmp_path / "add.py").write_text(ADD)
    words = {**RIGHT, "--grid": "1", **changes}
    flags = [word for name, value in words.items() if name[0] == "-" for word in (name, value) if word]
    arguments = [word for name, value in words.items() if name[0] != "-" for word in ("--arg", f"{name}={value}")]
    done = command("run", tmp_path / "add.py", *flags, *arguments, check=False)
    assert done.returncode == (0 if codes == {0} else 1)
    assert codes == {0} or part in done.stderr, done.stderr


def test_large_and_deep_text_in_the_command(tmp_path):
    words = ["--grid", "1", "--arg", "out=zeros:fp32[1]", "--print", "out"]
    (tmp_path / "large.py").write_text(large_text())
    assert "min 3, max 3" in command("run", tmp_path / "large.py", *words).stdout
    (tmp_path / "deep.py").write_text(deep_text())
    done = command("run", tmp_path / "deep.py", *words, check=False)
    assert done.returncode == 1 and "this is nested more than" in done.stderr and "deep.py:1:" in done.stderr, done.stderr


@pytest.mark.parametrize("compiler", ["g++", "clang++-22"])
def test_artifacts(tmp_path, compiler):
    (tmp_path / "other").mkdir()
    build(tmp_path / "other", target="cpu:sse2")
    good = (tmp_path / "other" / "libscale.so").read_bytes()
    version = good.replace(b"TWBUNDLE\x02", b"TWBUNDLE\x63")
    assert good.count(b"TWBUNDLE\x02") == 1
    files = {"truncated": good[:-1], "half": good[:len(good) // 2], "header": good[:64], "empty": b"", "flipped": good[:4000] + bytes([good[4000] ^ 4]) + good[4001:],
             "longer": good + b"\0", "machine": good[:18] + b"\xb7" + good[19:], "text": b"#!/bin/sh\n", "version": with_checksum(version[:-16])}
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    build(tmp_path, "--grid", "cdiv(n, BLOCK)", "--header", tmp_path / "scale.h", signatures=SIGNATURES[1:], target="cpu:sse2", out="libscale.a")
    subprocess.run([compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-I{tmp_path}", PROGRAMS / "bad_artifact.cpp", tmp_path / "libscale.a",
                    f"-L{LIBRARIES}", f"-Wl,-rpath,{LIBRARIES}", "-ltilewright_rt", "-o", tmp_path / "program"], check=True)
    found = reports(tmp_path / "program", *files, "missing", "other/libscale.so", cwd=tmp_path)
    expected = {"right": (0, "no error"), "specialization": (1, "MODE = 'other'; the artifact has:"),
                "machine of the launch": (4, "kernel 'scale' has no code for CUDA devices; the artifact has code for cpu:sse2"),
                **{name: (12, "it is truncated") for name in ("truncated", "half", "header", "longer")}, "empty": (12, "it is not a shared library"),
                "text": (12, "it is not a shared library"), "flipped": (12, "its checksum is wrong"), "machine": (12, "it is for another machine: its ELF machine is 183"),
                "version": (12, "its format has version 99, and this runtime library reads version 2"), "missing": (13, "No such file"),
                "other/libscale.so": (0, "no error")}
    assert found.keys() == expected.keys()
    for name, (code, part) in expected.items():
        assert found[name][0] == code and part in found[name][1], (name, found[name])


def with_checksum(content):
    """A shared library of `tilewright build` with the checksum of its content at its end."""
    mask, factor = (1 << 64) - 1, 0x9fb21c651e98df25
    total = 0x9e3779b97f4a7c15 ^ len(content)
    whole = len(content) // 8 * 8
    for i in range(0, whole, 8):
        total = (total ^ int.from_bytes(content[i:i + 8], "little")) * factor & mask
        total ^= total >> 29
    for byte in content[whole:]:
        total = (total ^ byte) * factor & mask
    total ^= total >> 32
    return content + b"TWAOTEND" + total.to_bytes(8, "little")


KERNEL = """
#include <tilewright/language.h>
using namespace tilewright;
template <int BLOCK> void multiply(ptr<const float> x, ptr<float> out) {
  auto i = arange<BLOCK>();
  auto a = load(x + i(all, new_axis) * BLOCK + i(new_axis, all));
  store(out + i(all, new_axis) * BLOCK + arange<BLOCK / 2>()(new_axis, all), dot(a, zeros<float, BLOCK / 2, BLOCK>()));
}
inline auto dot_kernel = jit<multiply<32>>("multiply(x, out)");
TILEWRIGHT_EXPORT(dot_kernel);
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++-22", "clang++-16"])
def test_a_cpp_kernel_whose_shapes_do_not_fit(tmp_path, compiler):
    """The message of the C++ compiler, from the compiler and from the command that calls it."""
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "kernels.cpp").write_text(KERNEL)
    alone = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'include'}", tmp_path / "kernels.cpp"], capture_output=True, text=True)
    done = command("build", tmp_path / "kernels.cpp", "--target", "cpu:sse2", "-o", tmp_path / "lib.a", check=False, env={**os.environ, "CXX": compiler})
    for status, text in ((alone.returncode, alone.stderr), (done.returncode, done.stderr)):
        assert status == 1 and "The inner sizes of dot differ: the columns of the first tile are not the rows of the second." in text and "kernels.cpp:7:" in text, text
    assert "the C++ compiler cannot compile" in done.stderr and not (tmp_path / "lib.a").exists()
